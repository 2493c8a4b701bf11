"""Disturb it anywhere: what `make soak` and `make nightly` do, a few times; and that they see what they look for."""

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import all_commands
from support.meeting_case import a_quay, held

from benchmarks.damage import damaged_stores
from benchmarks.disturbing import Disturbance, Way
from benchmarks.leavings import Left
from benchmarks.matrix import Cell, cells, disturb_kind, why_not
from benchmarks.power_loss import files_after_cut, power_cuts
from benchmarks.questions import NOT_ASKED
from benchmarks.store_checks import differences, faults
from benchmarks.store_content import content
from benchmarks.store_content import differences as differing_rows
from benchmarks.subjects import AS_ANOTHER, READS, subjects
from benchmarks.write_recorder import Event
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.records import Reply
from tertulia.storage.store import SqlStore

RUN = "k3f9"


#: What `make nightly` disturbs too, and takes too long here.
_SLOW = {
    "embedded model",
    "report",
    "setpoint",
    "tune",
    "sweep with workers",
    "sweep by a server",
    "remote model",
    "meeting of nine",
}


def test_every_command_stands_in_the_matrix() -> None:
    covered = {subject.command for kinds in subjects().values() for subject in kinds}
    assert covered | READS | set(AS_ANOTHER) == set(all_commands())
    assert not covered & READS
    assert set(AS_ANOTHER.values()) <= covered


def test_a_cell_that_makes_no_sense_says_why() -> None:
    for subject in (subject for kinds in subjects().values() for subject in kinds):
        assert cells(subject), subject.kind
        reasons = [why_not(subject, Cell(disturbance, way)) for disturbance in Disturbance for way in Way]
        assert len(cells(subject)) + len([reason for reason in reasons if reason]) == len(reasons)


@pytest.mark.parametrize("kind", sorted(set(subjects()) - _SLOW))
def test_what_is_disturbed_goes_on_to_the_same(kind: str, tmp_path: Path) -> None:
    chosen = {Cell(Disturbance.KILL, Way.RESUME), Cell(Disturbance.KILL, Way.AGAIN)}
    chosen |= {Cell(Disturbance.INTERRUPT, Way.ELSEWHERE), Cell(Disturbance.DISK, Way.AGAIN)}
    left: list[Left] = []
    tally = disturb_kind(kind, 2, seed=1, folder=tmp_path / "kept", only=chosen.__contains__, found=left.append)
    assert tally.problems == []
    assert tally.tried == tally.passed == len(left) >= 2


def test_power_cuts(tmp_path: Path) -> None:
    tally = power_cuts(5, seed=1, folder=tmp_path)
    assert (tally.tried, tally.passed, tally.problems) == (5, 5, [])


def test_what_a_power_cut_leaves() -> None:
    events = [Event("create", "a"), Event("write", "a", 0, b"x" * 512), Event("sync", "a")]
    events += [Event("write", "a", 512, b"y" * 1024)]
    drawn = random.Random(1)
    assert files_after_cut(events, 2, drawn, "lost") == {}
    assert files_after_cut(events, 4, drawn, "lost") == {"a": b"x" * 512}
    assert files_after_cut(events, 4, drawn, "kept") == {"a": b"x" * 512 + b"y" * 1024}
    torn = {files_after_cut(events, 4, drawn, "sectors")["a"] for _ in range(50)}
    assert torn == {b"x" * 512 + rest for rest in (b"", b"y" * 512, b"y" * 1024, bytes(512) + b"y" * 512)}


def test_damaged_stores(tmp_path: Path) -> None:
    tally = damaged_stores(3, "rows deleted", seed=1, folder=tmp_path / "stores")
    assert (tally.tried, tally.passed, tally.problems) == (3, 3, [])
    asked = [question for question, _ in json.loads((tmp_path / "stores" / "answers.json").read_text())]
    commands = {" ".join(question[: 2 if question[0] == "lab" else 1]) for question in asked}
    assert commands >= READS - NOT_ASKED | {"runs", "gc", "inventory", "behaviour", "merged", "document"}


# --- it would see it ------------------------------------------------------------------------------------------------


def a_word_more(store: SqlStore) -> None:
    candidate = store.candidates(RUN, 3)[0]
    store.save_candidate(RUN, 3, candidate.model_copy(update={"text": candidate.text + "!"}))


def another_step(store: SqlStore) -> None:
    (_, agent), said = min(store.steps(RUN, "assess", Assessment).items())
    store.save_step(RUN, 1, agent, "assess", said.model_copy(update={"emotion_strength": 0.123}))


def a_step_too_many(store: SqlStore) -> None:
    store.save_step(RUN, 2, "Ana", "one_of_her_own", Finding())


def another_reply(store: SqlStore) -> None:
    call = store.calls(RUN)[7]
    reply = Reply(text="no", tokens=(1,), text_tokens=(0, 1), fields={})
    store.save_calls(RUN, [call.model_copy(update={"replies": (reply,)})])


def the_same_call_again(store: SqlStore) -> None:
    store.save_calls(RUN, store.calls(RUN)[7:8])


def another_state(store: SqlStore) -> None:
    trace = store.trace(RUN, 2)
    assert trace is not None
    store.save_trace(RUN, 2, trace.model_copy(update={"after": {**trace.after, "sim_time_s": 1.5}}))


def a_turn_less(store: SqlStore) -> None:
    for table in ("turns", "traces"):
        store.file.write(f"DELETE FROM {table} WHERE turn = 5")


def a_text_of_nobody(store: SqlStore) -> None:
    store.save_text("Nobody has said this.")


def still_running(store: SqlStore) -> None:
    store.set_status(RUN, "interrupted")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (a_word_more, ["candidates of turn 3", "text"]),
        (another_step, ["step (1, 'Ana', 'assess'), emotion_strength: ", "0.123"]),
        (a_step_too_many, ["step (2, 'Ana', 'one_of_her_own'): None undisturbed"]),
        (another_reply, ["call", "replies", "'no'"]),
        (the_same_call_again, ["call: the order is another"]),
        (another_state, ["trace of turn 2, after, sim_time_s", "1.5"]),
        (a_turn_less, ["run record, turns: 5 undisturbed, 4 killed"]),
        (a_text_of_nobody, ["text", "None undisturbed"]),
        (still_running, ["run record, status", "'interrupted'"]),
    ],
)
async def test_what_differs_is_named(change: Callable[[SqlStore], None], named: list[str]) -> None:
    with SqlStore.open(":memory:") as first, SqlStore.open(":memory:") as second:
        for store in (first, second):
            await held(a_quay(), store=store)
        assert differences((first, RUN), (second, RUN)) == []
        assert faults(second) == []
        change(second)
        found = "\n".join(differences((first, RUN), (second, RUN)))
        for words in named:
            assert words in found


async def test_a_call_that_was_made_twice_is_counted() -> None:
    with SqlStore.open(":memory:") as store:
        await held(a_quay(), store=store)
        the_same_call_again(store)
        assert faults(store) == ["1 calls were journalled twice"]


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
async def test_what_sql_finds_is_compared(tmp_path: Path, change: str, named: str) -> None:
    paths = [tmp_path / "first.db", tmp_path / "second.db"]
    for path in paths:
        with SqlStore.open(path, create=True) as store:
            await held(a_quay(), store=store)
    expected = content(paths[0])
    assert differing_rows(expected, content(paths[1])) == []
    with closing(sqlite3.connect(paths[1])) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(change)
        connection.commit()
    found = differing_rows(expected, content(paths[1]))
    assert any(line.startswith(named) for line in found), found


def test_a_disturbance_that_loses_a_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_and_lose(store: Path) -> Left:
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("DELETE FROM passages WHERE id = 1")
        return Left("lost", 0)

    monkeypatch.setattr("benchmarks.disturbing.look_at", look_and_lose)
    killed = Cell(Disturbance.KILL, Way.RESUME)
    tally = disturb_kind("dialogue", 2, seed=1, folder=tmp_path / "kept", only=killed.__eq__)
    assert tally.passed < tally.tried
    assert any("passages" in problem for problem in tally.problems)
    assert list((tmp_path / "kept").iterdir()), "nothing is kept to look at"
