"""A row that was lost, or whose key was altered, behind the store's back is missed."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support import in_process
from support.commands import Cli

Command = tuple[str, ...]

#: Gives the id of a run.
Begun = Callable[..., str]

DIALOGUE = ("run", "tidewell", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--set", "ending=off", "--json")
MEETING = ("run", "team_building", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--json")
SEARCHED = (DIALOGUE, MEETING, ("search", "the"))
ALBUM = ("run", "villagers", "--set", "agents=4", "--rehearse", "--rounds", "2", "--json")
FORK = ("fork", "@last", "--at", "2")
TOWN = (
    "simulate",
    "tidewell",
    "--rehearse",
    "--encounters-per-day",
    "1",
    "--set",
    "max_turns=2",
    "--set",
    "ending=off",
)
TWO_DAYS = (*TOWN, "--encounters-per-day", "2", "--days", "2")
SWEEP = ("sweep", "tidewell", "--rehearse", "--lambda", "0,1", "--trials", "1", "--rounds", "2")
WHAT_WAS_EXECUTED = ("show", "@last", "--node", "all")
REPLAY, COST = ("replay", "@last", "--speed", "0"), ("show", "@last", "--cost")
CHOOSING = (("lab", "list"), ("runs", "--status", "finished"), ("runs", "--scenario", "tidewell"))
BID = "round = 2 AND node = 'bid' AND agent = 'Bob'"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, str]]:
    """Make a store by commands, once for all tests; give it, and the id of the last run that a command told."""

    @cache
    def make(*commands: Command) -> tuple[Path, str]:
        store, run = tmp_path_factory.mktemp("whole") / "tertulia.db", ""
        for given in commands:
            result = in_process.command(*given, "--store", store)
            assert result.code == 0, result.err
            run = json.loads(result.out)["run"] if "--json" in given else run
        return store, run

    return make


@pytest.fixture
def begun(made: Callable[..., tuple[Path, str]], tmp_path: Path) -> Begun:
    """Copy the store that some commands make to where the tests are; give the id of its last run."""

    def copy(*commands: Command) -> str:
        store, run = made(*commands)
        shutil.copy(store, tmp_path / "tertulia.db")
        return run

    return copy


@pytest.fixture
def altered(begun: Begun, tmp_path: Path) -> Begun:
    """Copy a store and alter its rows by SQL, at least one; give the id of its last run."""

    def alter(lost: str, *commands: Command) -> str:
        run = begun(*commands)
        with sqlite3.connect(tmp_path / "tertulia.db") as connection:
            assert connection.execute(lost).rowcount >= 1
        return run

    return alter


LOST: list[tuple[tuple[Command, ...], str, str, tuple[Command, ...]]] = [
    # a run has what its turns were made of, and figures are not taken of what is left
    ((DIALOGUE,), "DELETE FROM turns", "turn 3 of run ", (WHAT_WAS_EXECUTED,)),
    ((DIALOGUE,), "DELETE FROM turns WHERE turn = 3", "turn 3 of run ", (WHAT_WAS_EXECUTED,)),
    ((MEETING,), "DELETE FROM turns WHERE turn = 3", "", (("stats", "@last"), ("timeline", "@last"))),
    ((MEETING,), f"UPDATE steps SET agent = 'Zoe' WHERE {BID}", "", (("stats", "@last"), ("timeline", "@last"))),
    ((MEETING,), f"DELETE FROM steps WHERE {BID}", "", (("stats", "@last"), ("timeline", "@last"))),
    # what holds the others
    ((SWEEP,), "DELETE FROM experiments", "of which there are trials, is missing", (("lab", "list"),)),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM runs WHERE id = 1", "the record of run ", (("runs",),)),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM runs", "the record of run ", (("search", "the"),)),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM lineage", "lineage", (("days", "@last"), ("runs",))),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM lineage WHERE depth = 1", "incomplete", (("stats", "@last"), REPLAY)),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM simulations", "the record of simulation ", (("days",), ("runs",))),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM turns", "", (("runs",), ("runs", "--json"))),
    ((TOWN, DIALOGUE, FORK), "DELETE FROM turns WHERE turn = 1", "", (("timeline", "@last"), ("show", "@last"))),
    ((TOWN, DIALOGUE, FORK), "UPDATE runs SET run = 'zzzz' WHERE id = 1", "", (("search", "the"), ("runs",))),
    # memories
    ((TOWN,), r"DELETE FROM memories WHERE memory LIKE 'day\_%' ESCAPE '\'", "", (("days", "@last"),)),
    ((TOWN,), "DELETE FROM memories WHERE number = 7", "", (("days", "@last"),)),
    ((TOWN,), "UPDATE memories SET memory = 'node_7' WHERE memory = 'day_1_1_summary'", "", (("days", "@last"),)),
    # runs are not chosen by what was altered
    ((SWEEP,), "UPDATE runs SET status = 'failed' WHERE id = 1", "", CHOOSING),
    ((SWEEP,), "UPDATE runs SET trial_case = 'tidewell:2' WHERE experiment IS NOT NULL", "", CHOOSING),
    ((SWEEP,), "UPDATE runs SET experiment = NULL, setting = NULL, trial_case = NULL, trial = NULL", "", CHOOSING),
    # what calls took
    ((TOWN,), "DELETE FROM calls WHERE round = 2 AND attempt = 0", "", (("days", "@last"), COST)),
    ((TOWN,), "UPDATE calls SET prompt_tokens = prompt_tokens + 1 WHERE round = 1", "", (("days", "@last"), COST)),
    # what is searched
    (SEARCHED, "DELETE FROM passages WHERE kind = 'utterance' AND turn = 2", "", (("search", "the"),)),
    (SEARCHED, "DELETE FROM passages WHERE kind = 'thought'", "", (("search", "the"),)),
    (SEARCHED, "DELETE FROM passages WHERE kind = 'memory' AND id = 7", "", (("search", "the"),)),
    (SEARCHED, "DELETE FROM passages_fts_idx", "", (("search", "the"),)),
]


@pytest.mark.parametrize(("begins", "lost", "words", "commands"), LOST)
def test_what_is_lost_is_told(
    cli: Cli, altered: Begun, begins: tuple[Command, ...], lost: str, words: str, commands: tuple[Command, ...]
) -> None:
    altered(lost, *begins)
    for command in commands:
        cli(*command).complains(1, "tertulia.db is damaged", words)


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE steps SET run = 'zzzz' WHERE round = 2 AND node = 'assess' AND agent = 'Bob'",
        "DELETE FROM calls WHERE round = 2 AND node = 'choose_mechanisms' AND agent = 'Bob'",
        "UPDATE candidates SET turn = 9 WHERE turn = 2 AND attempt = 0",
        "DELETE FROM unit_scores WHERE turn = 2 AND position = 3",
    ],
)
def test_a_row_that_is_lost_is_told(cli: Cli, altered: Begun, lost: str) -> None:
    run = altered(lost, MEETING)
    cli("show", run, "--turn", "2").complains(1, "tertulia.db is damaged", "turn 2", "rows in")
    cli("export", run, "--jsonl", "run.jsonl").complains(1, "damaged")
    assert cli("show", run, "--turn", "1").code == 0


def test_a_trace_that_is_lost_is_told(cli: Cli, begun: Begun, tmp_path: Path) -> None:
    run = begun(DIALOGUE)
    for lost, turn in (("turn = 2", 2), ("turn > 0", 1)):
        with sqlite3.connect(tmp_path / "tertulia.db") as connection:
            connection.execute(f"DELETE FROM traces WHERE {lost}")
        cli("show", run, "--node", "all").complains(3, f"what was executed in turn {turn} of run {run} is not in the")


@pytest.mark.parametrize(
    ("begins", "lost", "missing"),
    [
        (DIALOGUE, "turn = 1", 1),
        (DIALOGUE, "turn = {last}", None),
        (MEETING, "turn = 2", 2),
        (ALBUM, "turn > 0", 1),
        (ALBUM, "turn > 2", 3),
    ],
)
def test_a_trace_that_is_lost_is_told_on_merging(
    cli: Cli, begun: Begun, tmp_path: Path, begins: tuple[str, ...], lost: str, missing: int | None
) -> None:
    run = begun(begins)
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        (last,) = connection.execute("SELECT max(turn) FROM turns").fetchone()
        connection.execute(f"DELETE FROM traces WHERE {lost.format(last=last)}")
    merged = cli("merge", "tertulia.db", "--into", "all.db")
    assert merged.code == 1
    assert f"the trace of turn {missing or last} of run {run} is missing" in merged.err + merged.out


@pytest.mark.parametrize(
    ("lost", "missing"),
    [
        ("day > 0", "encounter 1 of day 1"),
        ("day = 2 AND number = 2", "encounter 2 of day 2"),
        ("day = 1", "1 of day 1"),
    ],
)
def test_an_encounter_that_is_lost_with_its_conversation_is_told(
    cli: Cli, begun: Begun, tmp_path: Path, lost: str, missing: str
) -> None:
    begun(TWO_DAYS)
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        runs = [run for (run,) in connection.execute(f"SELECT run FROM encounters WHERE {lost}")]
        for table in ("encounters", "runs", "lineage", "traces"):
            connection.executemany(f"DELETE FROM {table} WHERE run = ?", [(run,) for run in runs])
    cli("days", "@last").complains(1, "tertulia.db is damaged", missing)
    cli("days", "@last", "--encounters").complains(1, "tertulia.db is damaged", missing)


@pytest.mark.parametrize(
    ("whose", "which"), [("initiator FROM encounters", ""), ("agent FROM memories WHERE number = 7", "AND number = 7")]
)
def test_a_memory_that_is_lost_is_told_of_who_had_it(
    cli: Cli, begun: Begun, tmp_path: Path, whose: str, which: str
) -> None:
    begun(TOWN)
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        (name,) = connection.execute(f"SELECT {whose}").fetchone()
        assert connection.execute(f"DELETE FROM memories WHERE agent = ? {which}", (name,)).rowcount
    cli("days", "@last", "--agent", name).complains(1, "tertulia.db is damaged", f"memories of {name}", "are missing")


def test_a_run_whose_record_is_lost_is_told_on_merging(cli: Cli, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        run = cli("run", "tidewell", "--rehearse", "--rounds", "2", "--seed", seed, "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        connection.execute("DELETE FROM runs WHERE run = ?", (run,))
    merged = cli("merge", "tertulia.db", "--into", "all.db")
    assert merged.code == 1
    assert f"refused: {run}: its record is missing" in merged.err + merged.out
    assert len(cli("runs", "--json", "--store", "all.db").json["runs"]) == 1
