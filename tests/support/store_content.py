"""Compare two stores by all that SQL finds in them: every table, every row, every column.

What may differ between two stores of the same conversations is resolved or masked:

1. Row ids and hashes that rows point by are resolved to what they point to.
2. Ids of runs and simulations are numbered in the order in which they were created; trials are called by what they
   are trials of.
3. Wall-clock times, ids of LangGraph's checkpoints, and the checksums that cover any of these are left out.

Nothing here is read by the project's own queries, so that a fault in those can't hide a difference.
"""

import base64
import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tertulia.storage.schema import CHECKSUM, TABLES
from tertulia.storage.sqlite.checkpoints import PlainSerializer
from tertulia.storage.sqlite.checksums import CHANNEL

Row = dict[str, Any]

#: Columns that no two stores have in common: wall-clock times, and what only this file points by.
_PASSED_OVER = {
    "runs": {"id", "created"},
    "simulations": {"id", "created"},
    "calls": {"id", "seconds"},
    "annotations": {"seconds"},
    "experiments": {"created"},
    "calibrations": {"created"},
    "contents": {"id", "hash"},
    "units": {"id"},
    "prompts": {"hash"},
    "passages": {"id"},
    "memories": {"id"},
}

#: Tables whose rows were made in an order that says something.
_IN_ORDER = ("runs", "simulations", "calls", "memories")

#: What a run is called by that is a trial: workers create theirs in any order.
_TRIAL = ("experiment", "setting", "trial_case", "trial")

#: Tables in which SQLite keeps its accounts: the parts of the full-text index, and statistics.
_OF_SQLITE = re.compile(r"generation|passages_fts(_\w+)?|sqlite_\w+")

_VERSION_OF_CHANNEL = ("channel_versions", "versions_seen", "updated_channels", "id", "ts")


def content(path: Path, is_in_order: bool = True) -> dict[str, list[Any]]:
    """Return all that a store holds, by table; rows are sorted where their order says nothing.

    Args:
        path: The file; it is read, and what stands in its log with it.
        is_in_order: Whether the order of runs, simulations, calls and memories is compared too.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda text: text.decode("utf-8", "surrogatepass")
        found = _Reader(connection, path).content()
    return found if is_in_order else {table: sorted(rows, key=repr) for table, rows in found.items()}


def differences(expected: Mapping[str, Sequence[Any]], found: Mapping[str, Sequence[Any]]) -> list[str]:
    """Compare what two stores hold; return, for every table that differs, a line with the first row that does."""
    lines = []
    for table in dict.fromkeys([*expected, *found]):
        pair = [list(rows.get(table, ())) for rows in (expected, found)]
        if pair[0] != pair[1]:
            lines.append(f"{table}: {first_difference(pair[0], pair[1])}")
    return lines


class _Reader:
    """Reads one store."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._serializer = PlainSerializer(path)
        self._mask = self._masking()
        self._texts = {row["id"]: self._mask(row["text"]) for row in self._rows("SELECT id, text FROM contents")}
        self._units = {row["id"]: self._resolved("units", row) for row in self._rows("SELECT * FROM units")}
        self._prompts = {row["hash"]: self._prompt(row) for row in self._rows("SELECT * FROM prompts")}

    def content(self) -> dict[str, list[Any]]:
        """Return the rows of every table, the schema and the version."""
        schema = self._rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        pragmas = {name: self._rows(f"PRAGMA {name}") for name in ("user_version", "application_id")}
        found: dict[str, list[Any]] = {"the schema": schema, "the version": [pragmas]}
        for name in [row["name"] for row in schema if row["type"] == "table"]:
            if not _OF_SQLITE.fullmatch(name):
                found[name] = self._table(name)
        return found

    def _table(self, name: str) -> list[Any]:
        if name in ("checkpoints", "writes"):
            return list(getattr(self, f"_{name}")())
        if name == "prompts":
            return sorted(self._prompts.values(), key=repr)
        order = "ORDER BY id" if name in _IN_ORDER else ""
        rows = [self._resolved(name, row) for row in self._rows(f"SELECT * FROM {name} {order}")]
        return rows if order else sorted(rows, key=repr)

    def _rows(self, sql: str) -> list[Row]:
        return [dict(row) for row in self._connection.execute(sql)]

    def _masking(self) -> Callable[[Any], Any]:
        """Return what numbers ids of runs and simulations in a value: where it is one, or as a string in JSON."""
        names = [row["simulation"] for row in self._rows("SELECT simulation FROM simulations ORDER BY id")]
        runs = self._rows(f"SELECT run, {', '.join(_TRIAL)} FROM runs ORDER BY id")
        names += [
            row["run"] for row in runs if "-" not in row["run"] and row["experiment"] is None
        ]  # `SIMULATION-DAY-NUMBER` begins with the simulation's
        numbers = {name: f"<{number}>" for number, name in enumerate(names, start=1)}
        trials = [row for row in runs if row["experiment"] is not None]
        numbers |= {row["run"]: f"<{' / '.join(str(row[column]) for column in _TRIAL)}>" for row in trials}
        if not numbers:
            return lambda value: value
        pattern = re.compile(rf'(?:(?<=")|^)(?:{"|".join(map(re.escape, numbers))})(?=["-]|$)')

        def mask(value: Any) -> Any:
            return pattern.sub(lambda match: numbers[match[0]], value) if isinstance(value, str) else value

        return mask

    def _prompt(self, row: Row) -> Row:
        row["unit_ids"] = [self._units.get(unit, "nothing") for unit in json.loads(row["unit_ids"])]
        return self._resolved("prompts", row)

    def _resolved(self, table: str, row: Row) -> Row:
        """Return a row without what may differ, and with what it points to."""
        passed_over = _PASSED_OVER.get(table, set())
        resolved = {}
        for column, value in row.items():
            if column == CHECKSUM or column in passed_over:
                continue
            target = _target(table, column)
            if value is None or target is None:
                resolved[column] = self._mask(_unpacked(value))
            else:
                resolved[column] = (self._texts if target == "contents" else self._prompts).get(value, "nothing")
        return resolved

    def _checkpoints(self) -> Iterator[Any]:
        """Yield the state of every checkpoint, in the order of its thread."""
        rows = self._rows("SELECT * FROM checkpoints ORDER BY thread_id, checkpoint_ns, checkpoint_id")
        states = []
        for row in rows:
            state = self._serializer.loads_typed((row["type"], row["checkpoint"]))
            state = {key: value for key, value in state.items() if key not in _VERSION_OF_CHANNEL}
            states.append((self._mask(row["thread_id"]), row["checkpoint_ns"], self._masked(state)))
        yield from sorted(states, key=lambda state: state[:2])  # stable: within a thread the order stays

    def _writes(self) -> Iterator[Any]:
        """Yield what tasks wrote beside checkpoints."""
        rows = self._rows(
            f"""SELECT * FROM writes WHERE channel <> '{CHANNEL}'
            ORDER BY thread_id, checkpoint_ns, checkpoint_id, task_id, idx"""
        )
        values = []
        for row in rows:
            value = self._serializer.loads_typed((row["type"], row["value"]))
            place = (self._mask(row["thread_id"]), row["checkpoint_ns"], row["idx"], row["channel"])
            values.append((*place, self._masked(value)))
        yield from sorted(values, key=repr)

    def _masked(self, value: Any) -> Any:
        """Return a value of LangGraph's state with ids numbered."""
        if isinstance(value, dict):
            return {self._mask(key): self._masked(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._masked(item) for item in value]
        return self._mask(value) if isinstance(value, str | int | float | bytes | None) else repr(value)


def _target(table: str, column: str) -> str | None:
    """Return the table that a column points to, where that has no name of its own for it."""
    declared = TABLES[table].columns if table in TABLES else ()
    references = next((known.references for known in declared if known.name == column), None)
    return references[0] if references and references[0] in ("contents", "prompts") else None


def _unpacked(value: Any) -> Any:
    """Return bytes as text: decompressed where they were compressed, else in base 64."""
    if not isinstance(value, bytes):
        return value
    try:
        return zlib.decompress(value).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):
        return base64.b64encode(value).decode()


def first_difference(expected: Any, found: Any, where: str = "") -> str:
    """Return where two different values, of JSON's kinds, first differ, and how."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and list(expected) == list(found):
        inner = ((expected[key], found[key], f"{where}, {key}") for key in expected)
        return first_difference(*next(values for values in inner if values[0] != values[1]))
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        if len(expected) == len(found):
            pairs = ((*pair, f"{where} {at}") for at, pair in enumerate(zip(expected, found, strict=True), start=1))
            return first_difference(*next(values for values in pairs if values[0] != values[1]))
        counted = f"{where} {len(expected)} undisturbed, {len(found)} now".strip()
        absent = next((row for row in expected if row not in found), None)
        added = next((row for row in found if row not in expected), None)
        return f"{counted}; missing: {_short(absent)}; added: {_short(added)}"
    return f"{where.strip(', ')}: {_short(expected)} undisturbed, {_short(found)} now"


def _short(value: object, length: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"
