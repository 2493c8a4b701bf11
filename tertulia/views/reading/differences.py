"""Compare two runs by all their records: their settings, their first difference, and how every turn differs.

1. The records of a turn become a plain document (`turn_documents`), whose keys stand in the order in which things
   happen: the first difference of the first turn that differs is where two runs diverge.
2. Ids, lineage, status and wall-clock times are in no document; nor is a round that never ended in a turn.
3. Prompts are compared by content hash, calls of models by key; their replies are read if rows do not tell.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.turn_documents import Calls, Document, turn_documents

#: Fields of a run's record that identify it, and say nothing about its contents.
_IDENTITY = ("run", "status", "turns", "parent", "rewritten", "label", "error", "ended_by", "created", "trial")

#: The field of a memory stream that names its simulation; the memories themselves show in the prompts.
_IDENTITY_OF_A_STREAM = ("simulation",)

#: Not compared: these, and the sources of Python objects; their hashes are compared.
_NOT_COMPARED: dict[str, Any] = {**dict.fromkeys(_IDENTITY, True), "extensions": {"__all__": {"code"}}}

#: Turns that are read at once, and how many that are the same are read with those around them.
_READ_AT_ONCE, _READ_BETWEEN = 512, 8


@dataclass(frozen=True)
class Difference:
    """A difference of two documents.

    Attributes:
        path: Names, from the outermost in.
        a, b: The two values; `None` if a document has none.
    """

    path: tuple[str, ...]
    a: Any
    b: Any


@dataclass(frozen=True, repr=False)
class TurnComparison:
    """The comparison of a turn of two runs; turn 0 is the preparation.

    Attributes:
        a, b: Its documents (see `turn_documents`); `None` in a run that does not have it, and empty if its rows are the
            same in both, and were not read.
    """

    turn: int
    a: Document | None
    b: Document | None

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        only = "only in B" if self.a is None else "only in A" if self.b is None else None
        return f"turn {self.turn}: {only or ', '.join(self.aspects) or 'the same'}"

    @property
    def is_same(self) -> bool:
        """Whether both runs have the turn, with equal documents."""
        return self.a is not None and self.b is not None and not self.aspects

    @cached_property
    def aspects(self) -> list[str]:
        """The aspects that differ, in the order in which things happen; none if only one of the runs has the turn.

        They are told without the differences themselves, which are many.
        """
        if self.a is None or self.b is None:
            return []
        names = [*self.a]
        if names != [*self.b]:
            names = [*dict.fromkeys([*self.a, *self.b])]
        pairs = zip(names, map(self.a.get, names), map(self.b.get, names), strict=True)
        return [name for name, a, b in pairs if (type(a) is Calls or a != b) and _is_unlike(a, b)]

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All differences, in the order in which things happen; none if only one of the runs has the turn."""
        return () if self.a is None or self.b is None else tuple(differences(self.a, self.b))


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs: settings that differ, and all turns of both."""

    settings: tuple[Difference, ...]
    turns: tuple[TurnComparison, ...]

    @property
    def differing(self) -> list[TurnComparison]:
        """The turns that differ, including those that only one of the runs has."""
        return [turn for turn in self.turns if not turn.is_same]

    @property
    def is_same(self) -> bool:
        """Whether the two are identical."""
        return not self.settings and not self.differing


def compare_runs(store: SqlStore, a: RunRecord, b: RunRecord) -> Comparison:
    """Compare two runs of a store; a dialogue and a meeting are compared in the aspects that both have.

    Turns whose rows are the same are not read: their documents are empty.
    """
    settings = settings_that_differ_in(a, store.start(a.run), b, store.start(b.run))
    compared = {turn.turn: turn for turn in compare_turns_of(store, (a, b), differing_turns(store, a, b))}
    numbers = range(max(a.turns, b.turns) + 1)
    return Comparison(
        tuple(settings), tuple(compared.get(number) or TurnComparison(number, {}, {}) for number in numbers)
    )


def differing_turns(store: SqlStore, a: RunRecord, b: RunRecord) -> list[int]:
    """Return the turns of two runs that may differ, and those that only one of them has; all others are the same.

    The preparation, turn 0, is always among them.
    """
    both, longest = sorted((a.turns, b.turns))
    shared = min(store.shared_turns(a.run, b.run), both)
    return [0, *store.turns_that_may_differ(a.run, b.run, shared + 1, both), *range(both + 1, longest + 1)]


def compare_turns_of(
    store: SqlStore, runs: tuple[RunRecord, RunRecord], numbers: Sequence[int]
) -> Iterator[TurnComparison]:
    """Yield the comparisons of some turns of two runs, given ascending, without those that neither has."""
    for some in _slices(numbers):
        documents = [turn_documents(store, run.run, some[0], some[-1]) for run in runs]
        for number in some:
            if any(number in of_run for of_run in documents):
                yield TurnComparison(number, *(of_run.get(number) for of_run in documents))


def _slices(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield numbers in slices that are read at once: few enough for memory, and without many others between them."""
    some: list[int] = []
    for number in numbers:
        if some and (number - some[-1] > _READ_BETWEEN or number - some[0] >= _READ_AT_ONCE):
            yield some
            some = []
        some.append(number)
    if some:
        yield some


def differences(a: Any, b: Any, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yield the differences of two documents, in the order of their keys.

    A list is a single value, unless both lists have equal length and hold dictionaries.
    """
    found: list[Difference] = []
    _note_differences(found, *_read(a, b), path)
    yield from found


def _note_differences(found: list[Difference], a: Any, b: Any, path: tuple[str, ...]) -> None:
    if a == b:
        return
    if (within := _within(a, b)) is None:
        found.append(Difference(path, a, b))
        return
    for name, of_a, of_b in within:
        _note_differences(found, *_read(of_a, of_b), (*path, name))


def _is_unlike(a: Any, b: Any) -> bool:
    """Return whether two documents have a difference, without looking for all."""
    if type(a) is Calls and type(b) is Calls and a.is_unlike(b):
        return True
    a, b = _read(a, b)
    if a == b:
        return False
    if isinstance(a, dict) and isinstance(b, dict):  # the first that differs tells
        return any(_is_unlike(a.get(name), b.get(name)) for name in {**a, **b})
    within = _within(a, b)
    return within is None or any(_is_unlike(of_a, of_b) for _, of_a, of_b in within)


def _read(a: Any, b: Any) -> tuple[Any, Any]:
    return a.documents if type(a) is Calls else a, b.documents if type(b) is Calls else b


def _within(a: Any, b: Any) -> list[tuple[str, Any, Any]] | None:
    """Return the values of two documents under each name; `None` for values that are compared as they are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [(name, a.get(name), b.get(name)) for name in dict.fromkeys([*a, *b])]
    if _are_rows(a) and _are_rows(b) and len(a) == len(b):
        return [(str(index), *rows) for index, rows in enumerate(zip(a, b, strict=True))]
    return None


def _are_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


# --- settings -------------------------------------------------------------------------------------------------------


def settings_that_differ_in(a: RunRecord, start_a: Start, b: RunRecord, start_b: Start) -> Iterator[Difference]:
    """Yield the differences between the settings of two runs, and between their starts."""
    return differences(*settings_documents(a, start_a, b, start_b))


def settings_documents(a: RunRecord, start_a: Start, b: RunRecord, start_b: Start) -> tuple[Document, Document]:
    """Return the settings of two runs: the record of each, and the fields that both starts have."""
    document_a, document_b = _start_document(start_a), _start_document(start_b)
    shared = [name for name in document_a if name in document_b]
    settings_a, settings_b = (
        {**_record_document(run), "start": {name: start[name] for name in shared}}
        for run, start in ((a, document_a), (b, document_b))
    )
    return settings_a, settings_b


def _record_document(run: RunRecord) -> dict[str, Any]:
    """Return the record of a run; later parameters have the values with which it would be resumed."""
    document = run.model_dump(mode="json", exclude=_NOT_COMPARED)
    parameters = Parameters.model_validate(document["parameters"]).model_dump(mode="json")
    named = {run.model, *(participant.model for participant in run.participant_models.values())}
    weights = {name: made for name, made in parameters["weights"].items() if name in named}
    return document | {"parameters": parameters | {"weights": weights}}


def _start_document(start: Start) -> dict[str, Any]:
    document = start.model_dump(mode="json", exclude={"scenario"})
    return {"names": list(start.names)} | {name: _by_name(value) for name, value in document.items()}


def _by_name(value: Any) -> Any:
    """Return a document in which people are keyed by their name, and memories by their id."""
    if isinstance(value, dict):
        return {name: _by_name(inner) for name, inner in value.items() if name not in _IDENTITY_OF_A_STREAM}
    if not _are_rows(value):
        return value
    names = [row.get("id") or row.get("persona", {}).get("name") for row in value]
    rows = [_by_name(row) for row in value]
    return dict(zip(names, rows, strict=True)) if rows and all(names) and len(set(names)) == len(names) else rows


# --- in a turn ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreDifference:
    """The unit with the largest difference in scores, of those that both runs scored, and how many units differ."""

    unit: str
    a: float
    b: float
    differing: int


def largest_score_difference(a: Document, b: Document) -> ScoreDifference | None:
    """Return the unit of a turn with the largest difference in scores; `None` if no unit that both scored differs."""
    scores_a, scores_b = (document["scores"]["units"] or {} for document in (a, b))
    differing = [unit for unit in scores_a if unit in scores_b and scores_a[unit] != scores_b[unit]]
    if not differing:
        return None
    unit = max(differing, key=lambda unit: abs(scores_a[unit] - scores_b[unit]))
    return ScoreDifference(unit, scores_a[unit], scores_b[unit], len(differing))


def switched_on(document: Document, agent: str) -> list[str]:
    """Return the mechanisms that an agent switched on in a turn."""
    chosen = document["mechanisms"].get(agent, {}).get("mechanisms", {})
    return [name for name, choice in chosen.items() if choice["active"]]


def word_differences(a: str, b: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return two texts as runs of words, each with whether both texts have it in that place.

    Words are separated by white space; the runs of a text, joined by spaces, are its words.
    """
    words_a, words_b = a.split(), b.split()
    matcher = difflib.SequenceMatcher(None, words_a, words_b, autojunk=False)
    runs_a: list[tuple[str, bool]] = []
    runs_b: list[tuple[str, bool]] = []
    for tag, first_a, last_a, first_b, last_b in matcher.get_opcodes():
        if last_a > first_a:
            runs_a.append((" ".join(words_a[first_a:last_a]), tag == "equal"))
        if last_b > first_b:
            runs_b.append((" ".join(words_b[first_b:last_b]), tag == "equal"))
    return runs_a, runs_b
