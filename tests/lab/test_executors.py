"""Trials in worker processes: the same conversations, whoever is killed and when; and what can't be run."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.experiment_case import Spoken, a_grid, conversations, drive_here
from support.forked import Forked

from tertulia.lab.executors.dispatch import Dispatcher
from tertulia.lab.executors.local import LocalExecutor
from tertulia.lab.executors.messages import Assignment, Died, Driven, Message, Ready, Setup, Unable
from tertulia.lab.executors.processes import ProcessCrew
from tertulia.lab.experiments.reached import CohortTask, Progress, progress_of
from tertulia.lab.experiments.running import run_experiment
from tertulia.lab.experiments.shards import ShardFolder, experiment_lock
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit, Event, Noted, RunEnded, TurnFinished, ignore
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.errors import ModelError, StorageError, UsageError
from tertulia.storage.store import SqlStore


class OneWorker:
    """An executor with a single worker process, which takes one cohort after the other."""

    def __init__(self, store: SqlStore, additions: Additions = NOTHING_ADDED) -> None:
        self.store, self.additions = store, additions

    def folder(self, experiment: str) -> ShardFolder:
        return ShardFolder.of(self.store, experiment, Path())

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        dispatcher = Dispatcher(self.store, self.folder("grid"), ModelAccess(), self.additions, emit)
        dispatcher.drive(tasks, ProcessCrew(), 1)


def run(store: SqlStore, emit: Emit = ignore, extensions: Sequence[str] = (), **changes: Any) -> Progress:
    executor = OneWorker(store, Additions(extensions=extensions))
    return run_experiment(store, a_grid(extensions, **changes), executor, emit)


def run_in_two(store: SqlStore, emit: Emit) -> Progress:
    return run_experiment(store, a_grid(), LocalExecutor(store, ModelAccess(), workers=2), emit)


def killing_node(folder: Path, once: bool) -> str:
    """Return the file of a node that ends nothing, and kills its process: at once, or once in the middle."""
    file, marker = folder / "killing.py", folder / "killed"
    file.write_text(
        f"""import os, pathlib, signal
from tertulia.nodes.machinery.node import Node

asked = []


async def kill(state, runtime):
    asked.append(1)
    marker = pathlib.Path({str(marker)!r})
    if not ({once} and (marker.exists() or len(asked) < 4)):
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {{"ended": False}}


NODES = (Node("killing", "decide_ending", "kills", kill, writes=("ended",)),)
""",
        encoding="utf-8",
    )
    return str(file)


def children() -> list[int]:
    """The processes that this one has started and that live."""
    found = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "process_worker" in line]


def test_processes_hold_the_same_conversations(store: SqlStore, expected: Spoken) -> None:
    events: list[Event] = []
    assert run_in_two(store, events.append).missing == 0
    assert conversations(store) == expected
    assert sum(isinstance(event, RunEnded) for event in events) == 4
    assert not list(Path(store.path).parent.glob("*.shards"))
    assert not children()
    assert {run.run for run in store.runs()} == {event.run for event in events if isinstance(event, RunEnded)}


@pytest.mark.full
def test_a_worker_that_is_killed_costs_nothing(store: SqlStore, tmp_path: Path) -> None:
    notes: list[Event] = []
    deadly = killing_node(tmp_path, once=True)
    settings = {"Full": {"lambda": 0.0}, "Half": {"lambda": 0.5, "nodes.decide_ending": "killing"}}
    changes = {"settings": settings, "cases": ("tidewell:0",), "trials": 2, "cohort_size": 2}
    assert run(store, notes.append, [deadly], **changes).missing == 0
    told = [note.text for note in notes if isinstance(note, Noted)]
    assert [("SIGKILL" in text, "goes on with another one" in text) for text in told] == [(True, True)]
    with SqlStore.open(tmp_path / "here.db", create=True) as here:  # it kills nobody any more
        drive_here(here, a_grid([deadly], **changes), additions=Additions(extensions=[deadly]))
        assert conversations(store) == conversations(here)


@pytest.mark.full
def test_a_cohort_that_kills_its_workers_fails_and_the_others_go_on(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.lab.executors.dispatch.MOST_DEATHS", 2)
    ends: list[Event] = []
    settings = {"Deadly": {"nodes.decide_ending": "killing"}, "Full": {"lambda": 0.0}}
    changes = {"settings": settings, "cohort_size": 2, "cases": ("tidewell:0",), "trials": 2}
    after = run(store, ends.append, [killing_node(tmp_path, once=False)], **changes)
    assert {(record.trial.setting, record.status) for record in store.runs() if record.trial} == {
        ("Full", "finished"),
        ("Deadly", "failed"),
    }
    assert after.missing == 2
    assert all("2 workers died" in str(record.error) for record in after.with_status("failed"))
    assert sorted(end.status for end in ends if isinstance(end, RunEnded)) == ["failed"] * 2 + ["finished"] * 2


@pytest.mark.parametrize("chosen", [None, "chosen"])
def test_shards_lie_at_one_place_for_a_link_to_the_store(tmp_path: Path, chosen: str | None) -> None:
    Path(tmp_path / "link.db").symlink_to("store.db")
    Path(tmp_path / "folder").symlink_to(tmp_path)
    with SqlStore.open(tmp_path / "store.db", create=True) as store:
        folder = ShardFolder.of(store, "grid", tmp_path, chosen)
        for name in ("link.db", "folder/store.db"):
            with SqlStore.open(tmp_path / name) as linked:
                assert ShardFolder.of(linked, "grid", tmp_path, chosen).path.resolve() == folder.path.resolve()


def test_shards_have_a_place_for_a_store_in_a_folder_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    (university := tmp_path / "Universit\udce4t").mkdir()
    with SqlStore.open(university / "store.db", create=True) as store:
        chosen = str(tmp_path / "chosen")
        assert ShardFolder.of(store, "grid", tmp_path, chosen) == ShardFolder.of(store, "grid", tmp_path, chosen)


@pytest.mark.full
def test_only_one_command_runs_an_experiment(store: SqlStore) -> None:
    with experiment_lock(store, "grid"), pytest.raises(StorageError, match="experiment 'grid' is being driven"):
        run(store)


@pytest.mark.full
def test_a_damaged_shard_is_set_aside_and_the_rest_goes_on(store: SqlStore, expected: Spoken, tmp_path: Path) -> None:
    folder = ShardFolder.of(store, "grid", tmp_path)
    folder.make()
    (folder.path / "abcdef.db").write_bytes(b"no database" * 100)
    events: list[Event] = []
    assert drive_here(store, a_grid(), events.append).missing == 0
    (note,) = (event for event in events if isinstance(event, Noted))
    assert note.run == "abcdef"
    assert "abcdef.db.set-aside" in note.text
    assert (folder.path / "abcdef.db.set-aside").exists()
    assert conversations(store) == expected


def interrupted_cohort(store: SqlStore) -> list[str]:
    """Interrupt an experiment as a turn is finished; return the runs that have one, in their order."""

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnFinished):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive_here(store, a_grid(), interrupt)
    return [record.run for record in reversed(store.runs()) if record.turns and record.status == "interrupted"]


@pytest.mark.full
def test_a_cohort_whose_shard_was_refused_is_not_driven_again(store: SqlStore, expected: Spoken) -> None:
    begun = interrupted_cohort(store)
    folder = ShardFolder.of(store, "grid", Path())
    folder.make()
    with closing(sqlite3.connect(folder.path / f"{begun[0]}.db")) as shard:
        store.file.database.conn.backup(shard)  # type: ignore[attr-defined]
    with SqlStore.open(folder.path / f"{begun[0]}.db") as shard_store:
        for run_of_shard in begun:
            record = shard_store.turn_record(run_of_shard, 1)
            shard_store.file.write("DELETE FROM turns WHERE run = ? AND turn = 1", run_of_shard)
            said = record.turn.model_copy(update={"text": "Otherwise."})
            shard_store.save_turn(run_of_shard, record.model_copy(update={"turn": said}))
    for _ in range(2):
        events: list[Event] = []
        after = run(store, events.append)
        notes = [event.text for event in events if isinstance(event, Noted)]
        assert any(f"{begun[0]}.db.refused; --workers 1" in note for note in notes)
        assert after.missing == 3
    assert drive_here(store, a_grid()).missing == 0
    assert conversations(store) == expected


class Talkers:
    """Workers as a script: the first ones can't open a model, and end, as processes do; others have nothing to do."""

    def __init__(self, unable: int) -> None:
        self.unable, self.hired = unable, 0
        self.said: list[tuple[int, Message]] = []

    def hire(self, setup: Setup) -> int:
        self.hired += 1
        is_able = self.hired > self.unable
        here: list[Message] = [Ready()] if is_able else [Unable(ModelError("its memory is too small")), Died("exit 0")]
        self.said += [(self.hired, message) for message in here]
        return self.hired

    def give(self, worker: int, assignment: Assignment) -> None:
        self.said.append((worker, Driven()))

    def messages(self) -> Iterator[tuple[int, Message]]:
        yield self.said.pop(0)

    def dismiss(self) -> None:
        pass


@pytest.mark.full
@pytest.mark.parametrize("unable", [1, 2])
def test_who_can_not_open_a_model_is_not_hired_again(store: SqlStore, tmp_path: Path, unable: int) -> None:
    notes: list[str] = []
    crew = Talkers(unable)
    folder = ShardFolder.of(store, "grid", tmp_path)

    def note(event: Event) -> None:
        notes.extend([event.text] if isinstance(event, Noted) else [])

    dispatcher = Dispatcher(store, folder, ModelAccess(), Additions(), note)
    tasks = progress_of(store, a_grid()).tasks()
    if unable == 1:
        dispatcher.drive(tasks, crew, 2)
        assert notes == ["a worker can't take part: its memory is too small"]
    else:
        with pytest.raises(ModelError, match="its memory is too small"):
            dispatcher.drive(tasks, crew, 2)
        assert not notes
    assert crew.hired == 2


@pytest.mark.full
def test_a_setting_that_can_not_be_run_stops_everything(store: SqlStore) -> None:
    with pytest.raises(UsageError, match="setting 'Half'"):
        run(store, settings={"Full": {"lambda": 0.0}, "Half": {"layout": "chat_turns", "block_order": "cempb"}})
    assert store.runs() == []
    assert not children()


# --- the command ------------------------------------------------------------------------------------------------------


def test_places_that_are_none(cli: Cli) -> None:
    command = ("sweep", "tidewell", "--rehearse", "--trials", "1")
    cli(*command, "--on", "mars").complains(2, "--on mars", "ray:ADDRESS")
    cli(*command, "--shards", "s3://bucket/x").complains(2, "s3://bucket/x", "need a folder")


@pytest.mark.full
def test_a_command_that_is_stopped_is_gone_on_with(cli: Cli, tmp_path: Path) -> None:
    """Killed, asked to end, and then left alone, one after the other."""
    out, err = tmp_path / "out.txt", tmp_path / "err.txt"
    command = ["sweep", "tidewell", "--lambda", "0,0.7", "--trials", "4", "--rounds", "3", "--rehearse"]
    command += ["--name", "grid", "--side-by-side", "2", "--json", "--store", str(tmp_path / "store.db")]
    out.touch()
    for number in (signal.SIGKILL, signal.SIGTERM):
        left = set(tmp_path.glob("store.db.shards/*/*.db"))
        sweep = Forked([*command, "--workers", "2"], err, stdout=out)
        while sweep.poll() is None and not {*tmp_path.glob("store.db.shards/*/*.db")} - left:
            time.sleep(0.01)
        os.kill(sweep.pid, number)
        code = sweep.wait()
        if number != signal.SIGKILL:
            assert code == 130, err.read_text()
            assert json.loads(out.read_text())["status"] == "interrupted"
            assert "to go on: tertulia sweep" in err.read_text()
            assert not list(tmp_path.glob("*.shards"))
    assert cli(*command, "--workers", "1").json["runs"] == 8
    with SqlStore.open(tmp_path / "store.db") as opened:
        assert [record.status for record in opened.runs()] == ["finished"] * 8
    assert not list(tmp_path.glob("*.shards"))
