"""`gc`: checkpoints of finished runs go, and nothing that anybody can see."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.storage.faults import UnavailableError
from tertulia.storage.sqlite.database import StoreFile

MEETING = ("run", "team_building", "--rehearse", "--rounds", "4", "--json")


@pytest.fixture
def meeting(cli: Cli) -> str:
    return str(cli(*MEETING).json["run"])


def visits(cli: Cli, run: str) -> list[dict[str, Any]]:
    executed: list[dict[str, Any]] = cli("show", run, "--node", "all", "--json").json["visits"]
    return executed


def test_gc_leaves_every_state(cli: Cli, tmp_path: Path, meeting: str) -> None:
    before = visits(cli, meeting)
    dry = cli("gc", "--json").json
    assert (dry["done"], [row["run"] for row in dry["runs"]]) == (False, [meeting])
    assert dry["runs"][0]["bytes"] > 1000
    assert "fork need no checkpoint" in cli("gc").out
    assert checkpoints(tmp_path) > 0
    assert cli("gc", "--yes", "--json").json["done"]
    assert checkpoints(tmp_path) == 0
    assert visits(cli, meeting) == before
    fork = cli("fork", meeting, "--at", "3", "--json").json["run"]
    assert cli("diff", meeting, fork, "--exit-code").code == 0
    assert "nothing to do" in cli("gc", meeting).out


def test_gc_spares_a_run_that_is_not_finished(cli: Cli, tmp_path: Path, meeting: str) -> None:
    from tertulia.storage.store import SqlStore

    with SqlStore.open(tmp_path / "tertulia.db") as store:
        store.set_status(meeting, "interrupted")
    assert f"{meeting} is interrupted" in cli("gc", "--yes").out
    assert checkpoints(tmp_path) > 0
    assert cli("gc", "--store", "none.db").code == 0


def test_gc_gives_back_the_space_that_an_interrupted_one_left(
    cli: Cli, tmp_path: Path, meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file: StoreFile) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(StoreFile, "compact", interrupted)
        assert cli("gc", "--yes").code == 130
    assert checkpoints(tmp_path) == 0
    assert unused_pages(tmp_path) > 0
    assert "would free" in cli("gc").out
    assert "freed" in cli("gc", "--yes").out
    assert unused_pages(tmp_path) == 0
    assert "nothing to do" in cli("gc", "--yes").out


def test_gc_says_that_the_space_is_not_free_on_a_full_disk(
    cli: Cli, tmp_path: Path, meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: StoreFile) -> int:
        raise UnavailableError("the disk is full; resume the run")

    monkeypatch.setattr(StoreFile, "compact", full)
    said = cli("gc", "--yes")
    said.complains(1, "the checkpoints are dropped, but tertulia.db is not smaller yet")
    assert "resume" not in said.err
    assert checkpoints(tmp_path) == 0


def checkpoints(folder: Path) -> int:
    with sqlite3.connect(folder / "tertulia.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM checkpoints").fetchone()
        return int(count)


def unused_pages(folder: Path) -> int:
    with sqlite3.connect(folder / "tertulia.db") as connection:
        (count,) = connection.execute("PRAGMA freelist_count").fetchone()
        return int(count)
