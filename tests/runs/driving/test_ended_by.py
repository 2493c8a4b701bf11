"""Why a run ended is stored and shown: for each kind of conversation, limit and stop."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.stored import a_case, a_run

import tertulia as tt
from tertulia.langgraph import group_chat
from tertulia.nodes.shared.limits import end_of_group_chat
from tertulia.runs.driving.driver import Ending, recorded_ending
from tertulia.state.errors import BudgetError, LeftError, ModelError, StoppedError, StorageError
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve

REHEARSED: dict[str, Any] = {"rehearse": True, "progress": False}


def test_a_meeting_that_its_schedule_ends_says_so_everywhere(cli: Any) -> None:
    ended = cli("run", "team_building", "--rehearse", "--rounds", "220", "--json")
    document = json.loads(ended.out)
    assert (document["status"], document["ended_by"]) == ("finished", "schedule")
    run = document["run"]
    again = cli("run", "tidewell", "--rehearse", "--minutes", "0.1", "--seed", "7")
    assert again.err.splitlines()[-1].endswith(": its simulated minutes are over")
    assert json.loads(cli("show", run, "--json").out)["ended_by"] == "schedule"
    assert "finished (schedule)" in cli("show", run).out
    assert json.loads(cli("runs", "--json").out)["runs"][1]["ended_by"] == "schedule"
    assert tt.open_store("tertulia.db").run(run).ended_by == "schedule"
    fork = json.loads(cli("fork", run, "--at", "2", "--set", "max_turns=3", "--json").out)
    assert (fork["turns"], fork["ended_by"]) == (3, "rounds")
    assert json.loads(cli("resume", fork["run"], "--json").out)["ended_by"] == "rounds"


@pytest.mark.parametrize(
    ("scenario", "given", "reason"),
    [
        ("tidewell", {"rounds": 2}, "rounds"),
        ("tidewell", {"minutes": 0.1}, "minutes"),
        ("tidewell", {"rounds": 60, "settings": {"ending_threshold": 0.0, "ending": "continuation"}}, "said goodbye"),
        ("villagers", {"rounds": 1}, "rounds"),
    ],
)
def test_a_limit_or_a_goodbye_is_the_reason(scenario: str, given: dict[str, Any], reason: str, tmp_path: Path) -> None:
    run = tt.run(scenario, store=tmp_path / "tertulia.db", **given, **REHEARSED)
    assert (run.status, run.ended_by) == ("finished", reason)


def test_a_spent_budget_is_the_reason_until_the_run_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "tertulia.db"
    with pytest.raises(tt.BudgetError):
        tt.run("tidewell", rounds=3, store=store, budget=tt.Budget(max_calls=3), **REHEARSED)
    run = tt.open_store(store).run()
    assert (run.status, run.ended_by) == ("interrupted", "budget")
    run.resume(progress=False)
    assert (run.status, run.ended_by) == ("finished", "rounds")


@pytest.mark.parametrize(
    ("stop", "why", "reason"),
    [
        (KeyboardInterrupt(), None, "stopped"),
        (StoppedError("ana on host"), StoppedError("ana on host"), "stopped"),
        (BudgetError("a budget"), BudgetError("a budget"), "budget"),
        (LeftError("Ana has left in turn 2"), None, "left by a person"),
        (ModelError("no answer"), None, None),
    ],
)
def test_each_stop_has_its_reason(stop: BaseException, why: StoppedError | None, reason: str | None) -> None:
    told: list[Any] = []
    ended: list[Ending] = []
    with (
        SqlStore.open(":memory:", create=True) as store,
        pytest.raises(type(stop)),
        recorded_ending(store, lambda *status: told.append(status), ended.append, lambda: why),
    ):
        raise stop
    assert told[-1][2:] == (reason,)
    assert [ending.by for ending in ended] == [reason]


def test_a_meeting_that_all_have_left_for_good_is_over() -> None:
    meeting = resolve("team_building")
    assert isinstance(meeting, Meeting)
    assert end_of_group_chat(1, 0.0, meeting, Parameters()) is None
    gone = [attendee.model_copy(update={"leaves": meeting.time}) for attendee in meeting.participants[1:]]
    left = meeting.model_copy(update={"participants": (meeting.participants[0], *gone)})
    assert end_of_group_chat(1, 1.0, left, Parameters()) == "nobody left"


def test_a_town_ends_with_its_days(cli: Any) -> None:
    document = json.loads(cli("simulate", "tidewell", "--encounters-per-day", "1", "--rehearse", "--json").out)
    assert (document["status"], document["ended_by"]) == ("finished", "days")
    listed = json.loads(cli("runs", "--json").out)["runs"]
    assert {run["ended_by"] for run in listed} <= {"said goodbye", "repetition", "rounds", "minutes"}


def test_a_hosted_meeting_tells_its_end(tmp_path: Path) -> None:
    store = str(tmp_path / "tertulia.db")
    talk = group_chat(["Ana", "Bo"], rounds=5, model="rehearsal", settings={"max_turns": 2}, store=store)
    end = asyncio.run(talk.ainvoke({"messages": []}))
    assert (end["finished"], end["ended_by"]) == (True, "rounds")
    assert tt.open_store(store).run().ended_by == "rounds"


def test_a_merge_carries_the_reason(cli: Any) -> None:
    run = tt.run("tidewell", rounds=2, store="a.db", **REHEARSED)
    cli("merge", "a.db", "--into", "b.db")
    assert tt.open_store("b.db").run(run.id).ended_by == "rounds"


def test_a_store_that_was_overwritten_while_it_was_driven_hides_no_error(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(), a_case())

        def report_end(_: Ending) -> None:
            raise StorageError(f"{path} can't be read after {store.run('k3f9').turns} turns")

        def fail() -> None:
            path.write_bytes(b"no store " * 9000)
            raise ModelError("the server is gone")

        recorded = recorded_ending(store, partial(store.set_status, "k3f9"), report_end)
        with pytest.raises(ModelError, match="is gone"), recorded:
            fail()
