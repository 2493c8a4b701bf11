from datetime import datetime
from pathlib import Path

import pytest
from support.meeting_files import ScenarioFile, file_of

from tertulia.state.errors import ScenarioError
from tertulia.worlds.scenario_file import read_scenario_file

SCENARIO = """\
name: the lost key
time: 2024-05-14 09:30:00
place: kitchen at the youth hostel
participants:
  - name: Ida Falk
    age: 31
    activity: emptying the drawers
    memories:
      - {text: Ida Falk saw a key on the stairs, time: 2024-05-14 08:55:00, importance: 7, kind: event}
      - Ida Falk has had the only spare key since March.
  - name: Jonas Brandt
    memories: [Jonas Brandt came home without his coat.]
previous_dialogues:
  - time: 2024-05-13 20:00:00
    lines:
      - [Jonas Brandt, "Is the door locked?"]
      - [Ida Falk, Always.]
  - time: 2024-05-12
    lines: [[Ida Falk, Welcome.]]
parameters: {removal_factor: 0.3}
"""


@pytest.fixture
def written(tmp_path: Path) -> ScenarioFile:
    return file_of(SCENARIO, tmp_path / "key.yaml")


def test_the_case_of_a_file(written) -> None:
    scenario = read_scenario_file(written())
    case = scenario.case("key.yaml")
    assert (case.scenario, case.time, case.place) == (
        "key.yaml",
        datetime(2024, 5, 14, 9, 30),
        "kitchen at the youth hostel",
    )
    assert [case.initiator.persona.name, case.partner.persona.name] == ["Ida Falk", "Jonas Brandt"]
    assert (case.initiator.persona.age, case.initiator.activity, case.partner.activity) == (
        31,
        "emptying the drawers",
        None,
    )
    assert scenario.parameters == {"removal_factor": 0.3}
    assert case.description is None
    described = written(("place:", "description: The last key is lost.\nplace:"))
    assert read_scenario_file(described).case("x").description == "The last key is lost."


def test_memories_come_oldest_first_and_keep_the_number_of_their_place_in_the_file(written) -> None:
    known, seen = read_scenario_file(written()).case("x").initiator.memories
    assert (known.id, known.kind, known.importance, known.created) == (
        "memory_2",
        "thought",
        5,
        datetime(2024, 5, 13, 9, 30),
    )
    assert (seen.id, seen.kind, seen.importance, seen.created) == (
        "memory_1",
        "event",
        7,
        datetime(2024, 5, 14, 8, 55),
    )


def test_previous_dialogues_come_oldest_first(written) -> None:
    earlier = read_scenario_file(written()).case("x").previous_dialogues
    assert [dialogue.time.day for dialogue in earlier] == [12, 13]
    assert [line.speaker for line in earlier[1].utterances] == ["Jonas Brandt", "Ida Falk"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("name: the lost key\n", "", "1: name: is missing"),
        (
            "2024-05-14 09:30:00",
            "half past nine",
            "2: time: takes a time such as 2024-05-14 09:30:00, not 'half past nine'",
        ),
        ("09:30:00", "09:30:00+02:00", "2: time: give the local time"),
        ("name: Jonas Brandt", "name: Ida Falk", "11: participants[1].name: 'Ida Falk' is there already; give"),
        (
            "name: Jonas Brandt",
            "name: ida  FALK",
            "11: participants[1].name: 'ida  FALK' is there already, as 'Ida Falk'",
        ),
        (
            "name: Jonas Brandt",
            'name: "Jonas\\nBrandt"',
            "11: participants[1].name: a name stands on one line, without",
        ),
        ("name: Jonas Brandt", 'name: "Jonas\\e[31m"', "11: participants[1].name: a name stands on one line"),
        ('[Jonas Brandt, "Is', '[Jonas Brand, "Is', "16: previous_dialogues[0].lines[0]: 'Jonas Brand' is not one of"),
        ("08:55:00", "09:30:00", "9: participants[0].memories[0].time: 2024-05-14 09:30:00 is not before"),
        ("2024-05-12", "2024-05-15", "18: previous_dialogues[1].time: 2024-05-15 00:00:00 is not before"),
        (
            "  - name: Jonas Brandt\n    memories: [Jonas Brandt came home without his coat.]\n",
            "",
            "4: participants: needs 2",
        ),
        ("previous_dialogues:", "  - {name: Third, memories: [x]}\nprevious_dialogues:", "1: description: is missing"),
        (
            "removal_factor: 0.3",
            "removal_facto: 0.3",
            "20: parameters.removal_facto: unknown parameter 'removal_facto' (did",
        ),
        ("removal_factor: 0.3", "temperature: 9", "20: parameters.temperature: 9: takes 5 at most"),
        (
            "age: 31",
            "age: 31\n    latency: cautious",
            "7: participants[0].latency: is not a field here, but in a meeting;",
        ),
        ("place: ", "place: " + "[" * 3000, "3: not YAML: a value lies more than 32 levels deep"),
        (SCENARIO, "name: !!python/name:os.system {}", "1: not YAML:"),
    ],
)
def test_errors_name_file_line_and_field(written, old: str, new: str, complaint: str) -> None:
    at = written((old, new))
    with pytest.raises(ScenarioError) as raised:
        read_scenario_file(at)
    assert str(raised.value).startswith(f"{at}:{complaint}")
    assert "\n" not in str(raised.value)
