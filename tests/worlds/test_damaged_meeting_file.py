"""Scenario files that no meeting can be made of: refused in a line that names the file, the line and the field."""

from pathlib import Path

import pytest
import yaml
from support.meeting_files import ScenarioFile, read_meeting, scenario_error


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kind: group_chat", "kind: chat", "1: kind: unknown kind 'chat' (did you mean 'group_chat'?)"),
        ("time: 2024-05-14 09:30:00", "time: 0001-01-01", "4: time: give a year from 2 to 9998: '0001-01-01'"),
        ("2024-05-14 10:00:00", "2024-05-14 09:30:00", "5: ends: 2024-05-14 09:30:00 is not after the start"),
        ("place:", "name:", "6: 'name' stands twice; keep one of them"),
        ("speaker: Ida Falk", "speaker: Ida", "7: opening.speaker: 'Ida' is no participant (did you mean 'Ida Falk'?)"),
        ("speaker: Ida Falk", "speaker: Runa", "7: opening.speaker: 'Runa' is not there yet"),
        # who
        ("- name: Jonas", "- name: ida  FALK", "29: participants[1].name: 'ida  FALK' is there already, as 'Ida Falk'"),
        ("- name: Jonas", '- name: "Jo\\nnas"', "29: participants[1].name: a name stands on one line, without control"),
        ("conscientious]", "unconscious]", "11: participants[0].traits[1]: unknown trait 'unconscious' (did you mean"),
        (
            "conscientious]",
            "introverted]",
            "11: participants[0].traits[1]: 'introverted' and 'extroverted' are both of extra",
        ),
        (
            "Jonas: He owes",
            "Jon: He owes",
            "19: participants[0].relations.Jon: 'Jon' is no participant (did you mean 'Jonas'",
        ),
        (
            "Jonas: He owes",
            "Ida Falk: He owes",
            "19: participants[0].relations.Ida Falk: stands for a relation to oneself",
        ),
        ("annoyed", "anoyed", "20: participants[0].emotion: unknown emotion 'anoyed' (did you mean 'annoy"),
        ("proactive", "proactiv", "21: participants[0].latency: takes proactive, neutral, cautious, or ["),
        ("[4.5, 2]", "[4.5]", "31: participants[1].latency: takes two numbers, [scale, spread] in seconds, not [4.5]"),
        ("[4.5, 2]", "[0, 2]", "31: participants[1].latency: the scale is from 0.001 to 3600 seconds, not 0"),
        (
            "silence_discomfort: 1",
            "silence_discomfort: -1",
            "24: participants[0].silence_discomfort: takes 0 or more, not -1",
        ),
        (
            "08:55:00",
            "09:30:00",
            "27: participants[0].memories[0].time: 2024-05-14 09:30:00 is not before the scenario's",
        ),
        ("age: 31", "age: true", "10: participants[0].age: takes a whole number, not True"),
        ("propensity: 0.9", "propensity: yes", "23: participants[0].propensity: takes a number, not True"),
        ("goal: 0.5,", "goal: true,", "22: participants[0].weights.goal: takes a number, not True"),
        ("importance: 7", "importance: no", "27: participants[0].memories[0].importance: takes a number, not False"),
        # when
        ("09:45", "09:30", "30: participants[1].schedule.leaves: 2024-05-14 09:30:00 is not after the start"),
        ("09:45", "soon", "30: participants[1].schedule.leaves: takes a time such as 15:15 or 2024-05-14"),
        (
            "leaves: 09:45, ",
            "",
            "30: participants[1].schedule.reason: says why they leave, but there is no leaves that",
        ),
        ("joins: 9:35", "joins: 9:25", "34: participants[2].schedule.joins: 2024-05-14 09:25:00 is before the start"),
        (" 9:35", " 9:55", "34: participants[2].schedule.joins: at 2024-05-14 09:55:00 the meeting is over; it b"),
        ("2024-05-15 08:00:00", "9:35", "35: participants[2].schedule.leaves: 2024-05-14 09:35:00 is not aft"),
        ("leaves: 09:45,", "joins: 09:40, leaves: 09:45,", "8: participants: at the start there is one; it takes two"),
        ("minutes: 25", "minutes: true", "42: limits.minutes: takes a number, not True"),
        ("lambda: 0.3", "lambda: true", "41: lambda: takes a number, not True"),
        # what
        (
            "time_analysis,",
            "time_analysys,",
            "39: mechanisms[0]: unknown mechanism 'time_analysys' (did you mean 'time_anal",
        ),
        ("time_analysis,", "goal_summary,", "39: mechanisms[1]: 'goal_summary' stands twice"),
        ("designated", "selfdriven", "40: order: unknown order 'selfdriven' (did you mean 'self_driven'?)"),
        ("tie_s: 0.2", "ties: 0.2", "43: parameters.ties: unknown parameter 'ties' (did you mean 'tie_s'?)"),
        (
            "tie_s: 0.2",
            "memory_items_min: 40",
            "43: parameters.memory_items_min: 40 is above memory_items_max=12; set both",
        ),
        (
            "tie_s: 0.2",
            "max_turns: 9, max_rounds: 9",
            "43: parameters.max_rounds: stands twice; it is another name of 'max_",
        ),
        ("tie_s: 0.2", "max_rounds: 9", "42: limits.rounds: is set under parameters too; keep one of the two"),
    ],
)
def test_errors_name_file_line_and_field(meeting_file: ScenarioFile, old: str, new: str, expected: str) -> None:
    assert scenario_error(meeting_file((old, new))).startswith(expected)


def test_a_meeting_takes_two_to_a_thousand(tmp_path: Path) -> None:
    at = tmp_path / "many.yaml"

    def write(count: int) -> Path:
        people = [{"name": f"P{number}"} for number in range(count)]
        head = {"kind": "group_chat", "name": "x", "description": "y", "time": "2024-05-14 09:30:00"}
        at.write_text(yaml.safe_dump({**head, "participants": people}, sort_keys=False))
        return at

    assert len(read_meeting(write(200)).participants) == 200
    assert len(read_meeting(write(2)).participants) == 2
    assert scenario_error(write(1001)) == "5: participants: takes 1000 at most, not 1001"
    assert scenario_error(write(1)) == "5: participants: needs 2 or more, not 1"


def test_weights_are_refused_where_nobody_can_reach_the_threshold(meeting_file: ScenarioFile) -> None:
    raised, raced = ("threshold: 0.6", "threshold: 1.1"), ("order: designated", "order: self_driven")
    assert read_meeting(meeting_file(raised)), "nobody races for the floor"
    assert scenario_error(meeting_file(raised, raced)).startswith(
        "8: participants: nobody can reach willingness_threshold=1.1: the highest weights, those of 'Jonas', add up to"
    )
    assert read_meeting(meeting_file(("goal: 0.5,", "goal: 0.1,"), raced)), "Jonas and Runa can"


@pytest.mark.parametrize(
    "text",
    [
        "participants: &a [*a, *a, *a]",
        "order: !!bool maybe",
        "order: !!int ''",
        "? [a]\n: 1",
        "name: x\ntime: 2024-05-14\nparticipants: [{name: A, memories: [a]}, {name: B, memories: [b]}]\n"
        "parameters: {tie_s: '!!bool maybe'}",
        "".join(f"k{n}: &a{n} [{f'*a{n - 1}, ' * 9 if n else 'x'}]\n" for n in range(12)) + "order: *a11",
    ],
)
def test_files_made_to_harm_are_refused_at_once(tmp_path: Path, text: str) -> None:
    at = tmp_path / "harm.yaml"
    at.write_text(text)
    assert len(scenario_error(at)) < 500
