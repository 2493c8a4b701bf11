"""Compare two runs of an album chat: their figures by call and by round.

Source: the pairwise album chat, which compares a low-diversity with a high-diversity setting (Fig. 13 to 15).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from tertulia.metrics.album import FIGURES, AlbumExchange, Estimate, Measured, difference, estimate
from tertulia.runs.driving.stopping import way_on_of_run
from tertulia.state.album import CALLS, Population
from tertulia.state.errors import UsageError
from tertulia.state.language_model import Embedder
from tertulia.state.records import RunRecord
from tertulia.state.store import Store
from tertulia.state.text import counted
from tertulia.views.reading.differences import differences, settings_documents
from tertulia.views.reading.exchanges import read_exchanges
from tertulia.views.reading.faults import faults_by_call

#: The settings that are compared.
SETTINGS = ("low", "high")


@dataclass(frozen=True)
class Row:
    """A figure of the texts of a call (`metrics.album.FIGURES`) in both runs, over all rounds, or in a single one."""

    call: str
    figure: str
    round: int | None
    low: Estimate
    high: Estimate
    difference: Estimate


@dataclass(frozen=True)
class AlbumComparison:
    """The comparison of two album chats, the low setting first, over all rounds and over every round that both have.

    The notes must be known before the figures are read. Texts that the embedder does not read have no sim.
    """

    runs: tuple[RunRecord, RunRecord]
    exchanges: tuple[int, int]
    embedder: str
    is_read: bool
    whole: Sequence[Row]
    rounds: Sequence[Row]
    notes: Sequence[str]

    @property
    def titles(self) -> tuple[str, str]:
        """The name of each run: its setting, if they differ in that, and its id."""
        low, high = (f"{run.parameters.get('setting')} ({run.run})" for run in self.runs)
        return low, high


def compare_albums(store: Store, low: str, high: str, embedder: Embedder, name: str) -> AlbumComparison:
    """Compare two album chats of a store; the one with the low setting comes first.

    Raises:
        NotFoundError: There is no such run.
        UsageError: One is no album chat, they are given the wrong way round, or nobody has met yet.
    """
    from tertulia.metrics.album import vectors_of
    from tertulia.metrics.legibility import unread, why_unread

    runs = store.run(low), store.run(high)
    exchanges = _read(store, runs[0]), _read(store, runs[1])
    if tuple(run.parameters.get("setting") for run in runs) == SETTINGS[::-1]:
        raise UsageError(f"{runs[0].run} has the high setting and {runs[1].run} the low one; give the low one first")
    illegible = unread({run.run: [_text(of_run)] for run, of_run in zip(runs, exchanges, strict=True)}, embedder.embed)
    vectors = {} if illegible else vectors_of(chain(*exchanges), embedder)
    whole = _rows(exchanges, vectors)
    rounds: list[Row] = []
    of_rounds = [
        {round: [*of_round] for round, of_round in groupby(run, lambda exchange: exchange.round)} for run in exchanges
    ]
    for round in sorted(of_rounds[0].keys() & of_rounds[1].keys()):
        before = [[exchange for exchange in run if exchange.round < round] for run in exchanges]
        rounds += _rows([of_run[round] for of_run in of_rounds], vectors, before, round)
    return AlbumComparison(
        runs=runs,
        exchanges=(len(exchanges[0]), len(exchanges[1])),
        embedder=name,
        is_read=not illegible,
        whole=whole,
        rounds=rounds,
        notes=[
            *([f"sim is not measured, {why_unread(name, max(illegible.values()))}"] if illegible else ()),
            *_notes(store, runs, exchanges),
        ],
    )


def _read(store: Store, run: RunRecord) -> list[AlbumExchange]:
    population = store.start(run.run)
    if not isinstance(population, Population):
        raise UsageError(f"run {run.run} is no album chat ({run.scenario}); make one: tertulia run villagers")
    exchanges = [
        exchange.measured(faults_by_call(store, run, population, exchange))
        for exchange in read_exchanges(store, run.run, population)
    ]
    if not exchanges:
        raise UsageError(f"nobody has met yet in run {run.run}; to go on: {way_on_of_run(store, run)}")
    return exchanges


def _text(exchanges: Sequence[AlbumExchange]) -> str:
    return "\n".join(exchange.text(call) for exchange in exchanges for call in CALLS)


def _rows(
    exchanges: Sequence[Sequence[AlbumExchange]],
    vectors: Mapping[str, Any],
    before: Sequence[Sequence[AlbumExchange]] = ((), ()),
    round: int | None = None,
) -> list[Row]:
    from tertulia.metrics.album import figures_of, sample_sizes

    sizes = sample_sizes(*exchanges)
    low, high = (figures_of(run, vectors, sizes, earlier) for run, earlier in zip(exchanges, before, strict=True))
    return [
        _row(call, name, round, low[call][name], high[call][name]) for call, names in FIGURES.items() for name in names
    ]


def _row(call: str, name: str, round: int | None, low: Measured, high: Measured) -> Row:
    return Row(call, name, round, estimate(name, low), estimate(name, high), difference(low, high))


def _notes(
    store: Store, runs: tuple[RunRecord, RunRecord], exchanges: Sequence[Sequence[AlbumExchange]]
) -> Iterator[str]:
    """Yield the caveats on the figures."""
    low, high = runs
    for run in runs:
        if run.rehearsed:
            yield f"{run.run} is rehearsed: a stand-in without weights spoke, and its figures mean nothing"
        if run.status != "finished":
            yield f"{run.run} is {run.status}: its last round may be missing"
    documents = settings_documents(low, store.start(low.run), high, store.start(high.run))
    others = [".".join(found.path) for found in differences(*documents) if found.path != ("parameters", "setting")]
    if others:
        yield f"the two runs differ in more than the setting: {', '.join(others)}"
    if low.parameters.get("setting") == high.parameters.get("setting"):
        yield f"both runs have the {low.parameters.get('setting')} setting"
    rounds = [exchanges[at][-1].round for at in (0, 1)]
    if rounds[0] != rounds[1]:
        yield f"{low.run} has {counted(rounds[0], 'round')}, {high.run} {counted(rounds[1], 'round')}"
    yield (
        "intervals are 95 %, over agents (jackknife): they say how far a figure depends on who took part, and nothing "
        "about another seed; of so many differences about one in twenty lies off 0 by chance"
    )
