"""A checkpointer for graphs of one's own, in a store file: beside the runs, and under the same checksums."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tertulia.state.errors import UsageError
from tertulia.storage.addresses import DEFAULT_STORE
from tertulia.storage.sqlite.checkpoints import GraphCheckpoints
from tertulia.storage.sqlite.opening import open_connection


@contextmanager
def checkpointer(
    store: Path | str = DEFAULT_STORE, *, allowed_msgpack_modules: Iterable[tuple[str, ...] | type] | None = None
) -> Iterator[GraphCheckpoints]:
    """Open LangGraph's checkpoints in a store file, for a graph that is invoked synchronously or asynchronously.

    ::

        with tertulia.langgraph.checkpointer("tertulia.db") as saver:
            graph = builder.compile(checkpointer=saver)

    Plain LangGraph reads them too: `SqliteSaver.from_conn_string("tertulia.db")`. A bit that was flipped since is told.

    Args:
        store: The file, which is made if it is missing, or `:memory:`.
        allowed_msgpack_modules: The types of the graph's state that are made when a checkpoint is read, besides plain
            data and messages: classes, or pairs of module and name. `None`: every enum, dataclass, named tuple and
            pydantic model in a module that the program has imported, with a warning for each.

    Raises:
        StorageError: It can't be opened, or is no store; also from any later access that fails.
        UsageError: The store is on a server; or anything else than such a list is given, such as LangGraph's `True`.
    """
    if str(store).startswith(("postgresql://", "postgres://")):
        raise UsageError(
            f"store={str(store)!r:.60}: checkpointer takes a file; for a server, take LangGraph's PostgresSaver"
        )
    allowed = None if allowed_msgpack_modules is None else _types(allowed_msgpack_modules)
    with closing(open_connection(str(store), create=True, isolation_level="IMMEDIATE", one_thread=False)) as connection:
        yield GraphCheckpoints(connection, str(store), allowed)


def _types(given: object) -> list[tuple[str, ...] | type]:
    listed = [*given] if isinstance(given, Iterable) and not isinstance(given, str) else None
    for each in [None] if listed is None else listed:
        is_pair = isinstance(each, tuple) and len(each) == 2 and all(isinstance(part, str) for part in each)
        if not is_pair and not isinstance(each, type):
            raise UsageError(
                f"allowed_msgpack_modules={given!r:.80}: a list of classes, or of pairs of module and name, is "
                "expected, such as [Mood] or [('my.module', 'Mood')]"
            )
    return listed or []
