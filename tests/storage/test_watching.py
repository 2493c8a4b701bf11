"""How all runs stand, looked at again and again, and which of them are driven."""

import os
from pathlib import Path

from support.stored import a_case, a_run, write_turns

from tertulia.storage.sqlite.locks import Drivers, drive_lock
from tertulia.storage.store import SqlStore
from tertulia.storage.watching import RunProgress, Watch


def test_a_look_is_the_same_until_something_is_written(path: Path) -> None:
    with SqlStore.open(path, create=True) as writing, SqlStore.open(path) as watched:
        writing.create_run(a_run(status="finished"), a_case())
        write_turns(writing, "k3f9", 1, 2)
        watch = Watch(watched)
        before = watch.look()
        assert before.runs == {"k3f9": RunProgress("finished", 2)}
        assert watch.look() is before
        writing.set_label("k3f9", "a label")
        labelled = watch.look()
        assert labelled.runs == before.runs
        assert labelled.digest != before.digest
        writing.set_status("k3f9", "running")
        assert watch.look().runs["k3f9"] == RunProgress("running", 2, is_driven=False)
        with drive_lock(path, "k3f9"):
            driven = watch.look()
            assert driven.runs["k3f9"].is_driven
        assert watch.look().digest != driven.digest
        writing.create_run(a_run("f0rk", parent=("k3f9", 2)), a_case())
        write_turns(writing, "f0rk", 2, 4)
        turns = {name: progress.turns for name, progress in watch.look().runs.items()}
        assert list(turns.items()) == [("f0rk", 4), ("k3f9", 2)], "a fork has those that it shares"


def test_a_lock_that_is_being_taken_or_cannot_be_seen_counts_as_held(tmp_path: Path) -> None:
    drivers, lock = Drivers(tmp_path / "t.db"), tmp_path / "t.db.k3f9.lock"
    lock.touch()
    assert drivers.is_driven("k3f9")
    lock.unlink()
    os.symlink(tmp_path / "elsewhere", lock)
    assert drivers.is_driven("k3f9")
