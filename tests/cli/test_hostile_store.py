"""A store that a stranger has made: reading it shows nothing that a terminal would obey, and ends in a line."""

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli
from support.in_process import CommandResult, command

from tertulia.storage.parts.contents import content_hash
from tertulia.storage.schema import BINARY, TABLES
from tertulia.storage.store import SqlStore
from tertulia.storage.values import checksum, read

#: What a terminal would obey: a title, a colour, a C1 control, a change of direction; and what a path or a line would.
HOSTILE = "x\x1b]0;mine\x07\x1b[2J\x9b31m\u202egpj/../\r\n\x00y"
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")

#: Documents that only a stranger writes, for columns of JSON; every column is tried with one of them.
DOCUMENTS = ("[" * 10_000, "[]", '{"a": ' + "9" * 5_000 + "}", "3", "null")
#: Tables of which the store that is crafted has no rows.
EMPTY = ("pictures", "experiments", "calibrations", "parts", "annotations")


def _renamed(value: object) -> object:
    """A document in which every text is hostile, keys and shape as they were."""
    if isinstance(value, dict):
        return {name: _renamed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


def _fitting(table: str) -> Callable[..., int]:
    columns = TABLES[table].checked
    return lambda *values: checksum([
        value if name in BINARY else read(value) for name, value in zip(columns, values, strict=True)
    ])  # fmt: skip


def craft(path: Path, table: str, column: str, value: str) -> None:
    """Put a value into a column of every row, with a checksum or a hash that fits."""
    columns = TABLES[table].checked
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.create_function("crafted", 2, lambda old, row: _crafted(str(read(old or "")), row, value))
        connection.create_function("fitting", -1, _fitting(table))
        connection.create_function("row_hash", 1, lambda text: content_hash(str(read(text))))
        key = "id" if table == "contents" else "''"
        crafted = connection.execute(f"UPDATE OR IGNORE {table} SET {column} = crafted({column}, {key})")
        assert crafted.rowcount, "nothing was crafted"
        if table == "contents":
            connection.execute("UPDATE OR IGNORE contents SET hash = row_hash(text)")
        if columns:
            connection.execute(f"UPDATE {table} SET checksum = fitting({', '.join(columns)})")


def _crafted(old: str, row: object, value: str) -> str:
    if value != "all texts":
        return f"{value}{row}"
    try:
        return json.dumps(_renamed(json.loads(old)))
    except ValueError:
        return f"{old}{HOSTILE}"


def check(result: CommandResult) -> None:
    """It did what it should, or said in a line what is wrong; nothing that a terminal would obey was printed."""
    assert "Traceback" not in result.err, result.err
    assert result.code in (0, 1, 2, 3), result
    assert not _OBEYED.search(result.out), repr(_OBEYED.search(result.out))
    assert not _OBEYED.search(result.err), repr(_OBEYED.search(result.err))
    if result.code == 1:
        assert sum(line.startswith("error: ") for line in result.err.splitlines()) <= 1, result


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dialogue, a meeting and a day of a town."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    how = ("--rehearse", "--lambda", "0.5", "--store", path)
    assert command("run", "tidewell", "--rounds", "2", *how).code == 0
    assert command("run", "team_building", "--rounds", "2", *how).code == 0
    assert command("simulate", "tidewell", "--days", "1", "--encounters-per-day", "1", *how).code == 0
    return path


#: Every column of text in every table, with its kind.
COLUMNS = [
    (table.name, column.name, column.kind)
    for table in TABLES.values()
    for column in table.declared
    if column.kind in ("text", "json", "moment", "integer")
    and table.name not in EMPTY
    and (table.name, column.name) != ("contents", "hash")
]


@pytest.mark.full
@pytest.mark.parametrize(("table", "column", "kind"), COLUMNS)
def test_a_crafted_column_is_shown_harmlessly_or_told(
    whole: Path, tmp_path: Path, table: str, column: str, kind: str
) -> None:
    path = tmp_path / "crafted.db"
    documents = ("all texts", DOCUMENTS[len(column) % 5])
    values = documents if kind == "json" else (HOSTILE, "all texts") if table == "contents" else (HOSTILE,)
    with SqlStore.open(whole) as store:
        _, meeting, dialogue = (run.run for run in store.runs())
    reading: list[tuple[str, ...]] = [("runs",), ("days", "@last", "--encounters"), ("search", "the")]
    for run in (dialogue, meeting):
        reading += [("show", run), ("show", run, "--turn", "1", "--json"), ("export", run, "--markdown", "-")]
    for value in values:
        path.write_bytes(whole.read_bytes())
        craft(path, table, column, value)
        for arguments in reading:
            check(command(*arguments, "--store", path))


BOMB = zlib.compress(bytes(64 * 1024 * 1024), 9)


@pytest.mark.parametrize(("table", "column", "arguments"), [
    ("traces", "trace", ("show", "@last", "--node", "all")), ("calls", "tokens", ("show", "@last", "--cost")),
])  # fmt: skip
def test_what_becomes_huge_is_not_unpacked(cli: Cli, table: str, column: str, arguments: tuple[str, ...]) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "2")
    columns = TABLES[table].checked
    with closing(sqlite3.connect("tertulia.db")) as connection, connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (BOMB,))
        connection.create_function("fitting", -1, _fitting(table))
        connection.execute(f"UPDATE {table} SET checksum = fitting({', '.join(columns)})")
    cli(*arguments).complains(1, "damaged", "more than 32 MB")


def test_the_same_conversations_of_two_simulations_are_the_same(cli: Cli) -> None:
    how = ("simulate", "tidewell", "--encounters-per-day", "1", "--rehearse", "--json", "--set", "max_turns=2")
    first, second = (cli(*how).json["simulation"] for _ in range(2))
    compared = cli("diff", f"{first}-1-1", f"{second}-1-1", "--exit-code", "--json")
    assert (compared.code, compared.json["identical"]) == (0, True), compared.out


def test_an_export_does_not_write_through_a_link_that_was_foreseen(cli: Cli, tmp_path: Path) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1")
    precious = tmp_path / "precious"
    precious.write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    (out / f".tertulia-{os.getpid()}.part").symlink_to(precious)
    before = os.umask(0o027)
    try:
        assert cli("export", "@last", "--jsonl", str(out / "run.jsonl")).code == 0
    finally:
        os.umask(before)
    assert precious.read_text() == "kept"
    assert (out / "run.jsonl").stat().st_mode & 0o777 == 0o640
