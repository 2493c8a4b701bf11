"""`replay`: what was recorded is told again as it was told live; and what reads a store needs no model."""

from itertools import pairwise
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import a_case, a_run, write_turns

from tertulia.storage.store import SqlStore


@pytest.fixture
def dialogue(cli: Cli) -> str:
    return str(cli("run", "tidewell", "--rehearse", "--rounds", "4", "--json").json["run"])


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Standard output is a terminal; nobody waits, and the seconds that would be waited are kept."""
    waited: list[float] = []
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("tertulia.cli.commands.replay.time.sleep", waited.append)
    return waited


def clocks(cli: Cli, run: str) -> list[float]:
    return [turn["sim_time_s"] for turn in cli("show", run, "--json").json["turns"]]


@pytest.mark.parametrize(("scenario", "more"), [("tidewell", ()), ("ferry_timetable", ("--thoughts",))])
def test_it_is_told_as_it_was_told_live(cli: Cli, scenario: str, more: tuple[str, ...]) -> None:
    live = cli("run", scenario, "--rehearse", "--rounds", "3", *more)
    replayed = cli("replay", "@last", *more)
    assert (replayed.code, replayed.out, replayed.err) == (0, live.out, "")
    assert "rehearsed: a stand-in speaks, not a model" in replayed.out


def test_a_part_of_it(cli: Cli, dialogue: str) -> None:
    turns = cli("show", dialogue, "--json").json["turns"]
    document = cli("replay", dialogue, "--from", 2, "--to", 3, "--json").json
    assert document["schema_version"] == 1
    assert document["run"] == dialogue
    assert document["turns"] == turns[1:3]
    told = cli("replay", dialogue, "--from", 3).out
    assert [turn["text"] in told for turn in turns] == [False, False, True, True]


def test_pauses_follow_the_simulated_clock(cli: Cli, dialogue: str, pauses: list[float]) -> None:
    told_s = clocks(cli, dialogue)
    steps_s = [0.0, *(after - before for before, after in pairwise(told_s))]
    assert min(steps_s[1:]) > 2
    cli("replay", dialogue, "--speed", 2)
    assert pauses == pytest.approx([step_s / 2 for step_s in steps_s])
    pauses.clear()
    cli("replay", dialogue)
    assert 0.5 < max(pauses) <= 3
    pauses.clear()
    cli("replay", dialogue, "--speed", 0)
    assert pauses == []


def test_ctrl_c(cli: Cli, dialogue: str, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        if seconds:
            raise KeyboardInterrupt

    monkeypatch.setattr("tertulia.cli.commands.replay.time.sleep", interrupt)
    result = cli("replay", dialogue)
    assert result.code == 130
    assert "Traceback" not in result.err


@pytest.mark.parametrize(("keys", "turns"), [("q", 0), ("\r\rq", 2), ("\r   ", 4)])
def test_step_by_step(
    cli: Cli, dialogue: str, pauses: list[float], monkeypatch: pytest.MonkeyPatch, keys: str, turns: int
) -> None:
    pressed = iter(keys)
    monkeypatch.setattr("tertulia.cli.commands.replay.typer.getchar", lambda: next(pressed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    result = cli("replay", dialogue, "--step")
    assert result.code == 0
    assert result.out.count("  00:") == turns
    assert pauses == []
    assert next(pressed, None) is None


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("zz99",), 3, ["'zz99'"]),
        (("@last", "--from", "9"), 3, ["no turn 9", "turns 1 to 3"]),
        (("@last", "--to", "0"), 3, ["no turn 0", "turns 1 to 3"]),
        (("@last", "--from", "3", "--to", "2"), 2, ["--from 3 --to 2"]),
        (("@last", "--speed", "-1"), 2, ["--speed -1"]),
        (("@last", "--speed", "nan"), 2, ["--speed nan"]),
        (("@last", "--speed", "inf"), 2, ["--speed inf"]),
        (("@last", "--speed", "1e-9"), 2, ["from 0.01"]),
        (("@last", "--step"), 2, ["no terminal"]),
        (("@last", "--step", "--speed", "2"), 2, ["--step", "--speed"]),
        (("@last", "--step", "--json"), 2, ["--step"]),
        (("empty", "--from", "1"), 3, ["no turn 1", "no turns yet"]),
    ],
)
def test_bad_requests(cli: Cli, arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    with SqlStore.open(Path("tertulia.db"), create=True) as store:
        store.create_run(a_run("empty"), a_case())
        store.create_run(a_run("d1a1"), a_case())
        write_turns(store, "d1a1", 1, 3)
    result = cli("replay", *arguments)
    result.complains(code, *words)
    assert result.out == ""
