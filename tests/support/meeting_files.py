"""A scenario file of a meeting, with every field that there is, and what reading a file gives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.state.errors import ScenarioError
from tertulia.state.meeting import Meeting
from tertulia.worlds.meeting_file import MeetingScenario
from tertulia.worlds.scenario_file import read_scenario_file

KNOWN = tuple(MECHANISMS)

SCENARIO = """\
kind: group_chat
name: the broken boiler
description: There is no hot water in the hostel.
time: 2024-05-14 09:30:00
ends: 2024-05-14 10:00:00
place: kitchen
opening: {speaker: Ida Falk, text: The boiler is dead.}
participants:
  - name: Ida Falk
    age: 31
    traits: [extroverted, conscientious]
    character: patient
    descriptions: [Asks first., Answers last.]
    setting: Ida Falk has to cook for thirty.
    goals:
      - have hot water
      - {goal: sleep, sub_goals: [go home, lie down]}
    interests: [soup]
    relations: {Jonas: He owes her money.}
    emotion: annoyed
    latency: proactive
    weights: {topic: 0.1, goal: 0.5, emotion: 0.1, personality: 0.2}
    propensity: 0.9
    silence_discomfort: 1
    model: a/model
    memories:
      - {text: Ida Falk saw a puddle., time: 2024-05-14 08:55:00, importance: 7, kind: event}
      - Ida Falk has had the boiler since March.
  - name: Jonas
    schedule: {leaves: 09:45, reason: his train goes at ten}
    latency: [4.5, 2]
  - name: Runa
    schedule:
      joins: 9:35
      leaves: 2024-05-15 08:00:00
goals:
  - owner: Runa
    goal: find the leak
mechanisms: [time_analysis, goal_summary]
order: designated
lambda: 0.3
limits: {rounds: 40, minutes: 25}
parameters: {willingness_threshold: 0.6, tie_s: 0.2}
"""

TWO_PEOPLE = "name: x\ntime: 2024-05-14\nparticipants: [{name: Ida, memories: [a]}, {name: Bo, memories: [b]}]\n"

#: Writes a scenario with these replacements, and returns the path.
ScenarioFile = Callable[..., Path]


def file_of(scenario: str, path: Path) -> ScenarioFile:
    """Return a function that writes a scenario to a file; each replacement is made once, and has to be possible."""

    def write(*changes: tuple[str, str]) -> Path:
        text = scenario
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def read_meeting(at: Path) -> Meeting:
    scenario = read_scenario_file(at, KNOWN)
    assert isinstance(scenario, MeetingScenario)
    return scenario.meeting("boiler", KNOWN)


def scenario_error(at: Path) -> str:
    """The message about a file, after its path; a single line, and nothing but a `ScenarioError`."""
    with pytest.raises(ScenarioError) as raised:
        read_scenario_file(at, KNOWN)
    assert len(str(raised.value).splitlines()) == 1
    assert str(raised.value).startswith(f"{at}:")
    return str(raised.value).removeprefix(f"{at}:")
