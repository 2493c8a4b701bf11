"""The rows of runs, read from one store as they are written into another.

Every row that is read is compared with its checksum, and references between tables are checked: a source may be
a stranger's file, and an incomplete run must not become part of a complete store.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tertulia.state.records import HOSTED_SCENARIO
from tertulia.storage.contract import Beside, Database, Readable
from tertulia.storage.faults import record_faults
from tertulia.storage.merging.carrying import Carrier, damaged, in_chunks, marks, reading
from tertulia.storage.parts.cognition import NO_LIMIT
from tertulia.storage.schema import CHECKSUM, TABLES
from tertulia.storage.tables import Rows, Table, select_tuples
from tertulia.storage.values import Value, parsed, searchable

#: The tables whose rows belong to a turn of a run, each with the column that numbers it.
NUMBERED: Mapping[str, str] = {
    "turns": "turn",
    "parts": "turn",
    "unit_scores": "turn",
    "candidates": "turn",
    "steps": "round",
    "calls": "round",
    "traces": "turn",
    "passages": "turn",
}

#: Turns that are read at once: a run may have ten thousand.
TURNS_AT_ONCE = 500

#: The columns that hold JSON, by table: views read it, and one that does not parse would break them for all runs.
_JSON = {name: [c.name for c in TABLES[name].columns if c.kind == "json"] for name in NUMBERED}


def rows_of(file: Readable, table: str, runs: Sequence[str], first: int, last: int) -> Rows:
    """Return the rows of a table that belong to turns of runs, in the order in which they were stored."""
    found = [select_tuples(file, table, rest, *values) for rest, values in _which(file, table, runs, first, last)]
    if len(found) == 1:
        return found[0]
    values = [row for rows in found for row in rows.values]
    return Rows(found[0].names, values)


def _which(
    file: Readable, table: str, runs: Sequence[str], first: int, last: int
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the end of each statement that reads such rows, and its values."""
    number = NUMBERED[table]
    for chunk in in_chunks(runs):
        which = f"run IN ({marks(chunk)}) AND {number} BETWEEN ? AND ?"
        if table in ("calls", "passages"):  # ids are sorted by themselves, not with all that is read
            which = f"id IN (SELECT id FROM {file.prefix}{table} WHERE {which}) ORDER BY id"
        else:
            which += f" ORDER BY run, {number}"
        yield f"WHERE {which}", (*chunk, first, last)


def slices(last: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first and last turn of each slice of a run; the last slice is open-ended."""
    for begin in range(first, last + 1, TURNS_AT_ONCE):
        end = begin + TURNS_AT_ONCE - 1
        yield begin, end if end < last else NO_LIMIT
    if first > last:
        yield first, NO_LIMIT


def copy_rows(
    source: Database,
    target: Database,
    carrier: Carrier,
    runs: Sequence[str],
    first: int = 0,
    beside: Beside | None = None,
) -> None:
    """Insert the rows of runs from a turn on; inside a transaction of the target, which has none of them.

    Args:
        beside: The source, read over the target's connection: rows that point to no text are copied there, by SQL.

    Raises:
        StorageError: A row is damaged, or one is missing.
    """
    if not runs:
        return
    with reading():
        last = _last_turn(source, runs)
    for begin, end in slices(last, first):
        with reading():
            rows = {table: rows_of(beside or source, table, runs, begin, end) for table in NUMBERED}
            _check(source, rows)
            _check_traces(source, rows)
        for table, given in rows.items():
            carried = carrier.carried_tuples(table, given)
            if beside is None or carried is not given:
                Table(target, table).insert_tuples(carried)
            elif given.values:
                for which, values in _which(beside, table, runs, begin, end):
                    beside.copy(table, (*given.names, CHECKSUM), which, *values)


def _last_turn(file: Database, runs: Sequence[str]) -> int:
    """Return the greatest number of a turn in any of these runs; 0 if none has one."""
    found = [
        file.rows(f"SELECT max(turn) AS last FROM turns WHERE run IN ({marks(chunk)})", *chunk)[0]["last"]
        for chunk in in_chunks(runs)
    ]
    return max((last for last in found if last is not None), default=0)


def _check(file: Database, rows: Mapping[str, Rows]) -> None:
    """Check that the rows that were stored with turns, by the turns' counts, are there, and that all can be read."""
    counts = {table: Counter(rows[table].columns("run", NUMBERED[table])) for table in NUMBERED}
    with record_faults(file.path):
        for table, columns in _JSON.items():
            for column in columns:
                for text in {*rows[table].column(column)} - {None}:  # many are equal
                    parsed(text)
        for run, turn, stored in rows["traces"].columns("run", "turn", "stored"):
            for table, count in {"turns": 1, **parsed(stored)}.items():
                if counts[table][run, turn] < count:
                    raise damaged(file, f"turn {turn} of run {run} has {counts[table][run, turn]} of {count} {table}")
    if any(text != searchable(text) for text in rows["passages"].column("text")):
        raise damaged(file, "what is searched holds what can't be in it")


def _check_traces(file: Database, rows: Mapping[str, Rows]) -> None:
    """Check that no trace is missing: between others, or of a turn with calls."""
    traced: dict[str, list[int]] = {}
    for run, turn in sorted(rows["traces"].columns("run", "turn")):
        traced.setdefault(run, []).append(turn)
    missing = [(run, turn) for run, turns in traced.items() for turn in {*range(turns[0], turns[-1])}.difference(turns)]
    executed = {*rows["calls"].columns("run", "round")}
    # LangGraph has the states between the turns of a conversation in a user's own graph.
    hosted = {row["run"] for row in file.rows("SELECT run FROM runs WHERE scenario = ?", HOSTED_SCENARIO)}
    for run, turn in rows["turns"].columns("run", "turn"):
        if (run, turn) in executed and run not in hosted and turn not in traced.get(run, ()):
            missing.append((run, turn))
    for run, turn in sorted(missing):
        raise damaged(file, f"the trace of turn {turn} of run {run} is missing")
