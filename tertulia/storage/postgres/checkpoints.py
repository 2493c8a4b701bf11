"""LangGraph's checkpoints in a Postgres database: its own saver, over the connection of the driver of the runs."""

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection, Cursor
from psycopg.rows import DictRow
from typing_extensions import override

from tertulia.storage.addresses import StoreAddress
from tertulia.storage.dialects import POSTGRES
from tertulia.storage.postgres.database import ServerDatabase
from tertulia.storage.postgres.faults import server_faults
from tertulia.storage.sqlite.checkpoints import (
    BEHIND,
    PlainSerializer,
    SynchronousSaver,
)
from tertulia.storage.sqlite.checksums import CHANNEL, IN_METADATA, packed_checksum, task_of
from tertulia.storage.sqlite.host_types import damaged_checkpoint
from tertulia.storage.values import parsed


@dataclass(frozen=True)
class _Packed:
    """A value as it is stored: its format and its bytes."""

    kind: str
    value: bytes


class _ServerSerializer(PlainSerializer):
    """As `PlainSerializer`, for values that are packed already, too."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the format and the bytes of an object; `TypeError` if it is not plain data."""
        return (obj.kind, obj.value) if isinstance(obj, _Packed) else super().dumps_typed(obj)


class ServerCheckpoints(SynchronousSaver, PostgresSaver):
    """A LangGraph checkpointer for asynchronous graphs; made and used in one thread.

    1. The base class keeps plain values in a column of JSON, which can't hold every text and every number. So each
       value is packed before, and goes with the others into a table of bytes; plain LangGraph reads them there.
    2. The checksums of a checkpoint's values are in its metadata, by channel; those of tasks' writes are rows under
       tasks that no graph has (`tertulia/storage/sqlite/checksums.py`).
    """

    def __init__(self, database: ServerDatabase, connection: Connection[DictRow] | None = None) -> None:
        """Take a store, and a connection other than its second one to write over."""
        super().__init__(connection or database.second, serde=_ServerSerializer(database.path))
        self._address = database.path
        #: By thread, namespace and channel, the version and checksum of the value that was written or read here last.
        self._sums: dict[tuple[str, str, str], tuple[str, int]] = {}
        self.supports_pipeline = False  # a transaction instead: all of a write is stored, or nothing

    @override
    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Cursor[DictRow]]:
        with server_faults(self._address), super()._cursor(pipeline=pipeline) as cursor:
            yield cursor

    @override
    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and the checksums of its values in its metadata."""
        place = str(config["configurable"]["thread_id"]), str(config["configurable"]["checkpoint_ns"])
        values = {name: _Packed(*self.serde.dumps_typed(value)) for name, value in checkpoint["channel_values"].items()}
        for channel in values.keys() & new_versions.keys():
            self._sums[*place, channel] = str(new_versions[channel]), zlib.crc32(values[channel].value)
        sums = {}
        for channel in values:
            version, found = self._sums.get((*place, channel), (None, 0))
            if version == str(checkpoint["channel_versions"].get(channel)):
                sums[channel] = found
        checked: Any = {**metadata, IN_METADATA: sums}
        return super().put(config, checkpoint | {"channel_values": values}, checked, new_versions)

    @override
    def forget_behind(self, config: RunnableConfig) -> None:
        thread, kept = config["configurable"]["thread_id"], config["configurable"]["checkpoint_id"]
        with self._cursor() as cursor, cursor.connection.transaction():
            cursor.execute(f"DELETE FROM checkpoints WHERE {BEHIND.format('%s', '%s')}", (thread, kept))
            cursor.execute("DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns != ''", (thread,))
            cursor.execute("DELETE FROM checkpoint_writes WHERE thread_id = %s", (thread,))

    @override
    def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        metadata = dict(value["metadata"])
        sums, versions = metadata.pop(IN_METADATA, {}), value["checkpoint"]["channel_versions"]
        for channel, _, packed in value["channel_values"] or ():
            name = channel.decode()
            if name in sums:
                if sums[name] != zlib.crc32(packed):
                    raise damaged_checkpoint(self._address, f"{name} does not match its checksum")
                self._sums[value["thread_id"], value["checkpoint_ns"], name] = str(versions[name]), sums[name]
        return super()._load_checkpoint_tuple({**value, "metadata": metadata})

    @override
    def _dump_writes(self, *place: Any) -> list[Any]:
        rows: list[Any] = super()._dump_writes(*place)
        return [*rows, *(_checksum_of(row) for row in rows)]

    @override
    def _load_writes(self, writes: list[Any] | None) -> list[tuple[str, str, Any]]:
        read = [(row[0].decode(), row[1].decode(), row[3]) for row in writes or ()]
        _check_writes(self._address, read)
        return super()._load_writes([row for row in writes or () if row[1].decode() != CHANNEL])


def _checksum_of(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the row with the checksum of another one: of its columns, task, channel, format and value are others."""
    *place, task, path, index, _, _, value = row
    return (*place, task_of(task), path, index, *packed_checksum(value))


def _check_writes(path: StoreAddress, rows: Sequence[tuple[str, str, bytes | None]]) -> None:
    """Raise `StorageError` if a task's write matches none of its checksums.

    Args:
        rows: Task, channel and value of all rows of a checkpoint.
    """
    sums: dict[str, set[bytes | None]] = {}
    for task, channel, value in rows:
        if channel == CHANNEL:
            sums.setdefault(task, set()).add(value)
    for task, channel, value in rows:
        known = sums.get(task_of(task))
        if channel != CHANNEL and known and packed_checksum(value or b"")[2] not in known:
            raise damaged_checkpoint(path, f"what was written to {channel} does not match its checksum")


#: A checkpoint, or a task's write beside one: its table in a file, its plain columns, and the value.
Row = tuple[str, dict[str, Any], Any]

_WRITES = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx", "channel")


def read_rows(database: ServerDatabase, runs: Sequence[str]) -> list[Row]:
    """Return the checkpoints of runs as the rows that a file would have."""
    saver, rows = ServerCheckpoints(database, database.connection), list[Row]()
    for run in runs:
        for found in saver.list({"configurable": {"thread_id": run}}):
            key = dict(found.config["configurable"])
            key["parent_checkpoint_id"] = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
            rows.append(("checkpoints", {**key, "metadata": json.dumps(found.metadata)}, found.checkpoint))
    serializer = PlainSerializer(database.path)
    of_runs = f"FROM checkpoint_writes WHERE thread_id IN {POSTGRES.given_texts}"
    # Under the name of a column of bytes, by which the value is read as it is.
    read = database.rows(f"SELECT {', '.join(_WRITES)}, type, blob AS trace {of_runs}", json.dumps([*runs]))
    by_checkpoint: dict[Any, list[dict[str, Any]]] = {}
    for row in read:
        by_checkpoint.setdefault(itemgetter(*_WRITES[:3])(row), []).append(row)
    for of_checkpoint in by_checkpoint.values():
        of_tasks = itemgetter("task_id", "channel", "trace")
        _check_writes(database.path, [of_tasks(row) for row in of_checkpoint])
    for row in read:
        if row["channel"] != CHANNEL:
            value = serializer.loads_typed((row.pop("type"), row.pop("trace")))
            rows.append(("writes", row, value))
    return rows


def write_rows(database: ServerDatabase, rows: Sequence[Row]) -> None:
    """Insert checkpoints that were read from any store; inside a transaction."""
    saver, serializer = ServerCheckpoints(database, database.connection), PlainSerializer(database.path)
    marks = ", ".join("?" * (len(_WRITES) + 2))
    insert = f"INSERT INTO checkpoint_writes ({', '.join(_WRITES)}, type, blob) VALUES ({marks}) ON CONFLICT DO NOTHING"
    for table, key, value in rows:
        if table == "writes":
            row = (*(key[column] for column in _WRITES), *serializer.dumps_typed(value))
            database.write(insert, *row)
            database.write(insert, *_checksum_of(row))
        else:
            before = {"checkpoint_id": key["parent_checkpoint_id"]} if key["parent_checkpoint_id"] else {}
            thread = {"thread_id": key["thread_id"], "checkpoint_ns": key["checkpoint_ns"], **before}
            saver.put({"configurable": thread}, value, parsed(key["metadata"]), value["channel_versions"])
