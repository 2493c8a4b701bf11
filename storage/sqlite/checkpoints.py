"""LangGraph's checkpoints in the store file, over a connection of their own.

1. Checkpoints hold plain data; loading one executes nothing.
2. A write is one call from `BEGIN` to `COMMIT`. LangGraph's asynchronous saver awaits in between: with several runs at
   once a node's own write then waits for a commit that waits for the node (3 of 8 runs died of `database is locked`).
"""

import sqlite3
import zlib
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, Self

import ormsgpack
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Interrupt, Send
from typing_extensions import override

from tertulia.state.errors import StorageError
from tertulia.state.text import first_line
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.faults import storage_faults
from tertulia.storage.sqlite.opening import open_connection

#: The checkpoints behind another one of a thread: later ones, and those of subgraphs.
BEHIND = "thread_id = {} AND (checkpoint_id > {} OR checkpoint_ns != '')"


@asynccontextmanager
async def open_checkpoints(path: StoreAddress | str) -> AsyncIterator["Checkpoints"]:
    """Open the checkpoints of a store; the file is made if it is missing.

    Args:
        path: The store file, or `:memory:`.

    Raises:
        StorageError: As `SqlStore.open`; also from any reading and writing of a checkpoint.
    """
    with closing(open_connection(str(path), create=True, isolation_level="IMMEDIATE")) as connection:
        yield Checkpoints(connection, path)


class SynchronousSaver(BaseCheckpointSaver[str]):
    """A saver with asynchronous methods that call the synchronous ones, so that each stores everything at once."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names."""
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first; all are read before the first is given out, as reading holds a lock."""
        for checkpoint in list(self.list(config, filter=filter, before=before, limit=limit)):
            yield checkpoint

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote, all of it or nothing."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread."""
        self.delete_thread(thread_id)

    def forget_behind(self, config: RunnableConfig) -> None:
        """Delete all that follows a checkpoint of a thread: later ones, those of subgraphs, and what tasks wrote."""
        raise NotImplementedError

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return this checkpointer: LangGraph's strict mode would allow more than plain data."""
        return self


class Checkpoints(SynchronousSaver, SqliteSaver):
    """A LangGraph checkpointer for asynchronous graphs; made and used in one thread."""

    def __init__(self, connection: sqlite3.Connection, path: StoreAddress | str) -> None:
        super().__init__(connection, serde=PlainSerializer(path))
        self._path = path

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor; what failed is undone (the base class commits what was written until then)."""
        with storage_faults(self._path), super().cursor(transaction) as cursor:
            try:
                yield cursor
            except BaseException:
                self.conn.rollback()
                raise

    @override
    def forget_behind(self, config: RunnableConfig) -> None:
        thread, kept = config["configurable"]["thread_id"], config["configurable"]["checkpoint_id"]
        with self.cursor() as cursor:
            cursor.execute(f"DELETE FROM checkpoints WHERE {BEHIND.format('?', '?')}", (thread, kept))
            cursor.execute("DELETE FROM writes WHERE thread_id = ?", (thread,))


# --- serializing ----------------------------------------------------------------------------------------------------

_OPTIONS = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)

#: MessagePack with a CRC-32 behind it.
_CHECKED = "msgpack+crc32"
_CRC_BYTES = 4

#: The msgpack extensions in which LangGraph writes a type with its positional arguments, and with named ones.
_POSITIONAL, _NAMED = 1, 2
_SEND, _INTERRUPT = ("langgraph.types", "Send"), ("langgraph.types", "Interrupt")


class PlainSerializer(SerializerProtocol):
    """Numbers, strings, lists, dicts, LangGraph's `Send` and `Interrupt`, in its own format; anything else is refused.

    LangGraph's serializer calls, on loading, whatever function the file names; in its strict mode it still builds some
    forty types, and silently changes the others to dicts.
    """

    def __init__(self, path: StoreAddress | str) -> None:
        """Note the file that messages name."""
        self._path = path

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the format and the bytes of an object; `TypeError` if it is not plain data, such as a record."""
        if obj is None:
            return "null", b""
        packed = ormsgpack.packb(obj, default=_pack, option=_OPTIONS)
        return _CHECKED, packed + _crc(packed)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the object of bytes; `StorageError` if they are damaged, or `dumps_typed` did not write them."""
        kind, packed = data
        if kind == "null":
            return None
        try:
            if kind == _CHECKED:
                packed, stored = packed[:-_CRC_BYTES], packed[-_CRC_BYTES:]
                if _crc(packed) != stored:
                    raise ValueError("it does not match its checksum")
            elif kind != "msgpack":  # as the first versions wrote it
                raise ValueError(f"unknown format {kind!r}")
            return ormsgpack.unpackb(packed, ext_hook=_unpack, option=ormsgpack.OPT_NON_STR_KEYS)
        except (ValueError, TypeError, RecursionError) as error:
            cause = first_line(error)[:200]
            raise StorageError(
                f"a checkpoint in {self._path} is damaged, or holds what Tertulia never writes ({cause}); nothing in "
                "it was executed, and the run can't go on from it: go back to a backup of the file"
            ) from error


def _crc(packed: bytes) -> bytes:
    return zlib.crc32(packed).to_bytes(_CRC_BYTES, "big")


def _pack(value: Any) -> Any:
    if isinstance(value, Send) and getattr(value, "timeout", None) is None:
        return ormsgpack.Ext(_POSITIONAL, ormsgpack.packb((*_SEND, (value.node, value.arg)), _pack, _OPTIONS))
    if isinstance(value, Interrupt) and getattr(value, "response_schema", None) is None:
        named = {"value": value.value, "id": value.id}
        return ormsgpack.Ext(_NAMED, ormsgpack.packb((*_INTERRUPT, named), _pack, _OPTIONS))
    if isinstance(value, BaseException):
        return repr(value)
    raise TypeError(f"{type(value).__name__} can't be checkpointed")


def _unpack(code: int, packed: bytes) -> "Send | Interrupt[Any]":
    module, name, arguments = ormsgpack.unpackb(packed, ext_hook=_unpack, option=ormsgpack.OPT_NON_STR_KEYS)
    if (code, module, name) == (_POSITIONAL, *_SEND):
        node, argument = arguments
        return Send(node, argument)
    if (code, module, name) == (_NAMED, *_INTERRUPT) and set(arguments) == {"value", "id"}:
        return Interrupt(**arguments)
    raise ValueError(f"{module}.{name}")
