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
    ida, jonas, runa = (line for line in result.out.splitlines()[1:4])
    assert "when asked by name; after 12 rounds without a word" in ida
    assert "never: their weights add up to 0.4" in jonas
    assert "when enough of topic, goal, feeling and character come together" in runa
    notes = " ".join(result.err.split())
    assert "note: Jonas can never come to speak: their weights add up to 0.4, and willingness_threshold is 0.5" in notes
    assert "note: Runa may stay silent for good" in notes


def test_settings_are_looked_at_and_an_order_without_a_race_needs_no_willingness(cli: Cli, tmp_path: Path) -> None:
    lower = json.loads(cli("scenarios", "check", written(tmp_path), "--set", "willingness_threshold=0.3", "--json").out)
    assert [person["never"] for person in lower["people"]] == [False, False, False]
    ordered = json.loads(cli("scenarios", "check", written(tmp_path), "--set", "order=random", "--json").out)
    assert ordered["warnings"] == []


def test_a_schedule_that_leaves_fewer_than_two_is_told(cli: Cli, tmp_path: Path) -> None:
    alone = BOILER.replace("traits: [introverted]", 'schedule: {leaves: "09:40"}')
    warnings = json.loads(cli("scenarios", "check", written(tmp_path, alone), "--json").out)["warnings"]
    assert warnings[-1] == "from 09:45 on fewer than two are there: the meeting ends then"


def test_where_nobody_can_it_is_an_error_and_before_a_run_too(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path)
    for command in (("scenarios", "check", file), ("run", file, "--rehearse")):
        result = cli(*command, "--set", "willingness_threshold=3")
        assert result.code == 2
        assert "nobody can reach willingness_threshold=3" in result.err
        assert "Traceback" not in result.err


def test_a_run_notes_on_standard_error_who_never_can(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", written(tmp_path), "--rehearse", "--rounds", "2", "--json")
    assert result.code == 0
    assert "note: Jonas can never come to speak" in " ".join(result.err.split())
    assert json.loads(result.out.splitlines()[-1])["turns"] == 2


def test_what_is_no_meeting_or_no_command_is_told(cli: Cli, tmp_path: Path) -> None:
    two = "name: x\ntime: 2024-05-14\nparticipants: [{name: Ida, memories: [a]}, {name: Bo, memories: [b]}]\n"
    assert "only a meeting is checked" in cli("scenarios", "check", written(tmp_path, two)).err
    assert "takes one SOURCE" in cli("scenarios", "check").err
    assert cli("scenarios", "inspect", "team_building").code == 2
