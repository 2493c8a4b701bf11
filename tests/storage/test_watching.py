"""How all runs stand, looked at again and again, and which of them are driven."""

import os
from pathlib import Path

import pytest

import tertulia
from tertulia.state.errors import StorageError
from tertulia.storage.sqlite.locks import Drivers, drive_lock
from tertulia.storage.store import SqlStore
from tertulia.storage.watching import RunProgress, Watch


def test_a_look_is_the_same_until_something_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    run = tertulia.run("tidewell", rehearse=True, rounds=2, store=path, progress=False)
    with SqlStore.open(path) as watched, SqlStore.open(path) as writing:
        watch = Watch(watched)
        before = watch.look()
        assert before.runs == {run.id: RunProgress("finished", 2)}
        assert watch.look() is before
        writing.set_label(run.id, "a label")
        labelled = watch.look()
        assert labelled.runs == before.runs
        assert labelled.digest != before.digest
        writing.set_status(run.id, "running")
        assert watch.look().runs[run.id] == RunProgress("running", 2, is_driven=False)
        with drive_lock(path, run.id):
            driven = watch.look()
            assert driven.runs[run.id].is_driven
        assert watch.look().digest != driven.digest


def test_a_fork_has_the_turns_that_it_shares(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    run = tertulia.run("tidewell", rehearse=True, rounds=3, store=path, progress=False)
    fork = run.fork(3, progress=False)
    with SqlStore.open(path) as store:
        looked = Watch(store).look().runs
        assert list(looked) == [fork.id, run.id]
        assert {name: progress.turns for name, progress in looked.items()} == {
            record.run: record.turns for record in store.runs()
        }


def test_a_lock_that_nobody_holds_is_tried_once_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, lock = tmp_path / "t.db", tmp_path / "t.db.k3f9.lock"
    drivers, tried = Drivers(store), []
    assert not drivers.is_driven("k3f9")
    lock.write_text("1")  # as a driver that was killed leaves it
    os.utime(lock, (0, 0))
    monkeypatch.setattr("tertulia.storage.sqlite.locks.fcntl.flock", lambda *_: tried.append(1))
    assert not any(drivers.is_driven("k3f9") for _ in range(3))
    assert tried == [1]
    monkeypatch.undo()
    with drive_lock(store, "k3f9"):
        assert all(drivers.is_driven("k3f9") for _ in range(3))
        with pytest.raises(StorageError, match="is being driven"), drive_lock(store, "k3f9"):
            pass
    assert not drivers.is_driven("k3f9")


def test_a_lock_that_is_being_taken_or_cannot_be_seen_counts_as_held(tmp_path: Path) -> None:
    drivers, lock = Drivers(tmp_path / "t.db"), tmp_path / "t.db.k3f9.lock"
    lock.touch()
    assert drivers.is_driven("k3f9")
    lock.unlink()
    os.symlink(tmp_path / "elsewhere", lock)
    assert drivers.is_driven("k3f9")
