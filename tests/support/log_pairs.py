"""Pairs of a store and a log, as kills, copies and backups leave them, each with what reading it may show."""

import hashlib
import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from support.stored import a_case, a_run, write_turns

from tertulia.storage.schema import TABLES
from tertulia.storage.sqlite.connection import copy_store_to
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.sqlite.log_frames import read_log
from tertulia.storage.store import SqlStore


@dataclass(frozen=True)
class Pair:
    """A store file and a log beside it.

    Attributes:
        contents: The digests of what reading may show.
        belongs: Whether the log is applied; `None` if either would do.
    """

    kind: str
    file: bytes
    log: bytes
    contents: frozenset[str]
    belongs: bool | None


@dataclass(frozen=True)
class Moment:
    """A store as its files were at a moment; `era` counts its logs."""

    file: bytes
    log: bytes
    content: str
    era: bytes


def digest(path: Path) -> str:
    """Return a digest of the rows of all tables of a store."""
    with closing(sqlite3.connect(path)) as connection:
        rows = [connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in TABLES]
    return hashlib.blake2b(repr(rows).encode(), digest_size=8).hexdigest()


def digest_of(file: bytes, log: bytes, folder: Path) -> str:
    """Return the digest of files, in a copy."""
    copy = put(file, log, folder / "digest.db")
    found = digest(copy)
    for left in folder.glob("digest.db*"):
        left.unlink()
    return found


def put(file: bytes, log: bytes, path: Path) -> Path:
    """Write a store and its log, without one if there are no bytes."""
    path.write_bytes(file)
    if log:
        Path(f"{path}-wal").write_bytes(log)
    return path


def connection_of(store: SqlStore) -> sqlite3.Connection:
    """Return the connection of a store in a file."""
    assert isinstance(store.file, StoreFile)
    return store.file.connection


class Life:
    """A store that is written, read, checkpointed, closed and compacted at random, with its files at each step."""

    def __init__(self, path: Path, drawn: random.Random) -> None:
        self._path, self._drawn, self.moments = path, drawn, list[Moment]()
        self.backups: list[tuple[bytes, str]] = []
        self.compacted: list[tuple[bytes, str]] = []
        self._runs = 0

    def live(self, steps: int) -> None:
        """Take steps."""
        while len(self.moments) < steps:
            with SqlStore.open(self._path, create=True) as store:
                connection_of(store).execute(f"PRAGMA wal_autocheckpoint = {self._drawn.choice((40, 100, 1000))}")
                for _ in range(self._drawn.randint(2, 5)):
                    self._step(store)
            self._note()
            if self._drawn.random() < 0.3:
                with SqlStore.open(self._path) as store:
                    store.file.compact()
                self.compacted.append((self._path.read_bytes(), digest(self._path)))

    def _step(self, store: SqlStore) -> None:
        self._runs += 1
        run = f"run{self._runs}"
        store.create_run(a_run(run, label=str(self._drawn.random())), a_case())
        for _ in range(self._drawn.randint(1, 4)):
            write_turns(store, run, first=self._turns(store, run) + 1, last=self._turns(store, run) + 1)
            self._note()
        if self._drawn.random() < 0.4:
            store.file.save_log()
            self._note()
        if self._drawn.random() < 0.4:
            copy = self._path.with_name("backup.db")
            copy_store_to(connection_of(store), copy)
            self.backups.append((copy.read_bytes(), digest(copy)))
            copy.unlink()
            with closing(sqlite3.connect(copy)) as target:
                connection_of(store).backup(target)
            self.backups.append((copy.read_bytes(), digest(copy)))
            copy.unlink()

    def _turns(self, store: SqlStore, run: str) -> int:
        return store.run(run).turns

    def _note(self) -> None:
        log = Path(f"{self._path}-wal")
        file, log_bytes = self._path.read_bytes(), log.read_bytes() if log.exists() else b""
        content = digest_of(file, log_bytes, self._path.parent)
        self.moments.append(Moment(file, log_bytes, content, log_bytes[16:24]))


def half_checkpointed(moment: Moment, drawn: random.Random, folder: Path) -> bytes:
    """Return the file of a moment as a process leaves it that is killed while it moves the log into the file."""
    log = folder / "half.db-wal"
    log.write_bytes(moment.log)
    frames = read_log(log)
    file, size = bytearray(moment.file), frames.page_size
    pages = sorted(frames.frames)
    for page in pages[: drawn.randint(0, len(pages))]:
        (content,) = frames.pages(frames.frames[page][-1:])
        file.extend(bytes(max(0, page * size - len(file))))
        file[(page - 1) * size : page * size] = content
    log.unlink()
    return bytes(file)


def pairs_of(folder: Path, seed: int, steps: int = 30) -> Iterator[Pair]:
    """Yield pairs of two stores that live for so many steps."""
    drawn = random.Random(seed)
    folder.mkdir()
    ours, theirs = Life(folder / "ours.db", drawn), Life(folder / "theirs.db", drawn)
    ours.live(steps)
    theirs.live(steps // 3)
    with_log = [moment for moment in ours.moments if moment.log]
    for moment in with_log:
        yield from _own(moment, with_log, drawn, folder)
        yield from _cut(moment, drawn, folder)
        alone = {digest_of(moment.file, b"", folder)} if is_whole(moment.file, b"", folder) else set[str]()
        for other in drawn.sample(with_log, min(3, len(with_log))):
            if other.era != moment.era and alone:
                earlier = with_log.index(moment) < with_log.index(other)
                kind = "earlier file, later log" if earlier else "later file, earlier log"
                # The file may be the one with which the later log began.
                shown = alone | {other.content} if earlier else alone
                yield Pair(kind, moment.file, other.log, frozenset(shown), None)
        for other in drawn.sample([m for m in theirs.moments if m.log], 1):
            if alone:
                yield Pair("log of another store", moment.file, other.log, frozenset(alone), False)
    for kind, kept in (("backup", ours.backups), ("compacted", ours.compacted)):
        for file, content in kept:
            for moment in drawn.sample(with_log, min(len(with_log), 1 if kind == "backup" else 4)):
                if moment.file != file:
                    yield Pair(kind, file, moment.log, frozenset({content}), False)
    for moment in drawn.sample(with_log, min(len(with_log), 3)):
        yield from _no_logs(moment, drawn, folder)


def is_whole(file: bytes, log: bytes, folder: Path) -> bool:
    """Return whether SQLite finds a file sound, with a log."""
    path = put(file, log, folder / "whole.db")
    try:
        with closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False
    finally:
        for left in folder.glob("whole.db*"):
            left.unlink()


def _own(moment: Moment, moments: list[Moment], drawn: random.Random, folder: Path) -> Iterator[Pair]:
    now = frozenset({moment.content})
    yield Pair("own", moment.file, moment.log, now, True)
    yield Pair("own, half moved", half_checkpointed(moment, drawn, folder), moment.log, now, True)
    torn = moment.log + drawn.randbytes(drawn.randint(1, 5000))
    yield Pair("own, torn end", moment.file, torn, now, True)
    earlier = [other for other in moments if other.era == moment.era and other.file != moment.file]
    if earlier and moments.index(earlier[0]) < moments.index(moment):
        yield Pair("own, file copied before a checkpoint", earlier[0].file, moment.log, now, True)


def _cut(moment: Moment, drawn: random.Random, folder: Path) -> Iterator[Pair]:
    """Yield a pair with the beginning of a log.

    It shows the file before the log with that; or the file alone, if more than that was moved into it.
    """
    cut = moment.log[: drawn.randint(0, len(moment.log))]
    parts = [log for log in (b"", cut) if is_whole(moment.file, log, folder)]
    if parts:
        yield Pair("cut", moment.file, cut, frozenset(digest_of(moment.file, log, folder) for log in parts), None)


def _no_logs(moment: Moment, drawn: random.Random, folder: Path) -> Iterator[Pair]:
    if not is_whole(moment.file, b"", folder):
        return
    alone = frozenset({digest_of(moment.file, b"", folder)})
    yield Pair("garbage", moment.file, drawn.randbytes(5000), alone, False)
    yield Pair("garbage behind a header", moment.file, moment.log[:32] + drawn.randbytes(9000), alone, None)
    yield Pair("zeros", moment.file, bytes(9000), alone, None)
    yield Pair("no more than a header", moment.file, moment.log[:32], alone, None)
    yield Pair("another page size", moment.file, _log_of_pages(8192, folder), alone, False)
    yield Pair("another page size, small", moment.file, _log_of_pages(512, folder), alone, False)


def _log_of_pages(size: int, folder: Path) -> bytes:
    path = folder / "pages.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        found = Path(f"{path}-wal").read_bytes()
    os.unlink(path)
    return found
