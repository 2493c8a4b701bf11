"""Runs in the store: labels, choosing among them, and removing one with all that belongs to it alone."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli
from support.group_stored import write_meeting
from support.postgres_server import NewStore
from support.stored import a_case, a_run, write_turn, write_turns

from tertulia.state.errors import NotFoundError, StorageError, UsageError
from tertulia.state.store import Dependents
from tertulia.storage.parts.search import search
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore

# --- labels and choice ------------------------------------------------------------------------------------------------


def test_a_label_is_stored_changed_and_taken_away(store: SqlStore) -> None:
    store.create_run(a_run(label="pilot"), a_case())
    assert store.run("k3f9").label == "pilot"
    for label in ("the second try, half a \ud83d", "", None):
        store.set_label("k3f9", label)
        assert store.run("k3f9").label == label
    with pytest.raises(NotFoundError, match="no run 'none'"):
        store.set_label("none", "x")


def test_runs_are_chosen_by_what_is_given(store: SqlStore) -> None:
    for number in range(12):
        changes = {"scenario": ("cafe", "lake")[number % 2], "status": ("failed", "finished", "running")[number % 3]}
        store.create_run(a_run(f"run{number:02}", label="pilot" if number < 7 else None, **changes), a_case())
    everything = store.runs()
    assert [run.run for run in everything] == [f"run{number:02}" for number in reversed(range(12))]
    for scenario in (None, "cafe", "nowhere"):
        for status in (None, "failed"):
            for label in (None, "pilot", "Pilot"):
                expected = [
                    run
                    for run in everything
                    if scenario in (None, run.scenario) and status in (None, run.status) and label in (None, run.label)
                ]
                assert store.runs(scenario, status, label) == expected
                assert store.runs(scenario, status, label, limit=3) == expected[:3]
    assert store.runs(limit=0) == []


# --- removing ---------------------------------------------------------------------------------------------------------


def rows(store: SqlStore) -> dict[str, int]:
    return {name: store.file.rows(f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in TABLES}


def texts(store: SqlStore) -> set[str]:
    return {row["text"] for row in store.file.rows("SELECT text FROM contents")}


def test_what_remains_is_what_would_be_there_without_the_run(new_store: NewStore, store: SqlStore) -> None:
    with new_store() as without:
        for opened in (store, without):
            opened.create_run(a_run("other", scenario="lake"), a_case())
            write_turns(opened, "other", 1, 3)
        store.create_run(a_run(), a_case())
        write_turns(store, "k3f9", 1, 5)
        write_meeting(store)
        before = store.turn_record("other", 2), store.candidates("other", 2), store.start("other")
        assert store.remove_run("m33t") == ("m33t",)
        assert store.remove_run("k3f9") == ("k3f9",)
        assert rows(store) == rows(without)
        assert texts(store) == texts(without)
        assert before == (store.turn_record("other", 2), store.candidates("other", 2), store.start("other"))
        assert store.prompt(before[0].prompt or "").units
        assert search(store.file, "line") == search(without.file, "line")
    assert store.remove_run("other") == ("other",)
    assert set(rows(store).values()) == {0}
    write_meeting(store)
    assert store.run("m33t").turns


def test_forks_keep_a_run_or_go_with_it(store: SqlStore) -> None:
    store.create_run(a_run("a"), a_case())
    write_turns(store, "a", 1, 4)
    for run, parent in (("b", ("a", 3)), ("c", ("b", 4)), ("d", ("a", 2))):
        store.create_run(a_run(run, parent=parent), a_case())
        write_turn(store, run, parent[1])
    assert store.dependents_of("a") == Dependents(forks=("b", "c", "d"))
    assert store.dependents_of("c") == Dependents()
    with pytest.raises(UsageError, match=r"run a has forks .*\(b, c, d\); remove them first, or together with it"):
        store.remove_run("a")
    assert store.remove_run("c") == ("c",)
    assert len(store.turns("b")) == 3
    assert store.remove_run("a", with_forks=True) == ("a", "b", "d")
    assert store.runs() == []
    with pytest.raises(NotFoundError, match="no run 'a'"):
        store.remove_run("a")


def test_a_conversation_of_a_simulation_stays(cli: Cli) -> None:
    simulation = cli("simulate", "tidewell", "--rehearse", "--days", "1", "--encounters-per-day", "1", "--json").json
    run = f"{simulation['simulation']}-1-1"
    with SqlStore.open("tertulia.db") as opened:
        assert opened.dependents_of(run).simulation == simulation["simulation"]
        for with_forks in (False, True):
            with pytest.raises(UsageError, match=f"conversation of simulation {simulation['simulation']}"):
                opened.remove_run(run, with_forks)
        assert opened.turns(run)


def test_nobody_removes_what_somebody_drives(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with SqlStore.open(path, create=True) as opened:
        for run in ("k3f9", "other"):
            opened.create_run(a_run(run), a_case())
            write_turns(opened, run, 1, 2)
        with opened.drive_lock("k3f9"):
            with pytest.raises(StorageError, match="k3f9 is being driven by another thread"):
                opened.remove_run("k3f9")
            assert len(opened.turns("k3f9")) == 2
            kept = texts(opened)
            assert opened.remove_run("other") == ("other",)
            # Who is driven may be about to point to a text of the run that went.
            assert texts(opened) == kept
        assert opened.remove_run("k3f9") == ("k3f9",)
        assert [file.name for file in tmp_path.glob("*.lock")] == []


REMOVER = """
import os, signal, sys
from tertulia.storage.parts import runs
after = int(sys.argv[2])
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(runs, ("pointed_from", "delete_runs", "delete_unused")[after], die)
from tertulia.storage.store import SqlStore
SqlStore.open(sys.argv[1]).remove_run("k3f9")
"""


@pytest.mark.parametrize("after", [1, 2])
def test_killed_while_it_is_removed_a_run_is_whole(path: Path, after: int) -> None:
    with SqlStore.open(path, create=True) as opened:
        opened.create_run(a_run(), a_case())
        write_turns(opened, "k3f9", 1, 3)
        before = rows(opened)
    assert subprocess.run([sys.executable, "-c", REMOVER, str(path), str(after)], check=False).returncode < 0
    with SqlStore.open(path) as opened:
        assert rows(opened) == before
        assert opened.remove_run("k3f9") == ("k3f9",)


def test_settings_of_another_version_are_told_in_one_line(path: Path) -> None:
    with SqlStore.open(path, create=True) as opened:
        opened.create_run(a_run(parameters={"removal_factor": 0.5, "yield_s": 5.0}), a_case())
        with pytest.raises(StorageError, match=r"this version of Tertulia does not have \(yield_s\): another version"):
            opened.run("k3f9")


def test_checkpoints_go_with_their_run(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", "team_building", "--rehearse", "--rounds", "2", "--json").json["run"]
    with SqlStore.open(tmp_path / "tertulia.db") as opened:
        assert opened.checkpoint_sizes()[run]
        opened.remove_run(run)
        assert opened.file.rows("SELECT count(*) AS n FROM checkpoints") == [{"n": 0}]
        assert set(rows(opened).values()) == {0}


# --- a store that is not where it is looked for -----------------------------------------------------------------------


def test_a_folder_and_a_missing_folder_are_named(cli: Cli, tmp_path: Path) -> None:
    for create in (True, False):
        with pytest.raises(StorageError, match=r"can't be opened: there is no folder .*nowhere; create it"):
            SqlStore.open(tmp_path / "nowhere" / "tertulia.db", create=create)
    with pytest.raises(StorageError, match="can't be opened"):
        SqlStore.open(tmp_path, create=True)
    cli("show", "@last", "--store", "nowhere/tertulia.db").complains(
        1, "nowhere/tertulia.db", "there is no folder nowhere"
    )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("DROP INDEX passages_by_start", "passages"),
        ("DROP VIEW each_turn", "each_turn"),
        ("DROP TRIGGER passages_ai", "passages_ai"),
        ("DROP VIEW each_run; ALTER TABLE runs DROP COLUMN label", "runs"),
        ("DROP VIEW each_turn; DROP TABLE candidates", "candidates"),
        ("DROP VIEW each_turn; ALTER TABLE turns RENAME COLUMN speaker TO orator", "turns"),
    ],
)
def test_a_changed_structure_is_told(path: Path, change: str, name: str) -> None:
    SqlStore.open(path, create=True).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in change.split("; "):
            connection.execute(statement)
    with pytest.raises(StorageError, match=f"damaged or was altered .*{name} is not as it was made"):
        SqlStore.open(path)
