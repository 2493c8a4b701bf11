"""A checkpointer for graphs of one's own, in a store file: beside the runs, and under the same checksums."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tertulia.storage.addresses import DEFAULT_STORE
from tertulia.storage.sqlite.checkpoints import GraphCheckpoints
from tertulia.storage.sqlite.opening import open_connection


@contextmanager
def checkpointer(store: Path | str = DEFAULT_STORE) -> Iterator[GraphCheckpoints]:
    """Open LangGraph's checkpoints in a store file, for a graph that is invoked synchronously or asynchronously.

    ::

        with tertulia.langgraph.checkpointer("tertulia.db") as saver:
            graph = builder.compile(checkpointer=saver)

    Plain LangGraph reads them too: `SqliteSaver.from_conn_string("tertulia.db")`. A bit that was flipped since is told.

    Args:
        store: The file, which is made if it is missing, or `:memory:`.

    Raises:
        StorageError: It can't be opened, or is no store; also from any later access that fails.
    """
    with closing(open_connection(str(store), create=True, isolation_level="IMMEDIATE", one_thread=False)) as connection:
        yield GraphCheckpoints(connection, str(store))
