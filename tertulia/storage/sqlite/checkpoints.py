"""LangGraph's checkpoints in the store file, over a connection of their own.

1. Checkpoints hold plain data, in the format of LangGraph's own serializer; loading one executes nothing. Their
   checksums are stored beside them (`tertulia/storage/sqlite/checksums.py`).
2. A write is one call from `BEGIN` to `COMMIT`. LangGraph's asynchronous saver awaits in between: with several runs at
   once a node's own write then waits for a commit that waits for the node (3 of 8 runs died of `database is locked`).
"""

import sqlite3
import zlib
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, Self, cast

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
from langgraph.pregel._checkpoint import LATEST_VERSION
from langgraph.types import Interrupt, Send
from typing_extensions import override

from tertulia.state.errors import StorageError, UsageError
from tertulia.state.text import first_line
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.faults import record_faults, storage_faults
from tertulia.storage.sqlite.checksums import CHANNEL, IN_METADATA, damaged_writes, is_damaged, packed_checksum, task_of
from tertulia.storage.sqlite.connection import StoreConnection
from tertulia.storage.sqlite.host_types import HostSerializer, damaged_checkpoint
from tertulia.storage.sqlite.opening import open_connection
from tertulia.storage.sqlite.retention import remove_superseded

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
        """Store a task's writes, all of them or nothing."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread."""
        self.delete_thread(thread_id)

    def forget_behind(self, config: RunnableConfig) -> None:
        """Delete all that follows a checkpoint of a thread: later ones, those of subgraphs, and tasks' writes."""
        raise NotImplementedError

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return this checkpointer: LangGraph's strict mode would allow more than plain data."""
        return self


class Checkpoints(SynchronousSaver, SqliteSaver):
    """A LangGraph checkpointer for asynchronous graphs; made and used in one thread."""

    def __init__(
        self, connection: sqlite3.Connection, path: StoreAddress | str, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(connection, serde=serde or PlainSerializer(path))
        self._path = path

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor; a failed write is undone (the base class commits the part before the failure)."""
        faults = storage_faults if transaction else record_faults  # inside are LangGraph's rows, of any types
        with faults(self._path), super().cursor(transaction) as cursor:
            try:
                if transaction and isinstance(self.conn, StoreConnection):
                    self.conn.begin()
                yield cursor
            except BaseException:
                self.conn.rollback()
                raise

    @override
    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and its checksum in its metadata."""
        checked: Any = {**metadata, IN_METADATA: zlib.crc32(self.serde.dumps_typed(checkpoint)[1])}
        return super().put(config, checkpoint, checked, new_versions)

    @override
    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, and then the checksums of the stored rows: earlier ones may have stayed."""
        super().put_writes(config, writes, task_id, task_path)
        place = _place(config)
        with self.cursor() as cursor:
            stored = cursor.execute(
                f"SELECT idx, value FROM writes WHERE {_OF_CHECKPOINT} AND task_id = ?", (*place, task_id)
            ).fetchall()
            cursor.executemany(
                """INSERT OR REPLACE INTO writes
                (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                [(*place, task_of(task_id), task_path, index, *packed_checksum(value)) for index, value in stored],
            )

    @override
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names; `StorageError` if it is damaged."""
        if (found := super().get_tuple(config)) is None:
            return None
        with self.cursor(transaction=False):
            return self._checked(found)

    @override
    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first; `StorageError` if one is damaged."""
        for found in super().list(config, filter=filter, before=before, limit=limit):
            with record_faults(self._path):
                checked = self._checked(found)  # the connection is locked meanwhile
            yield checked

    def _checked(self, found: CheckpointTuple) -> CheckpointTuple:
        """Return a checkpoint without its checksums; `StorageError` if its bytes or those of a write differ from them.

        The connection must be locked.
        """
        version = found.checkpoint.get("v")
        if not isinstance(version, int) or version > LATEST_VERSION:
            raise StorageError(
                f"a checkpoint in {self._path} has the format {version!r:.20}, of another LangGraph; this one "
                f"reads formats up to {LATEST_VERSION}: update langgraph"
            )
        place, metadata = _place(found.config), dict(found.metadata)
        if IN_METADATA in metadata:
            (row,) = self.conn.execute(f"SELECT checkpoint FROM checkpoints WHERE {_OF_CHECKPOINT}", place).fetchall()
            if is_damaged(row[0], metadata):
                raise damaged_checkpoint(self._path, "it does not match its checksum")
            del metadata[IN_METADATA]
        pending = found.pending_writes or []
        if pending:
            query = f"SELECT task_id, idx, channel, value FROM writes WHERE {_OF_CHECKPOINT}"
            for channel in damaged_writes(self.conn.execute(query, place).fetchall()):
                raise damaged_checkpoint(self._path, f"what was written to {channel} does not match its checksum")
        plain: Any = metadata
        return found._replace(metadata=plain, pending_writes=[write for write in pending if write[1] != CHANNEL])

    @override
    def forget_behind(self, config: RunnableConfig) -> None:
        thread, kept = config["configurable"]["thread_id"], config["configurable"]["checkpoint_id"]
        with self.cursor() as cursor:
            cursor.execute(f"DELETE FROM checkpoints WHERE {BEHIND.format('?', '?')}", (thread, kept))
            cursor.execute("DELETE FROM writes WHERE thread_id = ?", (thread,))


class GraphCheckpoints(Checkpoints):
    """A LangGraph checkpointer for any graph, sync or async, in any thread: its states may hold messages."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: StoreAddress | str,
        allowed: Iterable[tuple[str, ...] | type] | None = None,
    ) -> None:
        super().__init__(connection, path, HostSerializer(path, allowed))

    @contextmanager
    @override
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor; `StorageError` if the checkpointer was closed before."""
        try:
            self.conn.in_transaction  # noqa: B018  # raises if it is closed
        except sqlite3.ProgrammingError:
            raise StorageError(
                f"the checkpointer of {self._path} is closed; invoke the graph inside its `with` block"
            ) from None
        with super().cursor(transaction) as cursor:
            yield cursor

    @override
    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        return cast(Self, BaseCheckpointSaver.with_allowlist(self, extra_allowlist))

    @override
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another, with tasks' writes, and their checksums."""
        columns = {
            "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
            "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
        }
        with self.cursor() as cursor:
            for table, names in columns.items():
                cursor.execute(
                    f"INSERT OR REPLACE INTO {table} (thread_id, {names}) SELECT ?, {names} FROM {table} "
                    "WHERE thread_id = ?",
                    (str(target_thread_id), str(source_thread_id)),
                )

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another."""
        self.copy_thread(source_thread_id, target_thread_id)

    @override
    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that LangGraph made in these runs of its, with tasks' writes beside them.

        A thread that goes on must not have a `DeltaChannel`, whose values lie in earlier checkpoints.
        """
        of_runs = """SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints
        WHERE json_extract(CAST(metadata AS TEXT), '$.run_id') = ?"""
        with self.cursor() as cursor:
            for run in _listed("run_ids", run_ids):
                for table in ("writes", "checkpoints"):
                    where = f"(thread_id, checkpoint_ns, checkpoint_id) IN ({of_runs})"
                    cursor.execute(f"DELETE FROM {table} WHERE {where}", (str(run),))

    @override
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the checkpoints that threads do not go on from (`superseded`), or, by `delete`, all of them."""
        if strategy not in ("keep_latest", "delete"):
            raise UsageError(f"strategy={strategy!r:.60}: keep_latest or delete is expected")
        for thread in map(str, _listed("thread_ids", thread_ids)):
            if strategy == "delete":
                self.delete_thread(thread)
            else:
                with self.cursor():
                    remove_superseded(self.conn, thread)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the checkpoints that threads do not go on from."""
        self.prune(thread_ids, strategy=strategy)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that LangGraph made in these runs of its."""
        self.delete_for_runs(run_ids)


def _listed(name: str, ids: Sequence[str]) -> Sequence[str]:
    """Return ids; a text would be one of its letters each."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise UsageError(f"{name}={ids!r:.60}: a list of ids is expected, such as [{str(ids)!r:.60}]")
    return ids


_OF_CHECKPOINT = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"


def _place(config: RunnableConfig) -> tuple[str, str, str]:
    """Return thread, namespace and id of a checkpoint, as they are stored."""
    named = config["configurable"]
    return str(named["thread_id"]), str(named.get("checkpoint_ns", "")), str(named["checkpoint_id"])


# --- serializing ----------------------------------------------------------------------------------------------------

_OPTIONS = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)

#: The msgpack extensions in which LangGraph writes a type with its positional arguments, and with named ones.
_POSITIONAL, _NAMED = 1, 2
_SEND, _INTERRUPT = ("langgraph.types", "Send"), ("langgraph.types", "Interrupt")


class PlainSerializer(SerializerProtocol):
    """Numbers, strings, lists, dicts, LangGraph's `Send` and `Interrupt`, in its own format; anything else is refused.

    LangGraph's serializer reads the output of this one. It also calls, on loading, any function that the file names; in
    its strict mode it still builds some forty types, and silently changes the others to dicts.
    """

    def __init__(self, path: StoreAddress | str) -> None:
        """Note the file that messages name."""
        self._path = path

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the format and the bytes of an object; `TypeError` if it is not plain data, such as a record."""
        return ("null", b"") if obj is None else ("msgpack", ormsgpack.packb(obj, default=_pack, option=_OPTIONS))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the object of bytes; `StorageError` if they are damaged, or `dumps_typed` did not write them."""
        kind, packed = data
        if kind == "null":
            return None
        try:
            if kind != "msgpack":
                raise ValueError(f"unknown format {kind!r}")
            return ormsgpack.unpackb(packed, ext_hook=_unpack, option=ormsgpack.OPT_NON_STR_KEYS)
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged_checkpoint(self._path, first_line(error)[:200]) from error


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
