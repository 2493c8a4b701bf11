"""Checkpoints of runs, read from one store and written into another: the part of a merge that knows LangGraph's tables.

Between the two they are plain objects, so that stores in different databases can exchange them. All of them are
read through the serializer, which refuses values that are damaged or that it never wrote.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tertulia.storage.addresses import ServerAddress
from tertulia.storage.contract import Database
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.merging.carrying import in_chunks, marks, reading
from tertulia.storage.sqlite.checkpoints import Checkpoints, PlainSerializer
from tertulia.storage.sqlite.checksums import CHANNEL, IN_METADATA, damaged_writes, is_damaged, packed_checksum, task_of
from tertulia.storage.sqlite.objects import CHECKPOINT_TABLES
from tertulia.storage.sqlite.opening import MEMORY, open_connection
from tertulia.storage.values import parsed

if TYPE_CHECKING:
    from tertulia.storage.postgres.database import ServerDatabase

_TABLES = ("checkpoints", "writes")


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint of a run, or a task's write beside one: its plain columns (`key`) and its value."""

    table: str
    key: dict[str, Any]
    value: Any


def has_tables(file: Database) -> bool:
    """Return whether a store has LangGraph's tables: they are made with the first checkpoint."""
    return _is_server(file) or len(_tables_of(file)) == len(_TABLES)


def make_tables(file: Database) -> None:
    """Make LangGraph's tables if a store lacks them; outside a transaction."""
    if has_tables(file):
        return
    if file.path == MEMORY:
        for sql in CHECKPOINT_TABLES:
            file.write(sql)
        return
    with closing(open_connection(str(file.path), create=False, isolation_level="IMMEDIATE")) as connection:
        Checkpoints(connection, file.path).setup()


def read_checkpoints(file: Database, runs: Sequence[str]) -> list[StoredCheckpoint]:
    """Return the checkpoints of runs; `StorageError` if one is damaged, or was not written by Tertulia."""
    if _is_server(file):
        from tertulia.storage.postgres.checkpoints import read_rows

        return [StoredCheckpoint(*row) for row in read_rows(_on_server(file), runs)]
    serializer = PlainSerializer(file.path)
    found = []
    for table in _tables_of(file):
        held = "checkpoint" if table == "checkpoints" else "value"
        for chunk in in_chunks(runs):
            rows = file.rows(f"SELECT * FROM {table} WHERE thread_id IN ({marks(chunk)})", *chunk)
            for row in _without_checksums(file, table, rows):
                value = serializer.loads_typed((row.pop("type"), row.pop(held)))
                _check(file, table, row, value)
                found.append(StoredCheckpoint(table, row, value))
    return found


def copy_checkpoints(source: Database, target: Database, runs: Sequence[str]) -> None:
    """Insert the checkpoints of runs, those that are there stay; inside a transaction, after `make_tables`.

    Raises:
        SourceError: One is damaged, or was not written by Tertulia.
    """
    with reading():
        checkpoints = read_checkpoints(source, runs)
    write_checkpoints(target, checkpoints)


def write_checkpoints(file: Database, checkpoints: Sequence[StoredCheckpoint]) -> None:
    """Insert checkpoints, those that are there stay; inside a transaction, after `make_tables`."""
    if _is_server(file):
        from tertulia.storage.postgres.checkpoints import write_rows

        write_rows(_on_server(file), [(stored.table, stored.key, stored.value) for stored in checkpoints])
        return
    serializer = PlainSerializer(file.path)
    for stored in checkpoints:
        kind, value = serializer.dumps_typed(stored.value)
        row = {**stored.key, "type": kind, "checkpoint" if stored.table == "checkpoints" else "value": value}
        if "metadata" in row:
            metadata = {**parsed(row["metadata"]), IN_METADATA: zlib.crc32(value)}
            row["metadata"] = json.dumps(metadata, ensure_ascii=False).encode("utf-8", "ignore")
        _insert(file, stored.table, row)
        if stored.table == "writes":
            named = dict(zip(("channel", "type", "value"), packed_checksum(value), strict=True))
            _insert(file, "writes", {**row, "task_id": task_of(row["task_id"]), **named})


def _insert(file: Database, table: str, row: Mapping[str, Any]) -> None:
    file.write(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks(row)}) ON CONFLICT DO NOTHING", *row.values())


def _without_checksums(file: Database, table: str, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows without their checksums; `StorageError` if one differs from it, or its metadata do not read."""
    if table == "checkpoints":
        for row in rows:
            with record_faults(file.path):
                metadata = dict(parsed(row["metadata"]))
                if is_damaged(row["checkpoint"], metadata):
                    raise damaged(file.path, "a checkpoint does not match its checksum")
            metadata.pop(IN_METADATA, None)
            yield row | {"metadata": json.dumps(metadata, ensure_ascii=False)}
        return
    at = itemgetter("thread_id", "checkpoint_ns", "checkpoint_id")
    by_checkpoint: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        by_checkpoint.setdefault(at(row), []).append(row)
    for of_checkpoint in by_checkpoint.values():
        compared = [(row["task_id"], row["idx"], row["channel"], row["value"]) for row in of_checkpoint]
        for channel in damaged_writes(compared):
            raise damaged(file.path, f"what was written to {channel} does not match its checksum")
    yield from (row for row in rows if row["channel"] != CHANNEL)


def _is_server(file: Database) -> bool:
    return isinstance(file.path, ServerAddress)


def _on_server(file: Database) -> "ServerDatabase":
    from tertulia.storage.postgres.database import ServerDatabase

    assert isinstance(file, ServerDatabase)
    return file


def _check(file: Database, table: str, row: dict[str, Any], value: Any) -> None:
    lacks = any(value is None for name, value in row.items() if name != "parent_checkpoint_id")
    if lacks or (table == "checkpoints" and not isinstance(value, dict)):
        raise damaged(file.path, "a checkpoint does not read")


def _tables_of(file: Database) -> list[str]:
    made = file.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)", *_TABLES)
    return sorted(row["name"] for row in made)
