"""Names of somebody else's that a shell, a spreadsheet or SQLite would obey, and what is said of stores."""

import csv
import io
import sqlite3
from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.models.local.hub import load
from tertulia.state.csv_rows import csv_rows
from tertulia.state.errors import StorageError, TrustError
from tertulia.state.text import path_argument, shell_argument
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.parts.contents import verified


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


def test_a_text_of_a_table_is_read_as_it_was_but_for_what_a_terminal_would_obey() -> None:
    texts = ['She said "no",\nand left.', "a,b;c", "港口，风暴", "\x1b[31mred\x07", "\x00", "=1+1\n-2"]
    written = "".join(f"{row}\r\n" for row in csv_rows([texts]))
    (read,) = csv.reader(io.StringIO(written, newline=""), strict=True)
    assert read == [*texts[:3], "�[31mred�", "�", "'=1+1\n-2"]


def test_a_name_in_a_command_to_paste_is_no_option() -> None:
    assert [shell_argument(name) for name in ("-rf", "two words", "grid")] == ["-- -rf", "'two words'", "grid"]
    assert [path_argument(path) for path in ("-x.db", "a b.db", "/x/-y.db")] == ["./-x.db", "'a b.db'", "/x/-y.db"]


def test_a_model_that_a_file_names_is_no_other_command() -> None:
    def load_here(only_here: bool) -> None:
        raise OSError

    for name, quoted in (("a/b; rm -rf x", "'a/b; rm -rf x'"), ("-rf", "-- -rf")):
        with pytest.raises(TrustError, match=rf"tertulia trust {quoted}$"):
            load(name, load_here, remedy="", report=lambda activity: None, may_download=False)


def test_a_damaged_file_whose_name_a_shell_would_obey(cli: Cli, tmp_path: Path) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store=-x y.db")
    with sqlite3.connect(tmp_path / "-x y.db") as connection:
        connection.execute("DELETE FROM turns")
    cli("show", "@last", "--store=-x y.db").complains(1, "is damaged", "`sqlite3 './-x y.db' .recover`")


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("postgresql://ada@host/talk", "postgresql://ada@host/talk"),
        ("postgresql://ada@host/talk?schema=s1", "'postgresql://ada@host/talk?schema=s1'"),
    ],
)
def test_a_damaged_store_on_a_server_is_not_for_sqlite(address: str, named: str) -> None:
    with pytest.raises(StorageError, match="does not match its hash") as refused:
        verified("a text", "0" * 32, ServerAddress(address))
    assert "sqlite3" not in str(refused.value)
    assert f"tertulia merge {named} --into FILE" in str(refused.value)


def test_a_refused_run_is_removed_from_a_store_whose_name_a_shell_would_split(cli: Cli, tmp_path: Path) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "2", "--store", "a.db")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("DELETE FROM turns WHERE turn = 1")
    assert "--store 'a b.db')" in cli("merge", "a.db", "--into", "a b.db").err
