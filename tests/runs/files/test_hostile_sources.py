"""Sources that nobody should have to trust: each is one line that says what to do, and the rest is merged."""

import hashlib
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.merged import copied, execute, forged
from support.stored import a_case, a_run, write_turns

from tertulia.runs.files.merging import MergedSource, merge_stores
from tertulia.runs.files.shard_files import put_shard
from tertulia.storage.sqlite import copy_folder
from tertulia.storage.store import SqlStore


def write_store(path: Path, *runs: str) -> Path:
    with SqlStore.open(path, create=True) as store:
        for run in runs:
            store.create_run(a_run(run), a_case())
            write_turns(store, run, 1, 2)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("made")
    return write_store(folder / "good.db", "good"), write_store(folder / "bad.db", "bad2", "fine")


@pytest.fixture
def good(made: tuple[Path, Path], tmp_path: Path) -> Path:
    return copied(made[0], tmp_path / "good.db")


@pytest.fixture
def bad(made: tuple[Path, Path], tmp_path: Path) -> Path:
    """A store in a folder of its own, to be damaged."""
    (tmp_path / "sent").mkdir()
    return copied(made[1], tmp_path / "sent" / "bad.db")


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Return what lies in a folder: bytes and time of change of every file."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if path.is_file()
    }


def merged_with(good: Path, source: Path | str) -> MergedSource:
    """Merge a source and then a store that is whole; return what came of the first."""
    into = good.with_name("into.db")
    found, last = merge_stores([str(source), str(good)], into)
    assert last.is_whole
    assert last.merged.added == ("good",)
    for reason in filter(None, (found.error, *found.merged.refused.values())):
        assert "\n" not in reason
        assert "tertulia-merge" not in reason
        assert "Traceback" not in reason
    with SqlStore.open(into) as store:
        for run in store.runs():
            assert store.turns(run.run)
    return found


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return damage


def executed(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for sql in statements:
                connection.execute(sql)

    return damage


def of_first_run(table: str, **changes: Any) -> Callable[[Path], None]:
    """Change the rows of the first run, and renew their checksums."""

    def damage(path: Path) -> None:
        forged(path, table, "WHERE run = 'bad2'", **changes)

    return damage


def of_another_program(path: Path) -> None:
    path.unlink()
    executed("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)", "INSERT INTO notes (text) VALUES ('x')")(path)


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (rewritten(lambda data: data[: len(data) // 2]), "damaged"),
        (rewritten(lambda data: data[:700]), "damaged"),
        (rewritten(lambda data: bytes(len(data))), "not a Tertulia store"),
        (rewritten(lambda data: data[:8192] + bytes(len(data) - 8192)), "damaged"),
        (of_another_program, "a SQLite file of something else"),
        (executed("PRAGMA user_version = 99"), "newer"),
        (executed("UPDATE runs SET label = 'x' WHERE run = 'bad2'"), "checksum"),
        (executed("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"), "trigger"),
        (executed("CREATE VIEW evil AS SELECT 1"), "evil"),
        (of_first_run("runs", run="../../etc"), "run of runs holds"),
        (of_first_run("runs", run="a\x1b[2Jb"), "run of runs holds"),
        (of_first_run("runs", run=""), "run of runs holds"),
    ],
)
def test_a_store_that_does_not_read_is_one_line(
    good: Path, bad: Path, damage: Callable[[Path], None], cause: str
) -> None:
    damage(bad)
    before = state(bad.parent)
    found = merged_with(good, bad)
    told = [found.error] if found.error else [*found.merged.refused.values()]
    assert any(cause in each and str(bad) in each for each in told), told
    assert all(name.isprintable() and "/" not in name for name in found.merged.refused)
    assert state(bad.parent) == before


def test_a_value_that_is_huge_is_not_read(good: Path, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.storage.sqlite.opening.LARGEST_BYTES", 10**6)
    execute(bad, ("UPDATE contents SET text = CAST(zeroblob(1000001) AS TEXT) WHERE text = 'Line 2.'", ()))
    found = merged_with(good, bad)
    assert found.merged.added == ()
    assert "64 MB" in found.merged.refused["bad2"]


@pytest.mark.parametrize("fault", [PermissionError(13, "Permission denied"), OSError(28, "No space left on device")])
def test_a_file_that_can_not_be_copied_is_told(
    good: Path, bad: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError
) -> None:
    def refusing(source: Path, copy: Path) -> Path:
        if source == bad:
            raise fault
        return copy_folder.copied(source, copy)

    monkeypatch.setattr("tertulia.storage.sqlite.private_copy.copied", refusing)
    found = merged_with(good, bad)
    assert found.error is not None
    assert found.error.startswith(f"{bad} can't be read")


@pytest.mark.parametrize("way", ["./sent/../into.db", "link.db", "file://{folder}/into.db"])
def test_the_target_is_no_source(
    good: Path, bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    into = copied(bad, tmp_path / "into.db")
    Path("link.db").symlink_to(into)
    found, last = merge_stores([way.format(folder=tmp_path), str(good)], into)
    assert "is what is merged into" in str(found.error)
    assert last.is_whole


def test_a_folder_that_has_the_target_too_is_merged_without_it(bad: Path) -> None:
    into = bad.with_name("all.db")
    for _ in range(2):
        (found,) = merge_stores([str(bad.parent)], into)
        assert found.is_whole


def test_a_folder_without_a_shard_is_told(good: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    copied(good, tmp_path / "empty" / ".shard.db.part")
    copied(good, tmp_path / "empty" / "shard.db.part")
    assert "there is no store" in str(merged_with(good, tmp_path / "empty").error)


def test_a_store_whose_writer_was_killed_is_not_touched(good: Path, bad: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    with SqlStore.open(bad) as store:
        store.set_label("fine", "late")
        for path in bad.parent.iterdir():
            copied(path, killed / path.name)
    for path in killed.iterdir():
        os.utime(path, (0, 0))
    before = state(killed)
    assert before.keys() == {"bad.db", "bad.db-wal", "bad.db-shm"}
    found = merged_with(good, killed / "bad.db")
    assert found.merged.added == ("bad2", "fine")
    assert state(killed) == before
    with SqlStore.open(tmp_path / "into.db") as store:
        assert store.run("fine").label == "late"


# --- addresses ------------------------------------------------------------------------------------------------------


def test_without_fsspec_the_line_that_installs_it_is_told(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "fsspec"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert "pip install 'tertulia[shards]'" in str(merged_with(good, "s3://bucket/shards").error)
    with pytest.raises(Exception, match="tertulia"):
        put_shard(good, "s3://bucket/shards", "worker_3")
