"""Comparison of two runs: their settings, their first difference, and how varied each is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError
from tertulia.state.garbage import without_collection
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn
from tertulia.storage.store import SqlStore
from tertulia.views.reading.differences import (
    Comparison,
    Difference,
    TurnComparison,
    compare_runs,
    largest_score_difference,
    switched_on,
)
from tertulia.views.reading.exchanges import spoken_turns
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.reading.turn_documents import Document as TurnDocument

_WITHHELD = ("start", "withheld")


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Two runs, A and B, side by side.

    Attributes:
        turns: Their utterances; an answer of an album chat follows its question.
        comparison: Their differences; of one turn alone if `turn` is set.
        settings: The parameters with which each made a turn.
        turn: The only turn that was compared.
    """

    runs: tuple[RunRecord, RunRecord]
    starts: tuple[Start, Start]
    turns: tuple[list[Turn], list[Turn]]
    comparison: Comparison
    settings: tuple[Callable[[int], Parameters], Callable[[int], Parameters]]
    turn: int | None = None

    @property
    def is_same(self) -> bool:
        """Whether the two are identical."""
        return self.comparison.is_same

    @property
    def first_divergence(self) -> TurnComparison | None:
        """The first turn that differs; `None` if all are identical."""
        return self.comparison.differing[0] if self.comparison.differing else None

    def __repr__(self) -> str:
        a, b = (run.run for run in self.runs)
        if self.is_same:
            return f"<runs {a} and {b}: identical>"
        parting = self.first_divergence
        where = f"they part at {parting}" if parting else "all turns are the same, what they were made with is not"
        return f"<runs {a} and {b}: {where}, {len(self.comparison.differing)} turns differ>"

    def silences_s(self, turn: int) -> tuple[float, float]:
        """Return the length of a recorded silence in a turn of each run, in seconds."""
        first, second = (settings_of(turn).silence_s for settings_of in self.settings)
        return first, second


@without_collection()
def compare(store: SqlStore, a: str, b: str, turn: int | None = None) -> RunComparison:
    """Compare two runs of a store, to the last record; ids, lineage and wall-clock times are disregarded.

    Args:
        turn: The only turn to compare; 0 is the preparation of a meeting.

    Raises:
        NotFoundError: There is no such run, or neither has the turn.
    """
    runs = (store.run(a), store.run(b))
    starts = (store.start(runs[0].run), store.start(runs[1].run))
    turns = (spoken_turns(store, runs[0].run, starts[0]), spoken_turns(store, runs[1].run, starts[1]))
    comparison = compare_runs(store, *runs)
    if turn is not None:
        comparison = Comparison((), (_turn_of(comparison, runs, turn),))
    return RunComparison(runs, starts, turns, comparison, settings_of_both(store, runs), turn)


def settings_of_both(
    store: SqlStore, runs: tuple[RunRecord, RunRecord]
) -> tuple[Callable[[int], Parameters], Callable[[int], Parameters]]:
    """Return for each run a function that returns the parameters with which a turn was made."""
    return settings_of_turns(store, runs[0]), settings_of_turns(store, runs[1])


def _turn_of(comparison: Comparison, runs: tuple[RunRecord, RunRecord], number: int) -> TurnComparison:
    for turn in comparison.turns:
        if turn.turn == number:
            return turn
    last = comparison.turns[-1].turn
    which = f"they have turns 1 to {last}" if last else "they have no turns yet"
    raise NotFoundError(f"neither {runs[0].run} nor {runs[1].run} has a turn {number}; {which}")


@without_collection()
def diversity(compared: RunComparison) -> dict[str, Any]:
    """Return how varied each conversation is."""
    from tertulia.metrics.diversity import dialogue_of, figures_of_words

    return {name: figures_of_words([dialogue_of(turns)]) for name, turns in zip("ab", compared.turns, strict=True)}


def without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the names that are not among the others, in their order."""
    others = set(others)
    return [name for name in names if name not in others]


def minds_that_differ(a: TurnDocument, b: TurnDocument) -> Iterator[Document]:
    """Yield the agents that differ in mechanisms, willingness or latency, with the figures of both turns."""
    for agent in dict.fromkeys([*a["willingness"], *b["willingness"]]):
        on_a, on_b = switched_on(a, agent), switched_on(b, agent)
        willingness, latency_s = (
            [turn[aspect].get(agent, {}).get(figure) for turn in (a, b)]
            for aspect, figure in (("willingness", "willingness"), ("latency", "latency_s"))
        )
        only = {"only_in_a": without(on_a, on_b), "only_in_b": without(on_b, on_a)}
        if any(only.values()) or willingness[0] != willingness[1] or latency_s[0] != latency_s[1]:
            yield {"agent": agent, **only, "willingness": willingness, "latency_s": latency_s}


def contract_path(difference: Difference) -> tuple[str, ...]:
    """Return the path of a difference under the names of the JSON documents."""
    first, *others = difference.path
    if difference.path == _WITHHELD:
        return ("start", "left_out")
    return ("voices", *others) if first == "participant_models" else difference.path


# --- the document ---------------------------------------------------------------------------------------------------


@without_collection()
def comparison_document(compared: RunComparison, figures: dict[str, Any]) -> Document:
    """Return the comparison as JSON, with the figures of `diversity` if there are any."""
    parting = compared.first_divergence
    return {
        "schema_version": SCHEMA_VERSION,
        **{name: {"run": run.run, "turns": run.turns} for name, run in zip("ab", compared.runs, strict=True)},
        "identical": compared.is_same,
        "settings": _difference_documents(settings_that_differ(compared)),
        "first_divergence": {"turn": parting.turn, **_what_differs(parting)} if parting else None,
        "turns": [_turn_document(turn) for turn in compared.comparison.differing],
        "diversity": figures or None,
    }


def settings_that_differ(compared: RunComparison) -> list[Difference]:
    """Return the settings in which the runs differ, in the order of the JSON document."""
    return sorted(compared.comparison.settings, key=lambda difference: difference.path == _WITHHELD)


def _difference_documents(differences: Iterable[Difference]) -> list[Document]:
    return [
        {"path": list(contract_path(difference)), "a": difference.a, "b": difference.b} for difference in differences
    ]


def _what_differs(turn: TurnComparison) -> Document:
    only_in = "b" if turn.a is None else "a" if turn.b is None else None
    return {"only_in": only_in, "differs": turn.aspects}


def _turn_document(turn: TurnComparison) -> Document:
    document: Document = {"turn": turn.turn, **_what_differs(turn)}
    changes = _difference_documents(turn.differences)
    if turn.turn == 0:
        return document | {"differences": changes}
    for name, left in (("a", turn.a), ("b", turn.b)):
        document[name] = left and {"speaker": left["speaker"], "text": left["text"], "sim_time_s": left["clock"]}
    if turn.a is not None and turn.b is not None:
        largest = largest_score_difference(turn.a, turn.b)
        document |= {
            "removed_only_in_a": without(turn.a["removed"], turn.b["removed"]),
            "removed_only_in_b": without(turn.b["removed"], turn.a["removed"]),
            "largest_score_difference": {"unit": largest.unit, "a": largest.a, "b": largest.b} if largest else None,
        }
    return document | {"differences": changes}
