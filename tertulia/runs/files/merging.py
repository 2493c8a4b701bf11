"""Merge stores from files, folders and addresses into one store."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tertulia.runs.files.shard_files import fetch_shard, is_address, linked_shards, shards_at, shown
from tertulia.state.documents import Document
from tertulia.state.errors import TertuliaError, UsageError
from tertulia.storage.addresses import ServerAddress, StoreAddress, store_address
from tertulia.storage.merging.carrying import SourceError
from tertulia.storage.merging.stores import Agreed, Joined, Merged, merge
from tertulia.storage.sqlite.copy_folder import folder_of_copy
from tertulia.storage.sqlite.private_copy import copy_store
from tertulia.storage.store import SqlStore
from tertulia.views.reading.documents import fields_of


@dataclass(frozen=True)
class MergedSource:
    """The result for one source.

    Attributes:
        source: The source, as messages name it.
        merged: The merged parts of it; nothing if it could not be read.
        error: Why it could not be read; `None` if it could.
    """

    source: str
    merged: Merged = field(default_factory=Merged)
    error: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of it is in the target now."""
        return self.error is None and not self.merged.refused

    @property
    def document(self) -> Document:
        """The result as JSON."""
        merged = fields_of(self.merged, "added", "continued", "unchanged")
        return {"source": self.source, **merged, "refused": dict(self.merged.refused), "error": self.error}


def merge_stores(
    sources: Sequence[str],
    into: StoreAddress,
    joined: Joined | None = None,
    report: Callable[[MergedSource], None] = lambda source: None,
    agreed: Agreed | None = None,
) -> list[MergedSource]:
    """Merge stores into one, and return the result of each source in order; no source is changed.

    A source, or a part of it, that can't be merged is reported, and the rest goes on.

    Args:
        sources: Files, folders with `*.db`, addresses that fsspec knows, patterns of them; or Postgres databases.
        into: The target; made if it is missing.
        joined: Joins the definitions of an experiment that two stores have (`storage.merging.stores.merge`).
        report: Receives the result of each source as soon as it is known.
        agreed: Refuses the joined definition of an experiment of the target (`storage.merging.stores.merge`).

    Raises:
        StorageError: The target can't be read or written.
    """
    reports = []
    with SqlStore.open(into, create=False) as target:
        target.check_writable()
        for found in _found(sources, into):
            if not isinstance(found, MergedSource):
                found = _merge_source(found, target, into, joined, agreed)
            reports.append(found)
            report(found)
    return reports


def _found(sources: Sequence[str], into: StoreAddress) -> Iterator[str | MergedSource]:
    """Yield every store that the sources name, once, and an error for each source that names none."""
    seen: set[str] = set()
    for given in sources:
        source = given.removeprefix("file://")
        try:
            is_server = isinstance(store_address(source), ServerAddress)
            named, links = ([source], []) if is_server else (shards_at(source), linked_shards(source))
        except TertuliaError as error:
            yield MergedSource(shown(given), error=str(error))
            continue
        for link in links:
            yield MergedSource(link, error="it is a link, which is not followed; to merge what it leads to, name that")
        if len(named) > 1:  # a folder may have the target too, next time at the latest
            named = [found for found in named if not _is_same_file(found, into)]
        for found in named:
            key = found if is_address(found) else os.path.realpath(found)
            if key not in seen:
                yield found
            seen.add(key)


def _is_same_file(source: str, into: StoreAddress) -> bool:
    return isinstance(into, Path) and os.path.exists(into) and os.path.exists(source) and os.path.samefile(source, into)


def _merge_source(
    source: str, target: SqlStore, into: StoreAddress, joined: Joined | None, agreed: Agreed | None
) -> MergedSource:
    address = store_address(source)
    name = str(address) if isinstance(address, ServerAddress) else shown(source)
    with ExitStack() as opened:
        folder = opened.enter_context(folder_of_copy())
        try:
            store = opened.enter_context(_open_source(source, into, folder))
        except TertuliaError as error:
            return MergedSource(name, error=_named(str(error), folder, name))
        target.make_file()
        try:
            merged = merge(store, target, joined=joined, agreed=agreed)
        except SourceError as error:
            return MergedSource(name, error=_named(str(error), folder, name))
        refused = {what: _named(reason, folder, name) for what, reason in merged.refused.items()}
        return MergedSource(name, replace(merged, refused=refused))


def _open_source(source: str, into: StoreAddress, folder: Path) -> SqlStore:
    """Open a source: a server's database itself, a copy of a file.

    Raises:
        TertuliaError: It can't be read.
    """
    address = store_address(source)
    if isinstance(address, ServerAddress):
        if address == into:
            raise UsageError(f"{address} is what is merged into; name another source")
        return SqlStore.open(address)
    if _is_same_file(source, into):
        raise UsageError(f"{source} is what is merged into; name another source")
    copy_store(fetch_shard(source, folder) if is_address(source) else Path(source), folder / _COPY)
    return SqlStore.open(folder / _COPY)


#: The name of the copy of a source.
_COPY = "source.db"


def _named(message: str, folder: Path, name: str) -> str:
    for copy in (folder / _COPY, folder / "fetched.db"):
        message = message.replace(str(copy), name)
    return message
