"""Two copies of a run in two stores: whether they are the same, or one is the beginning of the other.

A run that was interrupted may have gone on elsewhere. Up to the last turn that both have, all rows must be the same.
Behind it is the turn that was under way. It is computed again from the journal, so of two copies with equally
many turns the one with more of the journal is further. How long a call took, and the place in which a round was
computed, is no part of the conversation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tertulia.state.errors import StorageError
from tertulia.storage.contract import Database
from tertulia.storage.merging.carrying import by_hash, reading, with_hashes
from tertulia.storage.merging.run_rows import NUMBERED, rows_of, slices
from tertulia.storage.parts.cognition import NO_LIMIT
from tertulia.storage.schema import TABLES
from tertulia.storage.tables import Rows

#: Columns of a run's row that may change while it goes on, or by hand.
_MAY_CHANGE = {"id", "status", "error", "ended_by", "extensions", "label"}

#: `stored` counts rows that are compared themselves, or that say in which place a round was computed.
_NOT_COMPARED = {"id", "seconds", "stored"}

#: The progress of a run by its status, if all else is the same.
RANKS = {"running": 0, "interrupted": 1, "failed": 2, "finished": 3}


class DifferError(StorageError):
    """Two runs have the same id, and neither is a beginning of the other; the message names the differences."""


@dataclass(frozen=True)
class Comparison:
    """How far two copies of a run are.

    Attributes:
        longer: Which of them is further; `None` if both are as far.
        turns: The last turn that both have whole; 0 if one has none.
    """

    longer: Literal["source", "target"] | None
    turns: int


def compare(source: Database, target: Database, given: dict[str, Any], known: dict[str, Any]) -> Comparison:
    """Compare two copies of a run, given their rows in `runs`; `DifferError` if they are or became different runs."""
    return _Copies(source, target, str(given["run"])).compared(given, known)


class _Copies:
    """The copies of a run in two stores."""

    def __init__(self, source: Database, target: Database, run: str) -> None:
        self._source, self._target, self._run = source, target, run

    def compared(self, given: dict[str, Any], known: dict[str, Any]) -> Comparison:
        """Return how far they are (see `compare`)."""
        self._compare_heads(given, known)
        with reading():
            last_given = self._last(self._source)
        last_known = self._last(self._target)
        turns, ahead = min(last_given, last_known), _ahead(last_given, last_known)
        if turns:
            for first, last in slices(turns):
                self._compare_turns(first, min(last, turns))
        return Comparison(ahead or self._further(turns, given, known), turns)

    def _compare_heads(self, given: dict[str, Any], known: dict[str, Any]) -> None:
        with reading():
            (given,) = by_hash(self._source, "runs", [given])
        (known,) = by_hash(self._target, "runs", [known])
        for column, value in given.items():
            if column not in _MAY_CHANGE and value != known[column]:
                what = "start" if column == "case_id" else column.replace("_", " ")
                shown = "" if column in ("case_id", "parameters") else f": {known[column]} there, {value} here"
                raise DifferError(f"another run has this id, with another {what}{shown}"[:200])

    def _last(self, file: Database) -> int:
        return int(file.rows("SELECT coalesce(max(turn), 0) AS last FROM turns WHERE run = ?", self._run)[0]["last"])

    def _compare_turns(self, first: int, last: int) -> None:
        for table, number in NUMBERED.items():
            given, known = self._rows(table, first, last)
            differing = {key for key in {**given, **known} if given.get(key) != known.get(key)}
            if differing:
                turn = min(key[_key(table).index(number)] for key in differing)
                raise DifferError(f"both runs of this id went on differently: they differ in turn {turn} ({table})")

    def _further(self, turns: int, given: dict[str, Any], known: dict[str, Any]) -> Literal["source", "target"] | None:
        """Return which copy is further in the turn that is under way in both."""
        first = turns + 1 if turns else 0
        calls_given, calls_known = self._rows("calls", first, NO_LIMIT)
        if calls_given != calls_known:
            if calls_given.items() >= calls_known.items():
                return "source"
            if calls_known.items() >= calls_given.items():
                return "target"
            raise DifferError(f"both runs of this id went on differently behind turn {turns}")
        ranks = [
            (RANKS[row["status"]], sum(len(self._rows(table, first, NO_LIMIT)[at]) for table in NUMBERED))
            for at, row in enumerate((given, known))
        ]
        return _ahead(*ranks)

    def _rows(self, table: str, first: int, last: int) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
        with reading():
            given = _by_key(self._source, table, rows_of(self._source, table, [self._run], first, last))
        return given, _by_key(self._target, table, rows_of(self._target, table, [self._run], first, last))


#: Steps that tell where a run was computed, and nothing of what it says.
_OF_MACHINES = ("platform", "server")


def _ahead(given: Any, known: Any) -> Literal["source", "target"] | None:
    return None if given == known else "source" if given > known else "target"


def _key(table: str) -> tuple[str, ...]:
    return TABLES[table].unique or TABLES[table].key


def _by_key(file: Database, table: str, rows: Rows) -> dict[Any, Any]:
    """Return the compared columns of rows, by their keys; texts by their hashes."""
    rows = with_hashes(file, table, rows)
    keys = rows.columns(*_key(table))
    compared = rows.columns(*(name for name in rows.names if name not in _NOT_COMPARED))
    if "node" not in rows.names:
        return dict(zip(keys, compared, strict=True))
    nodes = rows.column("node")
    return {key: row for key, row, node in zip(keys, compared, nodes, strict=True) if node not in _OF_MACHINES}
