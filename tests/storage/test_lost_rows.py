"""A row of a turn whose key was altered behind the store's back is missed."""

import sqlite3
from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.state.errors import StorageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE steps SET run = 'zzzz' WHERE round = 2 AND node = 'assess' AND agent = 'Bob'",
        "DELETE FROM calls WHERE round = 2 AND node = 'choose_mechanisms' AND agent = 'Bob'",
        "UPDATE candidates SET turn = 9 WHERE turn = 2 AND attempt = 0",
        "DELETE FROM unit_scores WHERE turn = 2 AND position = 3",
    ],
)
def test_a_row_that_is_lost_is_told(cli: Cli, tmp_path: Path, lost: str) -> None:
    run = cli("run", "team_building", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount == 1
    cli("show", run, "--turn", "2").complains(1, "tertulia.db is damaged", "turn 2", "rows in")
    cli("export", run, "--jsonl", "run.jsonl").complains(1, "damaged")
    assert cli("show", run, "--turn", "1").code == 0


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE steps SET agent = 'Zoe' WHERE round = 2 AND node = 'bid' AND agent = 'Bob'",
        "DELETE FROM steps WHERE round = 2 AND node = 'bid' AND agent = 'Bob'",
        "DELETE FROM turns WHERE turn = 3",
    ],
)
def test_figures_are_not_taken_of_what_is_left(cli: Cli, tmp_path: Path, lost: str) -> None:
    run = cli("run", "team_building", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount == 1
    for command in ("stats", "timeline"):
        cli(command, run).complains(1, "tertulia.db is damaged")


def test_a_trace_that_is_lost_is_told(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off", "--json").json["run"]
    for lost, turn in (("turn = 2", 2), ("turn > 0", 3)):
        with sqlite3.connect(tmp_path / "tertulia.db") as connection:
            connection.execute(f"DELETE FROM traces WHERE {lost}")
        cli("show", run, "--node", "all").complains(3, f"what was executed in turn {turn} of run {run} is not in the")


@pytest.mark.parametrize(
    "begins",
    [
        ("run", "tidewell", "--rounds", "4", "--set", "ending=off"),
        ("run", "team_building", "--rounds", "4", "--lambda", "0.5"),
        ("run", "villagers", "--rounds", "2"),
    ],
)
@pytest.mark.parametrize(
    ("lost", "missing"), [("turn = 1", 1), ("turn = 2", 2), ("turn = {last}", None), ("turn > 0", 1), ("turn > 2", 3)]
)
def test_a_trace_that_is_lost_is_told_on_merging(
    cli: Cli, tmp_path: Path, begins: tuple[str, ...], lost: str, missing: int | None
) -> None:
    run = cli(*begins, "--rehearse", "--json").json["run"]
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
    cli: Cli, tmp_path: Path, lost: str, missing: str
) -> None:
    cli("simulate", "tidewell", "--rehearse", "--days", "2", "--encounters-per-day", "2", "--set", "max_turns=2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        runs = [run for (run,) in connection.execute(f"SELECT run FROM encounters WHERE {lost}")]
        for table in ("encounters", "runs", "lineage", "traces"):
            connection.executemany(f"DELETE FROM {table} WHERE run = ?", [(run,) for run in runs])
    cli("days", "@last").complains(1, "tertulia.db is damaged", missing)
    cli("days", "@last", "--encounters").complains(1, "tertulia.db is damaged", missing)


def test_an_experiment_that_is_lost_is_told(cli: Cli, tmp_path: Path) -> None:
    assert cli("sweep", "tidewell", "--rehearse", "--lambda", "0,1", "--trials", "1", "--rounds", "2").code == 0
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute("DELETE FROM experiments").rowcount == 1
    cli("lab", "list").complains(1, "tertulia.db is damaged", "of which there are trials, is missing")


def test_an_encounter_that_is_lost_is_told(cli: Cli, tmp_path: Path) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute("DELETE FROM encounters WHERE number = 1").rowcount == 1
    for command in (("runs",), ("days", "@last", "--encounters")):
        cli(*command).complains(1, "the encounter of conversation ", "-1-1 is missing")


@pytest.mark.parametrize(
    ("lost", "words", "commands"),
    [
        ("DELETE FROM runs WHERE id = 1", "the record of run ", [("runs",)]),
        ("DELETE FROM runs", "the record of run ", [("search", "the")]),
        ("DELETE FROM lineage", "lineage", [("days", "@last"), ("runs",)]),
        ("DELETE FROM lineage WHERE depth = 0", "lineage", [("days", "@last"), ("stats", "@last")]),
        ("DELETE FROM simulations", "the record of simulation ", [("days",), ("runs",)]),
        (
            "DELETE FROM lineage WHERE depth = 1",
            "incomplete",
            [("stats", "@last"), ("replay", "@last", "--speed", "0")],
        ),
        ("DELETE FROM turns", "", [("runs",), ("runs", "--json")]),
        ("DELETE FROM turns WHERE turn = 1", "", [("stats", "@last"), ("timeline", "@last"), ("show", "@last")]),
        ("UPDATE runs SET run = 'zzzz' WHERE id = 1", "", [("search", "the"), ("runs",)]),
    ],
)
def test_what_holds_the_others_is_missed(
    cli: Cli, tmp_path: Path, lost: str, words: str, commands: list[tuple[str, ...]]
) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    run = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off", "--json").json["run"]
    cli("fork", run, "--at", "2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount >= 1
    for command in commands:
        cli(*command).complains(1, "tertulia.db is damaged", words)


@pytest.mark.parametrize(
    "lost",
    [
        "DELETE FROM memories WHERE memory LIKE 'day\\_%' ESCAPE '\\'",
        "DELETE FROM memories WHERE kind = 'event'",
        "DELETE FROM memories WHERE number = 7",
        "UPDATE memories SET memory = 'day_2_1_thought' WHERE memory = 'day_1_1_thought'",
        "UPDATE memories SET memory = 'node_7' WHERE memory = 'day_1_1_summary'",
    ],
)
def test_a_memory_that_is_lost_is_told(cli: Cli, tmp_path: Path, lost: str) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount >= 1
    cli("days", "@last").complains(1, "tertulia.db is damaged")


def test_whoever_met_somebody_remembers_it(cli: Cli, tmp_path: Path) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        (name,) = connection.execute("SELECT initiator FROM encounters").fetchone()
        assert connection.execute("DELETE FROM memories WHERE agent = ?", (name,)).rowcount > 100
    cli("days", "@last", "--agent", name).complains(1, "tertulia.db is damaged", f"memories of {name}", "are missing")


def test_a_memory_that_is_lost_from_before_is_told_of_who_had_it(cli: Cli, tmp_path: Path) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        (name,) = connection.execute("SELECT agent FROM memories WHERE number = 7").fetchone()
        connection.execute("DELETE FROM memories WHERE number = 7 AND agent = ?", (name,))
    cli("days", "@last", "--agent", name).complains(1, "tertulia.db is damaged", f"memories of {name}", "are missing")


def test_turns_are_not_counted_by_a_number_that_was_altered(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute("UPDATE turns SET turn = 9 WHERE turn = 3").rowcount == 1
    with SqlStore.open(tmp_path / "tertulia.db") as store, pytest.raises(StorageError, match="checksum"):
        document_at(store, f"runs/{run}")


@pytest.mark.parametrize("lost", ["DELETE FROM turns", "DELETE FROM turns WHERE turn = 3"])
def test_a_last_turn_that_is_lost_is_told_of_the_run(cli: Cli, tmp_path: Path, lost: str) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount >= 1
    cli("show", run, "--node", "all").complains(1, "tertulia.db is damaged", f"turn 3 of run {run} is missing")
    with SqlStore.open(tmp_path / "tertulia.db") as store, pytest.raises(StorageError, match="is missing"):
        document_at(store, f"runs/{run}")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE units SET removable = 1 - removable WHERE kind = 'item'",
        "UPDATE units SET kind = 'text', removable = 0 WHERE id = (SELECT max(id) FROM units WHERE removable)",
        "DELETE FROM units WHERE kind = 'item'",
        "DELETE FROM prompts",
    ],
)
def test_units_that_were_altered_are_not_counted(cli: Cli, tmp_path: Path, change: str) -> None:
    run = cli("run", "tidewell", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(change).rowcount >= 1
    with SqlStore.open(tmp_path / "tertulia.db") as store:
        for page in ("turns", "figures"):
            with pytest.raises(StorageError, match="damaged"):
                document_at(store, f"runs/{run}/{page}")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET status = 'failed' WHERE id = 1",
        "UPDATE runs SET trial_case = 'tidewell:2' WHERE experiment IS NOT NULL",
        "UPDATE runs SET experiment = NULL, setting = NULL, trial_case = NULL, trial = NULL WHERE id = 1",
    ],
)
def test_runs_are_not_chosen_by_what_was_altered(cli: Cli, tmp_path: Path, change: str) -> None:
    assert cli("sweep", "tidewell", "--rehearse", "--lambda", "0,1", "--trials", "1", "--rounds", "2").code == 0
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(change).rowcount >= 1
    for command in (("lab", "list"), ("runs", "--status", "finished"), ("runs", "--scenario", "tidewell")):
        cli(*command).complains(1, "tertulia.db is damaged")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM calls WHERE round = 2 AND attempt = 0",
        "DELETE FROM calls WHERE round > 0",
        "UPDATE calls SET prompt_tokens = prompt_tokens + 1 WHERE round = 1",
    ],
)
def test_what_calls_took_is_not_taken_of_those_that_are_left(cli: Cli, tmp_path: Path, change: str) -> None:
    cli("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    run = cli("runs", "--json").json["runs"][0]["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(change).rowcount >= 1
    for command in (("days", "@last"), ("show", run, "--cost")):
        cli(*command).complains(1, "tertulia.db is damaged")


def test_scores_that_are_lost_are_not_counted(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--lambda", "0.5", "--rounds", "3", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute("DELETE FROM unit_scores WHERE turn = 2 AND removed > 0").rowcount >= 1
    with SqlStore.open(tmp_path / "tertulia.db") as store, pytest.raises(StorageError, match="not whole"):
        document_at(store, f"runs/{run}/turns")


def test_a_fork_whose_lineage_was_altered_is_told_of_its_parent(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off", "--json").json["run"]
    cli("fork", run, "--at", "2")
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute("UPDATE lineage SET depth = 2 WHERE depth = 1").rowcount == 1
    with SqlStore.open(tmp_path / "tertulia.db") as store, pytest.raises(StorageError, match="damaged"):
        document_at(store, f"runs/{run}")


@pytest.mark.parametrize(
    "lost",
    [
        "passages WHERE kind = 'utterance' AND turn = 2",
        "passages WHERE kind = 'thought'",
        "passages WHERE kind = 'memory' AND id = 7",
        "passages_fts_idx",
    ],
)
def test_what_is_not_searched_any_more_is_told(cli: Cli, tmp_path: Path, lost: str) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "ending=off")
    cli("run", "team_building", "--rehearse", "--rounds", "2")
    assert cli("search", "the").code == 0
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(f"DELETE FROM {lost}").rowcount >= 1
    cli("search", "the").complains(1, "tertulia.db is damaged")


def test_a_run_whose_record_is_lost_is_told_on_merging(cli: Cli, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        run = cli("run", "tidewell", "--rehearse", "--rounds", "2", "--seed", seed, "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        connection.execute("DELETE FROM runs WHERE run = ?", (run,))
    merged = cli("merge", "tertulia.db", "--into", "all.db")
    assert merged.code == 1
    assert f"refused: {run}: its record is missing" in merged.err + merged.out
    assert len(cli("runs", "--json", "--store", "all.db").json["runs"]) == 1
