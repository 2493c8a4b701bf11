"""A seat for a person on the command line: from a pipe, at a terminal, left and taken again."""

import asyncio
import os
import re
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Cli, Result
from support.meeting_case import NOW, a_quay, an_attendee

import tertulia.cli.terminal.keyboard
from tertulia.cli.terminal.keyboard import Keyboard
from tertulia.runs.planning.seats import check_is_there
from tertulia.state.errors import UsageError
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore

Types = Callable[..., Result]
QUARTER_PAST = NOW.replace(minute=15)
DIALOGUE = ("run", "tidewell", "--rehearse", "--seat", "Emeka", "--rounds", "4", "--set", "ending=off")


@pytest.fixture
def types(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Types:
    """Run a command whose standard input is a pipe that holds these lines."""

    def run(*arguments: str, text: str | bytes = "") -> Result:
        piped = tmp_path / "typed"
        piped.write_bytes(text.encode() if isinstance(text, str) else text)
        with piped.open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return cli(*arguments)

    return run


def turns() -> list[Turn]:
    with SqlStore.open("tertulia.db", create=False) as store:
        return store.turns(store.run("@last").run)


def own(name: str) -> list[str]:
    return [turn.text for turn in turns() if turn.speaker == name]


# --- from a pipe ----------------------------------------------------------------------------------------------------


def test_lines_of_a_pipe_are_what_is_said_and_where_they_end_the_run_is_interrupted_and_goes_on(
    types: Types, cli: Cli
) -> None:
    whole = types(*DIALOGUE, text="Good morning.\nI have to go.")
    first = turns()
    assert own("Emeka Obiora") == ["Good morning.", "I have to go."]
    assert "Good morning." in whole.out
    for told in ("You are Emeka Obiora", "turn 1"):
        assert told in whole.err
    left = types(*DIALOGUE, text="Good morning.\n")
    (run,) = re.findall(r"to go on: tertulia resume (\w+)", left.err)
    assert (whole.code, left.code) == (0, 130)
    assert "error" not in left.err
    assert cli("runs", "--json").json["runs"][0]["status"] == "interrupted"
    back = types("resume", run, "--seat", "emeka obiora", text="I have to go.\n")
    assert back.code == 0
    assert turns() == first


def test_an_empty_line_is_asked_again_in_a_dialogue(types: Types) -> None:
    result = types(*DIALOGUE, text="\n  \nWell then.\nYes.\n")
    assert own("Emeka Obiora") == ["Well then.", "Yes."]
    assert result.err.count("nobody else can speak now") == 2


def test_a_word_behind_a_slash_is_no_speech(types: Types) -> None:
    result = types(*DIALOGUE, text="/leev\n/pass\nGood morning.\n/etc is a folder.\n")
    assert own("Emeka Obiora") == ["Good morning.", "/etc is a folder."]
    assert "there is no /leev here; type /leave" in result.err
    assert "there is no /pass here" in result.err


def test_without_standard_input_the_run_waits_to_be_resumed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert cli(*DIALOGUE).code == 130


def test_a_name_that_nobody_has_is_told_with_those_there_are(types: Types) -> None:
    types("run", "tidewell", "--rehearse", "--seat", "Nobody").complains(3, "Nobody", "Emeka Obiora", "Leila Haddad")
    types("run", "tidewell", "--rehearse", "--set", "seat=Nobody").complains(3, "Nobody", "Emeka Obiora")


# --- looked at afterwards -------------------------------------------------------------------------------------------


def test_another_seat_needs_a_fork(types: Types) -> None:
    assert types(*DIALOGUE, text="Good morning.\n").code == 130
    result = types("resume", "@last", "--seat", "Leila Haddad")
    result.complains(2, "has the seat of Emeka Obiora", "tertulia fork", "--at 3 --seat 'Leila Haddad'")


def test_a_seat_is_not_taken_by_who_has_left() -> None:
    meeting = a_quay(participants=(an_attendee("Ana"), an_attendee("Bo", leaves=QUARTER_PAST)))
    after_s = meeting.offset_s(QUARTER_PAST, 0.0)
    check_is_there("Bo", meeting, after_s - 1)
    check_is_there("Ana", meeting, after_s)
    with pytest.raises(UsageError, match="seat=Bo: they have left by then, at 15:15"):
        check_is_there("Bo", meeting, after_s)


# --- at a terminal --------------------------------------------------------------------------------------------------


async def test_a_terminal_is_left_as_it_was_though_a_paste_was_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tertulia.cli.terminal.keyboard, "_QUIET_S", 0.3)
    screen, terminal = os.openpty()

    def buffers_lines() -> bool:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)

    with os.fdopen(screen, "wb"), os.fdopen(terminal) as file:
        keyboard = Keyboard(file)
        asked = asyncio.create_task(keyboard.line())
        os.write(screen, b"one\ntwo")
        while buffers_lines():
            await asyncio.sleep(0.01)
        keyboard.restore()
        assert buffers_lines()
        assert (await asked)[0] == "one\ntwo"
        assert buffers_lines()
