"""Names of somebody else's that a shell, a spreadsheet or SQLite would obey, and what is said of stores."""

import sqlite3
from pathlib import Path

import pytest
from support.commands import Cli

from lab.page_data import csv_rows
from state.text import path_argument, shell_argument
from storage.addresses import ServerAddress
from storage.faults import damaged


@pytest.mark.parametrize("name", [":memory:", ":MEMORY:", "file:runs.db", "file:runs.db?mode=memory"])
def test_what_sqlite_takes_for_no_file_is_no_store(cli: Cli, tmp_path: Path, name: str) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store", name).complains(2, name, "a store is a file")
    cli("runs", "--store", name).complains(2, name, "a store is a file")
    assert [*tmp_path.iterdir()] == []


def test_a_text_that_a_spreadsheet_would_compute_is_no_formula() -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "λ = 0.5", "a=b", ""]
    assert list(csv_rows([texts[:4], texts[6:], [-1, -0.5, None, True]])) == [
        "'=1+1,'+1,'-1,'@SUM(A1)",
        "λ = 0.5,a=b,",
        "-1,-0.5,,True",
    ]
    assert all(line.lstrip('"').startswith("'") for line in csv_rows([[texts[4]], [texts[5]]]))


def test_a_name_in_a_command_to_paste_is_no_option() -> None:
    assert [shell_argument(name) for name in ("-rf", "two words", "grid")] == ["-- -rf", "'two words'", "grid"]
    assert [path_argument(path) for path in ("-x.db", "a b.db", "/x/-y.db")] == ["./-x.db", "'a b.db'", "/x/-y.db"]


def test_a_study_that_is_called_like_an_option_is_gone_on_with_as_is_said(cli: Cli) -> None:
    made = cli("sweep", "tidewell", "--rehearse", "--lambda", "0", "--trials", "1", "--rounds", "1", "--name=-rf")
    assert "tertulia lab compare -- -rf" in made.out
    assert cli("lab", "compare", "--", "-rf").code == 0
    assert cli("lab", "resume", "--", "-rf").code == 0


def test_a_damaged_file_whose_name_a_shell_would_obey(cli: Cli, tmp_path: Path) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store=-x y.db")
    with sqlite3.connect(tmp_path / "-x y.db") as connection:
        connection.execute("DELETE FROM turns")
    cli("show", "@last", "--store=-x y.db").complains(1, "is damaged", "`sqlite3 './-x y.db' .recover`")


def test_a_damaged_store_on_a_server_is_not_for_sqlite() -> None:
    said = str(damaged(ServerAddress("postgresql://ada@host/talk"), "a record does not read"))
    assert "sqlite3" not in said
    assert "tertulia merge postgresql://ada@host/talk --into FILE" in said
