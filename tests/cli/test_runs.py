"""`runs`: the table and its filters, labels, and the removal of runs."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import NOW, a_case, a_run

from tertulia.state.records import Turn, TurnRecord
from tertulia.storage.store import SqlStore

COLUMNS = ["run", "status", "scenario", "order", "λ", "seed", "turns", "model", "from", "date", "label", "ended_by"]


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """The store of this folder, with two runs, a fork of the first, and a fork of that."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        opened.create_run(a_run("aaaa", status="finished"), a_case())
        turn = Turn(turn=1, round=1, speaker="Ana", text="Hello.", sim_time_s=0.0, ended=False)
        opened.save_turn("aaaa", TurnRecord(turn=turn))
        later = NOW + timedelta(minutes=5)
        opened.create_run(a_run("bbbb", status="finished", parent=("aaaa", 2), created=later), a_case())
        opened.create_run(a_run("cccc", status="failed", parent=("bbbb", 2), created=later), a_case())
        opened.create_run(a_run("dddd", status="failed", scenario="meadow", created=later), a_case())
        yield opened


def listed(cli: Cli, *arguments: str) -> list[str]:
    return [row["run"] for row in cli("runs", *arguments, "--json").json["runs"]]


# --- the list -------------------------------------------------------------------------------------------------------


def test_the_table_has_dates_and_the_json_more_fields(cli: Cli, store: SqlStore) -> None:
    heading, *lines = cli("runs").out.splitlines()
    assert heading.split() == COLUMNS
    assert [line.split()[0] for line in lines] == ["dddd", "aaaa", "└", "└"]
    assert f"{NOW.astimezone():%Y-%m-%d %H:%M}" in lines[1]
    row = cli("runs", "--json").json["runs"][-1]
    assert (row["name"], row["label"], row["date"]) == ("cafe", None, f"{NOW.astimezone():%Y-%m-%d %H:%M}")


def test_filters(cli: Cli, store: SqlStore) -> None:
    assert listed(cli, "--scenario", "meadow") == ["dddd"]
    assert listed(cli, "--status", "failed") == ["dddd", "cccc"]
    assert listed(cli, "--limit", "1") == ["dddd"]
    assert listed(cli, "--status", "failed", "--scenario", "nowhere") == []
    assert "no such runs" in cli("runs", "--scenario", "nowhere").out
    # A fork whose parent is not listed stands by itself.
    assert [line.split()[0] for line in cli("runs", "--status", "failed").out.splitlines()[1:]] == ["dddd", "cccc"]


def test_files_are_found_by_the_name_that_is_listed_and_two_of_a_name_by_their_paths(cli: Cli) -> None:
    with SqlStore.open(Path("tertulia.db"), create=True) as store:
        for run, file in (("aaaa", "one/talk.yaml"), ("bbbb", "two/talk.yaml"), ("cccc", "tea.yaml")):
            store.create_run(a_run(run, scenario=file), a_case())
    named = {line.split()[0]: line.split()[2] for line in cli("runs").out.splitlines()[1:]}
    assert named == {"cccc": "tea", "bbbb": "two/talk.yaml", "aaaa": "one/talk.yaml"}
    for run, name in named.items():
        assert listed(cli, "--scenario", name) == [run]
    assert listed(cli, "--scenario", "tea.yaml") == ["cccc"]


def test_filters_that_are_wrong(cli: Cli, store: SqlStore) -> None:
    cli("runs", "--status", "fnished").complains(2, "--status fnished: unknown (did you mean 'finished'?)")
    cli("runs", "--limit", "0").complains(2, "--limit 0: takes 1 or more")
    cli("runs", "--limit", "2", "label", "aaaa", "x").complains(2, "--limit", "runs label")


# --- labels ---------------------------------------------------------------------------------------------------------


def test_a_label_is_set_found_and_taken_away(cli: Cli, store: SqlStore) -> None:
    assert cli("runs", "label", "aaaa", "pilot study", "--json").json["label"] == "pilot study"
    assert listed(cli, "--label", "pilot study") == ["aaaa"]
    assert "pilot study" in cli("runs").out
    assert "no label" in cli("runs", "label", "aaaa", "").err
    assert listed(cli, "--label", "pilot study") == []
    cli("runs", "label", "zzzz", "x").complains(3, "'zzzz'")


# --- removal --------------------------------------------------------------------------------------------------------


def test_what_hangs_on_a_run_goes_with_it_on_demand(cli: Cli, store: SqlStore) -> None:
    cli("runs", "rm", "aaaa", "--yes").complains(2, "bbbb", "cccc", "--with-forks")
    assert listed(cli) == ["dddd", "cccc", "bbbb", "aaaa"]
    removed = cli("runs", "rm", "bbbb", "--with-forks", "--yes", "--json").json
    assert sorted(removed["removed"]) == ["bbbb", "cccc"]
    assert listed(cli) == ["dddd", "aaaa"]


def test_nothing_is_removed_where_nobody_can_be_asked(cli: Cli, store: SqlStore) -> None:
    result = cli("runs", "rm", "dddd")
    result.complains(2, "--yes")
    assert "to be removed: dddd (meadow, failed)" in result.err
    assert "0 turns" in result.err
    assert "dddd" in listed(cli)


def test_somebody_at_a_terminal_is_asked(cli: Cli, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.cli.commands.runs.can_ask", lambda: True)
    answers = iter([False, True])
    monkeypatch.setattr("tertulia.cli.commands.runs.typer.confirm", lambda *_, **__: next(answers))
    assert cli("runs", "rm", "dddd").code == 1
    assert "dddd" in listed(cli)
    assert cli("runs", "rm", "dddd").code == 0
    assert "dddd" not in listed(cli)
