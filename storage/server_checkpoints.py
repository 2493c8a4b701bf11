"""LangGraph's checkpoints in a Postgres database: its own saver, over the connection of whoever drives the runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Cursor
from psycopg.rows import DictRow
from typing_extensions import override

from storage.checkpoints import PlainSerializer, SynchronousSaver
from storage.postgres import ServerDatabase
from storage.server_faults import server_faults


class ServerCheckpoints(SynchronousSaver, PostgresSaver):
    """A LangGraph checkpointer for asynchronous graphs; made and used in one thread.

    The base class keeps plain values in a column of JSON, which can't hold every text and every number. So each value
    is stored as a list of one, which goes with the others into a table of bytes.
    """

    def __init__(self, database: ServerDatabase) -> None:
        super().__init__(database.second, serde=PlainSerializer(database.path))
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
    def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        loaded = super()._load_checkpoint_tuple(value)
        values = {channel: held for channel, (held,) in loaded.checkpoint["channel_values"].items()}
        return loaded._replace(checkpoint=loaded.checkpoint | {"channel_values": values})
