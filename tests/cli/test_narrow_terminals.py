"""Tables in a terminal of eighty columns: no line is longer, and no word is cut."""

import pytest
from support.commands import Cli

TABLES = [
    ("scenarios", "tidewell"),
    ("metrics", "@last", "--embedder", "rehearsal"),
    ("behaviour", "@last", "--embedder", "rehearsal"),
    ("inventory", "@last", "--rehearse"),
    ("show", "@last", "--cost"),
    ("stats", "@last", "--paper"),
]


@pytest.fixture
def terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    return cli


def test_tables_keep_their_words_whole(terminal: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal("run", "team_building", "--rehearse", "--rounds", "2").code == 0
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    for table in TABLES:
        lines = terminal(*table).out.splitlines()
        assert max(map(len, lines)) <= 80, table
        assert "…" not in "".join(lines), table
