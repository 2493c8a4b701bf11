"""Disturb it anywhere: what `make soak` and `make nightly` do, a few times; and that they see what they look for."""

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.commands import all_commands
from support.meeting_case import a_quay, held
from support.merged import copied
from support.store_checks import differences, faults
from support.store_content import content
from support.store_content import differences as differing_rows
from support.write_recorder import Event
from support.zygote import READING, REHEARSED, Zygote

from benchmarks.campaigns.damage import damaged_stores
from benchmarks.campaigns.disturbing import Disturbance, Way
from benchmarks.campaigns.leavings import Left
from benchmarks.campaigns.matrix import Cell, disturb_kind
from benchmarks.campaigns.power_loss import files_after_cut, power_cuts
from benchmarks.campaigns.questions import IMPORTS, NOT_ASKED
from benchmarks.campaigns.subjects import AS_ANOTHER, READS, subjects
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

RUN = "k3f9"


#: The cell that each kind is tried in here, by its last subject; `make nightly` tries all cells of all.
_TRIED = {
    (_KILLED := Cell(Disturbance.KILL, Way.RESUME)): ("album chat", "town"),
    Cell(Disturbance.KILL, Way.AGAIN): ("annotations", "calibration", "gc"),
    Cell(Disturbance.INTERRUPT, Way.ELSEWHERE): ("experiment", "fork"),
    Cell(Disturbance.DISK, Way.AGAIN): ("merge",),
}
#: What takes too long here.
_SLOW = {"embedded model", "meeting of nine", "remote model", "report", "setpoint", "tune"}
_SLOW |= {"sweep by a server", "sweep with workers"}
#: What other tests kill: of runs here and in tests/graphs, of stores in tests/storage, of experiments in tests/lab.
_ELSEWHERE = {"dialogue", "extension", "meeting of five", "runs rm", "sweep"}


@pytest.fixture(scope="module")
def forking() -> Iterator[Zygote]:
    """A process that has imported what all of these commands need; in `make nightly`, each kind has its own."""
    with Zygote(*REHEARSED, *READING, *IMPORTS) as zygote:
        yield zygote


@pytest.fixture
def zygote(forking: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matrix", "damage", "power_loss"):
        monkeypatch.setattr(f"benchmarks.campaigns.{module}.Zygote", lambda *_: nullcontext(forking))


def test_every_command_stands_in_the_matrix() -> None:
    covered = {subject.command for kinds in subjects().values() for subject in kinds}
    assert covered | READS | set(AS_ANOTHER) == set(all_commands())
    assert not covered & READS
    assert set(subjects()) == _SLOW.union(_ELSEWHERE, *_TRIED.values())
    assert set(AS_ANOTHER.values()) <= covered


def test_what_processes_are_to_import_is_there() -> None:
    """The process that forks them imports it first."""
    named = {module for kinds in subjects().values() for subject in kinds for module in subject.imports}
    ours = {module for module in named if module.startswith(("benchmarks.", "support.", "tertulia."))}
    assert not {module for module in ours if find_spec(module) is None}


@pytest.mark.usefixtures("zygote")
@pytest.mark.parametrize(("cell", "kind"), [(cell, kind) for cell in _TRIED for kind in _TRIED[cell]], ids=str)
def test_what_is_disturbed_goes_on_to_the_same(
    cell: Cell, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subjects()[kind][-1]
    small = replace(subject, before=subject.before[:1], given=subject.given[:1])
    monkeypatch.setattr("benchmarks.campaigns.matrix.subjects", lambda *_: {kind: (small,)})
    left: list[Left] = []
    tally = disturb_kind(kind, 1, seed=1, folder=tmp_path / "kept", only=cell.__eq__, found=left.append)
    assert tally.problems == []
    assert tally.tried == tally.passed == len(left) == 1


@pytest.mark.usefixtures("zygote")
def test_power_cuts(tmp_path: Path) -> None:
    tally = power_cuts(2, seed=1, folder=tmp_path)
    assert (tally.tried, tally.passed, tally.problems) == (2, 2, [])


def test_what_a_power_cut_leaves() -> None:
    events = [Event("create", "a"), Event("write", "a", 0, b"x" * 512), Event("sync", "a")]
    events += [Event("write", "a", 512, b"y" * 1024)]
    drawn = random.Random(1)
    assert files_after_cut(events, 2, drawn, "lost") == {}
    assert files_after_cut(events, 4, drawn, "lost") == {"a": b"x" * 512}
    assert files_after_cut(events, 4, drawn, "kept") == {"a": b"x" * 512 + b"y" * 1024}
    torn = {files_after_cut(events, 4, drawn, "sectors")["a"] for _ in range(50)}
    assert torn == {b"x" * 512 + rest for rest in (b"", b"y" * 512, b"y" * 1024, bytes(512) + b"y" * 512)}


@pytest.mark.usefixtures("zygote")
def test_damaged_stores(tmp_path: Path) -> None:
    tally = damaged_stores(5, "bits flipped", seed=1, folder=tmp_path / "stores", asked=6)
    assert (tally.tried, tally.passed, tally.problems) == (5, 5, [])
    asked = [question for question, _ in json.loads((tmp_path / "stores" / "answers.json").read_text())]
    commands = {" ".join(question[: 2 if question[0] == "lab" else 1]) for question in asked}
    assert commands >= READS - NOT_ASKED | {"runs", "gc", "inventory", "behaviour", "merged", "document"}


# --- it would see it ------------------------------------------------------------------------------------------------


def the_same_call_again(store: SqlStore) -> None:
    store.save_calls(RUN, store.calls(RUN)[7:8])


@pytest.fixture(scope="module")
def meetings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two stores with the same meeting, held in each."""
    folder = tmp_path_factory.mktemp("meetings")
    paths = folder / "first.db", folder / "second.db"
    for path in paths:
        with SqlStore.open(path, create=True) as store:
            asyncio.run(held(a_quay(), store=store))
    return paths


@pytest.fixture
def pair(meetings: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Two stores with the same meeting, and the second may be changed."""
    return meetings[0], copied(meetings[1], tmp_path / "second.db")


def test_in_what_is_the_same_nothing_differs_and_a_call_that_was_made_twice_is_counted(pair: tuple[Path, Path]) -> None:
    assert differing_rows(*map(content, pair)) == []
    with SqlStore.open(pair[0]) as first, SqlStore.open(pair[1]) as second:
        assert differences((first, RUN), (second, RUN)) == []
        assert faults(second) == []
        the_same_call_again(second)
        assert faults(second) == ["1 calls were journalled twice"]


LOST = (
    ("DELETE FROM calls WHERE id = 7", "calls: "),
    ("UPDATE steps SET record = json_set(record, '$.emotion_strength', 0.5) WHERE node = 'assess'", "steps: "),
    ("UPDATE contents SET text = text || '!' WHERE id = 3", "contents: "),
    ("DELETE FROM units WHERE id = 5", "prompts: "),
    ("UPDATE calls SET id = -id", "calls: "),
    ("UPDATE runs SET label = 'x'", "runs: 1, label"),
    ("CREATE TABLE more (a)", "the schema: "),
    ("PRAGMA user_version = 3", "the version: "),
)


@pytest.mark.parametrize(("change", "named"), LOST)
def test_what_sql_finds_is_compared(pair: tuple[Path, Path], change: str, named: str) -> None:
    with closing(sqlite3.connect(pair[1])) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(change)
        connection.commit()
    found = differing_rows(*map(content, pair))
    assert any(line.startswith(named) for line in found), found


@pytest.mark.usefixtures("zygote")
def test_a_disturbance_that_loses_a_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_and_lose(store: Path) -> Left:
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("DELETE FROM passages WHERE id = 1")
        return Left("lost", 0)

    monkeypatch.setattr("benchmarks.campaigns.disturbing.look_at", look_and_lose)
    tally = disturb_kind("dialogue", 1, seed=1, folder=tmp_path / "kept", only=_KILLED.__eq__)
    assert tally.passed < tally.tried
    assert any("passages" in problem for problem in tally.problems)
    assert list((tmp_path / "kept").iterdir()), "nothing is kept to look at"
