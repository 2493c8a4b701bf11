"""The checkpointer of a store, for any database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tertulia.storage.addresses import ServerAddress
from tertulia.storage.sqlite.checkpoints import SynchronousSaver, open_checkpoints

if TYPE_CHECKING:
    from tertulia.storage.store import SqlStore


@asynccontextmanager
async def checkpoints_of(store: "SqlStore") -> AsyncIterator[SynchronousSaver]:
    """Open the checkpoints of a store; `StorageError` from this and any later access that fails."""
    if isinstance(store.path, ServerAddress):
        from tertulia.storage.postgres.checkpoints import ServerCheckpoints
        from tertulia.storage.postgres.database import ServerDatabase

        assert isinstance(store.file, ServerDatabase)  # only an existing store has runs to drive
        yield ServerCheckpoints(store.file)
    else:
        async with open_checkpoints(store.path) as checkpoints:
            yield checkpoints
