"""LangGraph's checkpoints in a Postgres database: its own saver, over the connection of the driver of the runs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection, Cursor
from psycopg.rows import DictRow
from typing_extensions import override

from tertulia.storage.dialects import POSTGRES
from tertulia.storage.postgres.database import ServerDatabase
from tertulia.storage.postgres.faults import server_faults
from tertulia.storage.sqlite.checkpoints import BEHIND, CheckedSerializer, SynchronousSaver
from tertulia.storage.values import parsed


class ServerCheckpoints(SynchronousSaver, PostgresSaver):
    """A LangGraph checkpointer for asynchronous graphs; made and used in one thread.

    The base class keeps plain values in a column of JSON, which can't hold every text and every number. So each value
    is stored as a list of one, which goes with the others into a table of bytes.
    """

    def __init__(self, database: ServerDatabase, connection: Connection[DictRow] | None = None) -> None:
        """Take a store, and a connection other than its second one to write over."""
        super().__init__(connection or database.second, serde=CheckedSerializer(database.path))
        self._address = database.path
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
        """Store a checkpoint."""
        values = {channel: [value] for channel, value in checkpoint["channel_values"].items()}
        return super().put(config, checkpoint | {"channel_values": values}, metadata, new_versions)

    @override
    def forget_behind(self, config: RunnableConfig) -> None:
        thread, kept = config["configurable"]["thread_id"], config["configurable"]["checkpoint_id"]
        with self._cursor() as cursor, cursor.connection.transaction():
            cursor.execute(f"DELETE FROM checkpoints WHERE {BEHIND.format('%s', '%s')}", (thread, kept))
            cursor.execute("DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns != ''", (thread,))
            cursor.execute("DELETE FROM checkpoint_writes WHERE thread_id = %s", (thread,))

    @override
    def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        loaded = super()._load_checkpoint_tuple(value)
        values = {channel: held for channel, (held,) in loaded.checkpoint["channel_values"].items()}
        return loaded._replace(checkpoint=loaded.checkpoint | {"channel_values": values})


#: A checkpoint, or what a task wrote beside one: the table that a file has it in, its plain columns, and the value.
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
    serializer = CheckedSerializer(database.path)
    of_runs = f"FROM checkpoint_writes WHERE thread_id IN {POSTGRES.given_texts}"
    # Under the name of a column of bytes, by which the value is read as it is.
    for row in database.rows(f"SELECT {', '.join(_WRITES)}, type, blob AS trace {of_runs}", json.dumps([*runs])):
        value = serializer.loads_typed((row.pop("type"), row.pop("trace")))
        rows.append(("writes", row, value))
    return rows


def write_rows(database: ServerDatabase, rows: Sequence[Row]) -> None:
    """Insert checkpoints that were read from any store; inside a transaction."""
    saver, serializer = ServerCheckpoints(database, database.connection), CheckedSerializer(database.path)
    marks = ", ".join("?" * (len(_WRITES) + 2))
    insert = f"INSERT INTO checkpoint_writes ({', '.join(_WRITES)}, type, blob) VALUES ({marks}) ON CONFLICT DO NOTHING"
    for table, key, value in rows:
        if table == "writes":
            database.write(insert, *(key[column] for column in _WRITES), *serializer.dumps_typed(value))
        else:
            before = {"checkpoint_id": key["parent_checkpoint_id"]} if key["parent_checkpoint_id"] else {}
            thread = {"thread_id": key["thread_id"], "checkpoint_ns": key["checkpoint_ns"], **before}
            saver.put({"configurable": thread}, value, parsed(key["metadata"]), value["channel_versions"])
