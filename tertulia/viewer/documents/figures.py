"""Figures of runs for the viewer: diversity, length, removal and participation of one, and similarity of several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tertulia.runs.access.model_names import embedder_of
from tertulia.state.album import Population
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord, Turn
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.dialogues import dialogue_of_run
from tertulia.views.measuring.participation import (
    add_turns,
    empty_count,
    participation_document,
    participation_so_far,
)
from tertulia.views.reading.exchanges import spoken_turns

#: Utterances over which the running mean of lengths is taken; runs of which figures are kept; turns read at once.
WINDOW, _KEPT, _AT_ONCE = 10, 6, 250


class RunFigures:
    """The figures of a run turn by turn: turns that were read are not read again."""

    def __init__(self, start: Start) -> None:
        """Begin before the first turn."""
        from tertulia.metrics.running import CumulativeDistinctN

        self._turns = 0
        self._distinct = {f"dist{n}": CumulativeDistinctN(n) for n in (1, 2, 3)}
        self._count = empty_count(start)
        names = ("turn", "speaker", "words", "mean_words", *self._distinct)
        self.utterances: dict[str, list[Any]] = {name: [] for name in names}
        self.making: dict[str, list[Any]] = {name: [] for name in ("turn", *_MAKING)}

    def read(self, store: SqlStore, record: RunRecord, start: Start) -> None:
        """Read the turns since those that were read, some at a time: the minds of a whole run take a lot of memory."""
        while self._turns < record.turns:
            self._read_some(store, record, start, self._turns + 1, min(self._turns + _AT_ONCE, record.turns))

    def _read_some(self, store: SqlStore, record: RunRecord, start: Start, first: int, last: int) -> None:
        spoken = [turn for turn in spoken_turns(store, record.run, start, first, last) if turn.speaker is not None]
        summaries = store.summaries(record.run, first, last)
        if not isinstance(start, Population):
            add_turns(store, record, start, self._count, store.turns(record.run, first, last))
        self._add(spoken)
        for number in dict.fromkeys(turn.turn for turn in spoken):
            self.making["turn"].append(number)
            for name in _MAKING:
                self.making[name].append(getattr(summaries[number], name))
        self._turns = last

    def _add(self, utterances: Sequence[Turn]) -> None:
        from tertulia.metrics.diversity import mean, words

        columns = self.utterances
        for turn in utterances:
            columns["turn"].append(turn.turn)
            columns["speaker"].append(turn.speaker)
            columns["words"].append(len(words(turn.text)))
            columns["mean_words"].append(mean(columns["words"][-WINDOW:]))
            for name, distinct in self._distinct.items():
                columns[name].append(distinct.add(turn.text))

    def participation(self, store: SqlStore, record: RunRecord, start: Start) -> Document | None:
        """Return how everybody took part; `None` in an album chat, which has no race."""
        if isinstance(start, Population):
            return None
        return participation_document(record, participation_so_far(store, record, start, self._count))


#: Columns of the making of turns.
_MAKING = ("rollbacks", "removed", "removable")


@dataclass
class KeptFigures:
    """The figures of the runs that were asked for last, as long as the same file is open."""

    store: SqlStore | None = None
    runs: dict[tuple[str, datetime], RunFigures] = field(default_factory=dict)

    def of(self, store: SqlStore, record: RunRecord, start: Start) -> RunFigures:
        """Return the figures of a run up to its last turn."""
        if self.store is not store:
            self.store, self.runs = store, {}
        key = record.run, record.created
        figures = self.runs.pop(key, None) or RunFigures(start)
        figures.read(store, record, start)  # if that fails, none are kept
        self.runs[key] = figures
        while len(self.runs) > _KEPT:
            del self.runs[next(iter(self.runs))]
        return figures


def figures_page(store: SqlStore, run: str, kept: KeptFigures | None = None) -> Document:
    """Return diversity and length of the utterances of a run, in all and turn by turn, and the agreements.

    Args:
        kept: Figures read before, of the same store; those read now are added.
    """
    from tertulia.metrics.diversity import mean

    record = store.run(run)
    start = store.start(record.run)
    figures = (kept or KeptFigures()).of(store, record, start)
    utterances = figures.utterances
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "kind": record.kind,
        "scenario": record.scenario,
        "label": record.label,
        "removal_factor": record.parameters.get("removal_factor"),
        "seed": record.seed,
        "people": list(start.names),
        **{name: utterances[name][-1] if utterances["turn"] else None for name in ("dist1", "dist2", "dist3")},
        "len": mean(utterances["words"]),
        "window": WINDOW,
        "utterances": utterances,
        "making": figures.making,
        "participation": figures.participation(store, record, start),
    }


def similarity_page(store: SqlStore, runs: Sequence[str], open_embedder: Callable[[str], Embedder]) -> Document:
    """Return the similarity of the dialogues of two runs or more, measured like those of one case (APP §2).

    Raises:
        UsageError: There is only one run, one of them has no utterance, they have several embedders, or theirs can't
            read them.
        TertuliaError: There is no such run, or the embedder can't be opened.
    """
    from tertulia.metrics.diversity import dialogue_text, mean_pairwise_cosine
    from tertulia.metrics.legibility import unread, why_unread

    if len(runs) < 2:
        raise UsageError("similarity is that of two runs or more; name another one")
    records = [store.run(run) for run in runs]
    texts = [dialogue_text(dialogue_of_run(store, record)) for record in records]
    embedder = open_embedder(embedder_of(record.embedder for record in records))
    for likeness in unread({"": texts}, embedder.embed).values():
        command = f"tertulia metrics {' '.join(record.run for record in records)} --embedder "
        raise UsageError(f"similarity is not measured, {why_unread(embedder.id, likeness, command)}")
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [record.run for record in records],
        "embedder": embedder.id,
        "sim": mean_pairwise_cosine(embedder.embed(texts)),
        "sim_untruncated": mean_pairwise_cosine(embedder.embed_untruncated(texts)),
    }
