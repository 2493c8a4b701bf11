"""`scenarios check`: who comes to speak in a meeting, when, and who never does."""

import json
from pathlib import Path

from support.commands import Cli

BOILER = """
kind: group_chat
name: the boiler
description: The hostel has no hot water.
time: 2024-05-14 09:30:00
participants:
  - {name: Ida, traits: [introverted]}
  - {name: Jonas, weights: {topic: 0.1, goal: 0.1, emotion: 0.1, personality: 0.1}}
  - {name: Runa, weights: {topic: 0.3, goal: 0.9, emotion: 0, personality: 0}, schedule: {leaves: "09:45"}}
"""


def written(tmp_path: Path, text: str = BOILER) -> str:
    file = tmp_path / "boiler.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_everybody_of_the_shipped_meetings_comes_to_speak(cli: Cli) -> None:
    for name in ("team_building", "ferry_timetable", "mothers_house"):
        checked = json.loads(cli("scenarios", "check", name, "--json").out)
        assert checked["scenario"] == name
        assert checked["warnings"] == []
        assert all(person["when_asked"] and person["after_quiet_rounds"] <= 18 for person in checked["people"])


def test_who_never_can_and_who_may_stay_silent_are_named_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    result = cli("scenarios", "check", written(tmp_path))
    assert result.code == 0
    ida, jonas, runa = result.out.splitlines()[3:6]
    assert "when asked by name; after 12 rounds without a word" in ida
    assert "never: their weights add up to 0.4" in jonas
    assert "when enough of topic, goal, feeling and character come together" in runa
    notes = " ".join(result.err.split())
    assert "note: Jonas can never come to speak: their weights add up to 0.4, and willingness_threshold is 0.5" in notes
    assert "note: Runa may stay silent for good" in notes


def test_where_nobody_can_it_is_an_error_and_before_a_run_too(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path)
    for command in (("scenarios", "check", file), ("run", file, "--rehearse")):
        result = cli(*command, "--set", "willingness_threshold=3")
        assert result.code == 2
        assert "nobody can reach willingness_threshold=3" in result.err
        assert "Traceback" not in result.err


def test_minutes_in_which_fewer_than_two_are_there_take_no_rounds(cli: Cli, tmp_path: Path) -> None:
    text = """
kind: group_chat
name: gaps
description: People come and go.
time: 2026-05-06 15:00
ends: 2026-05-06 15:40
participants:
- {name: Ana, schedule: {leaves: "LEAVES"}}
- {name: Bo}
- {name: Di, schedule: {joins: "15:25"}}
"""
    for leaves, is_late in (("15:00:20", False), ("15:24:50", True)):
        file = written(tmp_path, text.replace("LEAVES", leaves))
        shown = cli("run", file, "--rehearse", "--rounds", "20")
        assert ("Di joins after 25 minutes and can't come" in shown.out + shown.err) == is_late
        assert (" Di: " in shown.out) == (not is_late)


def test_what_is_no_meeting_or_no_command_is_told(cli: Cli, tmp_path: Path) -> None:
    two = "name: x\ntime: 2024-05-14\nparticipants: [{name: Ida, memories: [a]}, {name: Bo, memories: [b]}]\n"
    assert (
        "a dialogue of two, who speak in turn (memories: Ida: 1, Bo: 1)"
        in cli("scenarios", "check", written(tmp_path, two)).out
    )
    assert "takes one SOURCE" in cli("scenarios", "check").err
    assert cli("scenarios", "inspect", "team_building").code == 2


def test_all_mistakes_of_a_file_are_told_at_once_and_none_that_follows(cli: Cli, tmp_path: Path) -> None:
    wrong = BOILER.replace("kind:", "plce: hall\nkind:").replace("[introverted]", "[introvert]").replace("0.3", "3")
    told = cli("scenarios", "check", written(tmp_path, wrong)).err.splitlines()
    assert [line.partition("boiler.yaml:")[2].partition(" is ")[0].partition(": ")[:1] for line in told] == [
        ("2",),
        ("8",),
        ("10",),
    ]
    unknown = BOILER + "goals: [{owner: Zoe, goal: x}]\nopening: {speaker: Kim, text: hi}\n"
    told = cli("run", written(tmp_path, unknown), "--rehearse").err.splitlines()
    assert ["'Zoe' is no" in told[0], "'Kim' is no" in told[1], len(told)] == [True, True, 2]


def test_villagers_are_checked_and_are_no_scenario(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, "- {name: Ada, properties: {Hobby: nets}, album: [a red boat]}\n" * 1)
    assert f"holds villagers, not a scenario; run it as: tertulia run villagers --set villagers={file}" in (
        cli("run", file, "--rehearse").err
    )
    shipped = cli("scenarios", "check", "villagers", "--json").json
    assert (shipped["kind"], len(shipped["people"]), shipped["warnings"]) == ("album_chat", 32, [])
