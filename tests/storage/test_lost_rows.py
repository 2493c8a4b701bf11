"""A row of a turn whose key was altered behind the store's back is missed."""

import sqlite3
from pathlib import Path

import pytest
from support.commands import Cli


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
    run = cli("run", "team_building", "--rehearse", "--rounds", "3", "--json").json["run"]
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
    run = cli("run", "team_building", "--rehearse", "--rounds", "3", "--json").json["run"]
    with sqlite3.connect(tmp_path / "tertulia.db") as connection:
        assert connection.execute(lost).rowcount == 1
    for command in ("stats", "timeline"):
        cli(command, run).complains(1, "tertulia.db is damaged")
