import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Cli

from nodes.mechanisms.registry import MECHANISMS
from state.errors import NotFoundError, ScenarioError
from state.meeting import BIG_FIVE, Meeting
from state.parameters import GROUP_CHAT, Parameters
from worlds.catalog import MEETINGS, resolve, settings_of
from worlds.meeting_file import MeetingScenario, check_weights
from worlds.scenario_file import read_scenario_file, scenario_schema
from worlds.yaml_file import YamlFile

ROOT = Path(__file__).parents[2]
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

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(*changes: tuple[str, str]) -> Path:
        text = SCENARIO
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        at = tmp_path / "boiler.yaml"
        at.write_text(text, encoding="utf-8")
        return at

    return write


def read(at: Path) -> Meeting:
    scenario = read_scenario_file(at, KNOWN)
    assert isinstance(scenario, MeetingScenario)
    return scenario.meeting("boiler", KNOWN)


def complaint(at: Path) -> str:
    """The message about a file, after its path; a single line, and nothing but a `ScenarioError`."""
    with pytest.raises(ScenarioError) as raised:
        read_scenario_file(at, KNOWN)
    assert len(str(raised.value).splitlines()) == 1
    assert str(raised.value).startswith(f"{at}:")
    return str(raised.value).removeprefix(f"{at}:")


# --- what a file says ----------------------------------------------------------------------------------------------


def test_the_meeting_of_a_file(written: Written) -> None:
    meeting = read(written())
    assert (meeting.scenario, meeting.title, meeting.place) == ("boiler", "the broken boiler", "kitchen")
    assert meeting.description == "There is no hot water in the hostel."
    assert (meeting.time, meeting.ends) == (datetime(2024, 5, 14, 9, 30), datetime(2024, 5, 14, 10, 0))
    assert meeting.opening
    assert (meeting.opening.speaker, meeting.opening.text) == ("Ida Falk", "The boiler is dead.")
    assert meeting.names == ("Ida Falk", "Jonas", "Runa")
    assert meeting.mechanisms == ("time_analysis", "goal_summary")


def test_a_participant_as_the_file_has_them(written: Written) -> None:
    ida = read(written()).participant("Ida Falk")
    assert (ida.persona.age, ida.persona.traits) == (31, "patient")
    assert ida.big_five == ("extroverted", "conscientious")
    assert ida.descriptions == ("Asks first.", "Answers last.")
    assert ida.setting == "Ida Falk has to cook for thirty."
    assert [(goal.text, goal.sub_goals) for goal in ida.goals] == [
        ("have hot water", ()),
        ("sleep", ("go home", "lie down")),
    ]
    assert ida.interests == ("soup",)
    assert ida.relations == (("Jonas", "He owes her money."),)
    assert (ida.emotion, ida.latency, ida.propensity, ida.silence_discomfort) == ("annoyed", "proactive", 0.9, 1)
    assert ida.weights.model_dump() == {"topic": 0.1, "goal": 0.5, "emotion": 0.1, "personality": 0.2}
    assert ida.model == "a/model"
    assert [memory.id for memory in ida.memories] == ["memory_2", "memory_1"], "oldest first"


def test_what_is_left_out_has_its_default(written: Written) -> None:
    jonas = read(written()).participant("Jonas")
    assert jonas.big_five == jonas.descriptions == jonas.goals == jonas.memories == ()
    assert (jonas.persona.traits, jonas.emotion, jonas.joins, jonas.propensity) == (None, "calm", None, None)
    assert jonas.weights.total == 1


def test_times_of_day_are_on_the_day_of_the_meeting_whatever_yaml_takes_them_for(written: Written) -> None:
    meeting = read(written())
    jonas, runa = meeting.participant("Jonas"), meeting.participant("Runa")
    assert (jonas.leaves, jonas.leaves_for) == (datetime(2024, 5, 14, 9, 45), "his train goes at ten")
    assert (runa.joins, runa.leaves) == (datetime(2024, 5, 14, 9, 35), datetime(2024, 5, 15, 8, 0))
    for clock in ("15:15", '"15:15"', "15:15:00", "2024-05-14 15:15:00", "2024-05-14T15:15"):
        leaves = read(written(("leaves: 09:45", f"leaves: {clock}"))).participant("Jonas").leaves
        assert leaves == datetime(2024, 5, 14, 15, 15), clock


def test_a_latency_pair_is_in_seconds(written: Written) -> None:
    assert read(written()).participant("Jonas").latency == (4.5, 2.0)


def test_traits_stand_for_a_character_that_is_not_described(written: Written) -> None:
    assert (
        read(written(("    character: patient\n", ""))).participants[0].persona.traits == "extroverted, conscientious"
    )


def test_goals_may_stand_under_their_owner_or_with_their_owner(written: Written) -> None:
    assert [goal.text for goal in read(written()).participant("Runa").goals] == ["find the leak"]
    both = read(written(("owner: Runa", "owner: Ida Falk")))
    assert [goal.text for goal in both.participant("Ida Falk").goals] == ["have hot water", "sleep", "find the leak"]


def test_without_mechanisms_all_known_ones_are_there(written: Written) -> None:
    line = "mechanisms: [time_analysis, goal_summary]\n"
    assert read(written((line, ""))).mechanisms == KNOWN
    assert read(written((line, "mechanisms: []\n"))).mechanisms == ()


def test_settings_come_over_those_of_group_chat(written: Written) -> None:
    settings_of_file = settings_of(str(written()), KNOWN)
    assert settings_of_file == {
        **GROUP_CHAT,
        "order": "designated",
        "removal_factor": 0.3,
        "max_turns": 40,
        "max_minutes": 25,
        "willingness_threshold": 0.6,
        "tie_s": 0.2,
    }
    assert Parameters().with_settings(settings_of_file).order == "designated"


def test_a_scheduled_end_is_the_only_limit_in_minutes_unless_there_is_another(written: Written) -> None:
    no_limits = ("limits: {rounds: 40, minutes: 25}\n", "")
    assert settings_of(str(written(no_limits)))["max_minutes"] is None
    assert settings_of(str(written(no_limits, ("ends: 2024-05-14 10:00:00\n", ""))))["max_minutes"] == 30


@pytest.mark.parametrize("name", ['"Ida \\"O\'Neil\\""', "'Ida 🦀'", "{0}", "Ida: x", "Zoë 👩‍🚒", "名前", "DROP; --"])
def test_names_may_hold_quotes_and_emoji(written: Written, name: str) -> None:
    quoted = name if name.startswith(('"', "'")) else f"'{name}'"
    expected = yaml.safe_load(quoted)
    meeting = read(written(("  - name: Ida Falk", f"  - name: {quoted}"), ("speaker: Ida Falk", f"speaker: {quoted}")))
    assert meeting.names[0] == expected
    assert Meeting.model_validate_json(meeting.model_dump_json()) == meeting


def test_a_name_that_yaml_folds_is_one_line(written: Written) -> None:
    assert (
        read(written(("  - name: Runa", "  - name: Ru\n      na"), ("owner: Runa", "owner: Ru na"))).names[2] == "Ru na"
    )


# --- which kind a file is ------------------------------------------------------------------------------------------

TWO = "name: x\ntime: 2024-05-14\nparticipants: [{name: Ida, memories: [a]}, {name: Bo, memories: [b]}]\n"


@pytest.mark.parametrize(
    "more", ["kind: group_chat", "order: random", "mechanisms: []", "goals: [{owner: Bo, goal: go}]"]
)
def test_two_people_meet_where_the_file_says_so(tmp_path: Path, more: str) -> None:
    at = tmp_path / "two.yaml"
    at.write_text(TWO)
    assert not isinstance(read_scenario_file(at), MeetingScenario)
    at.write_text(f"{TWO}{more}\ndescription: y\n")
    assert isinstance(read_scenario_file(at), MeetingScenario)


def test_three_people_meet_in_any_case(tmp_path: Path) -> None:
    at = tmp_path / "three.yaml"
    at.write_text("name: x\ndescription: y\ntime: 2024-05-14\nparticipants: [{name: A}, {name: B}, {name: C}]\n")
    assert read(at).names == ("A", "B", "C")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("limits: {rounds: 3}", "4: limits: is not a field here, but in a meeting; write kind: group_chat for one"),
        (
            "kind: group_chat\ndescription: y\nprevious_dialogues: []",
            "6: previous_dialogues: is not a field here, but in",
        ),
        ("kind: meeting\ndescription: y", "4: kind: unknown kind 'meeting' (known: group_chat)"),
    ],
)
def test_a_field_of_the_other_kind_is_told_to_be_one(tmp_path: Path, more: str, expected: str) -> None:
    at = tmp_path / "two.yaml"
    at.write_text(TWO + more)
    assert complaint(at).startswith(expected)


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kind: group_chat", "kind: chat", "1: kind: unknown kind 'chat' (did you mean 'group_chat'?)"),
        ("name: the broken boiler\n", "", "1: name: is missing"),
        ("description: There is no hot water in the hostel.\n", "", "1: description: is missing"),
        ("time: 2024-05-14 09:30:00", "time: noon", "4: time: not a time such as 2024-05-14 09:30:00: 'noon'"),
        ("time: 2024-05-14 09:30:00", "time: 0001-01-01", "4: time: give a year from 2 to 9998: '0001-01-01'"),
        (
            "ends: 2024-05-14 10:00:00",
            "ends: 2024-05-14 09:30:00",
            "5: ends: 2024-05-14 09:30:00 is not after the start",
        ),
        ("place:", "plaice:", "6: plaice: is not a field here (did you mean 'place'?)"),
        ("place:", "name:", "6: not YAML: 'name' stands twice"),
        ("speaker: Ida Falk", "speaker: Ida", "7: opening.speaker: 'Ida' is no participant (did you mean 'Ida Falk'?)"),
        ("speaker: Ida Falk", "speaker: Runa", "7: opening.speaker: 'Runa' is not there yet"),
        (
            "opening: {speaker: Ida Falk, text: The boiler is dead.}",
            "opening: Hello",
            "7: opening: takes fields, each with its value: 'Hello'",
        ),
        # who
        (
            "  - name: Jonas",
            "  - name: ida  FALK",
            "29: participants[1].name: 'ida  FALK' is there already, as 'Ida Falk'",
        ),
        (
            "  - name: Jonas",
            '  - name: "Jo\\nnas"',
            "29: participants[1].name: a name stands on one line, without control",
        ),
        ("  - name: Jonas", '  - name: "Jo\\enas"', "29: participants[1].name: a name stands on one line"),
        ("  - name: Jonas", "  - name: ''", "29: participants[1].name: String should have at least 1 character: ''"),
        ("  - name: Jonas", "  - name: No", "29: participants[1].name: takes a text; if this is one, put it in quotes"),
        ("age: 31", "agee: 31", "10: participants[0].agee: is not a field here (did you mean 'age'?)"),
        ("conscientious]", "unconscious]", "11: participants[0].traits[1]: unknown trait 'unconscious' (did you mean"),
        (
            "conscientious]",
            "introverted]",
            "11: participants[0].traits[1]: 'introverted' and 'extroverted' are both of extra",
        ),
        (
            "conscientious]",
            "extroverted]",
            "11: participants[0].traits[1]: 'extroverted' and 'extroverted' are both of",
        ),
        ("traits: [extroverted, conscientious]", "traits: open", "11: participants[0].traits: takes a list: 'open'"),
        ("[Asks first., Answers last.]", str(["x"] * 11), "13: participants[0].descriptions: takes 10 at most, not 11"),
        ("goal: sleep,", "gaol: sleep,", "17: participants[0].goals[1].goal: is missing"),
        (
            "sub_goals: [",
            "subgoals: [",
            "17: participants[0].goals[1].subgoals: is not a field here (did you mean 'sub_",
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
        (
            "emotion: annoyed",
            "emotion: anoyed",
            "20: participants[0].emotion: unknown emotion 'anoyed' (did you mean 'annoy",
        ),
        (
            "latency: proactive",
            "latency: proactiv",
            "21: participants[0].latency: takes proactive, neutral, cautious, or [",
        ),
        ("[4.5, 2]", "[4.5]", "31: participants[1].latency: takes two numbers, [scale, spread] in seconds: [4.5]"),
        ("[4.5, 2]", "[0, 2]", "31: participants[1].latency: the scale is from 0.001 to 3600 seconds, not 0"),
        ("[4.5, 2]", "[4.5, -1]", "31: participants[1].latency: the spread is from 0 to 3600 seconds, not -1"),
        ("[4.5, 2]", "[.nan, 2]", "31: participants[1].latency: the scale is from 0.001 to 3600 seconds, not nan"),
        ("goal: 0.5,", "goal: 1.5,", "22: participants[0].weights.goal: Input should be less than or equal to 1: 1.5"),
        (
            "goal: 0.5,",
            "goal: 0.1,",
            "22: participants[0].weights: the weights of 'Ida Falk' add up to 0.5, so that they",
        ),
        (
            "willingness_threshold: 0.6",
            "willingness_threshold: 1.1",
            "22: participants[0].weights: the weights of 'Ida Fa",
        ),
        (
            "propensity: 0.9",
            "propensity: 9",
            "23: participants[0].propensity: Input should be less than or equal to 1: 9",
        ),
        (
            "silence_discomfort: 1",
            "silence_discomfort: -1",
            "24: participants[0].silence_discomfort: Input should be gre",
        ),
        (
            "08:55:00",
            "09:30:00",
            "27: participants[0].memories[0].time: 2024-05-14 09:30:00 is not before the scenario's",
        ),
        # when
        (
            "leaves: 09:45",
            "leaves: 09:30",
            "30: participants[1].schedule.leaves: 2024-05-14 09:30:00 is not after the start",
        ),
        (
            "leaves: 09:45",
            "leaves: 00:15",
            "30: participants[1].schedule.leaves: 2024-05-14 00:15:00 is not after the start",
        ),
        ("leaves: 09:45", "leaves: 25:15", "30: participants[1].schedule.leaves: hour must be in 0..23: '25:15'"),
        (
            "leaves: 09:45",
            "leaves: soon",
            "30: participants[1].schedule.leaves: not a time such as 15:15 or 2024-05-14",
        ),
        (
            "leaves: 09:45, ",
            "",
            "30: participants[1].schedule.reason: says why they leave, but there is no leaves that",
        ),
        ("joins: 9:35", "joins: 9:25", "34: participants[2].schedule.joins: 2024-05-14 09:25:00 is before the start"),
        (
            "joins: 9:35",
            "joins: 9:55",
            "34: participants[2].schedule.joins: at 2024-05-14 09:55:00 the meeting is over; it b",
        ),
        (
            "leaves: 2024-05-15 08:00:00",
            "leaves: 9:35",
            "35: participants[2].schedule.leaves: 2024-05-14 09:35:00 is not aft",
        ),
        (
            "{leaves: 09:45,",
            "{joins: 09:40, leaves: 09:45,",
            "8: participants: at the start there is one; it takes two",
        ),
        # what
        ("  - owner: Runa\n    goal:", "  - goal:", "37: goals[0].owner: is missing"),
        ("owner: Runa", "owner: Runna", "37: goals[0].owner: 'Runna' is no participant (did you mean 'Runa'?)"),
        (
            "time_analysis,",
            "time_analysys,",
            "39: mechanisms[0]: unknown mechanism 'time_analysys' (did you mean 'time_anal",
        ),
        ("time_analysis,", "goal_summary,", "39: mechanisms[1]: 'goal_summary' stands twice"),
        (
            "order: designated",
            "order: selfdriven",
            "40: order: unknown order 'selfdriven' (did you mean 'self_driven'?)",
        ),
        ("order: designated", "order: [a]", "40: order: unknown order ['a']"),
        ("lambda: 0.3", "lambda: 3", "41: lambda: Input should be less than or equal to 1: 3"),
        ("rounds: 40", "rounds: 0", "42: limits.rounds: Input should be greater than or equal to 1: 0"),
        ("minutes: 25", "hours: 25", "42: limits.hours: is not a field here"),
        ("tie_s: 0.2", "ties: 0.2", "43: parameters.ties: unknown parameter 'ties' (did you mean 'tie_s'?)"),
        ("tie_s: 0.2", "tie_s: -1", "43: parameters.tie_s: -1: Input should be greater than or equal to 0"),
        ("tie_s: 0.2", "tie_s: [1]", "43: parameters.tie_s: takes one value: [1]"),
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
        ("tie_s: 0.2", "removal_factor: 0.2", "41: lambda: is set under parameters too; keep one of the two"),
        ("tie_s: 0.2", "max_rounds: 9", "42: limits.rounds: is set under parameters too; keep one of the two"),
    ],
)
def test_errors_name_file_line_and_field(written: Written, old: str, new: str, expected: str) -> None:
    assert complaint(written((old, new))).startswith(expected)


def test_a_meeting_takes_two_to_sixty_four(tmp_path: Path) -> None:
    at = tmp_path / "many.yaml"

    def write(count: int) -> Path:
        people = [{"name": f"P{number}"} for number in range(count)]
        head = {"kind": "group_chat", "name": "x", "description": "y", "time": "2024-05-14 09:30:00"}
        at.write_text(yaml.safe_dump({**head, "participants": people}, sort_keys=False))
        return at

    assert len(read(write(64)).participants) == 64
    assert len(read(write(2)).participants) == 2
    assert complaint(write(65)) == "5: participants: takes 64 at most, not 65"
    assert complaint(write(1)) == "5: participants: needs 2 or more, not 1"


def test_weights_that_just_reach_the_threshold_pass(written: Written) -> None:
    exactly = (
        "{topic: 0.1, goal: 0.5, emotion: 0.1, personality: 0.2}",
        "{topic: 0.3, goal: 0.1, emotion: 0.2, personality: 0}",
    )
    assert 0.3 + 0.1 + 0.2 != 0.6, "as floating-point numbers"
    assert read(written(exactly)).participants[0].weights.total == pytest.approx(0.6)


def test_weights_are_checked_against_the_threshold_of_a_run_too(written: Written) -> None:
    meeting = read(written())
    check_weights(meeting, 0.9)
    with pytest.raises(ScenarioError, match=r"^boiler: the weights of 'Ida Falk' add up to 0\.9.*threshold=0\.95"):
        check_weights(meeting, 0.95)


def test_mechanisms_are_not_checked_where_none_are_known(written: Written) -> None:
    scenario = read_scenario_file(written(("time_analysis", "mine")))
    assert isinstance(scenario, MeetingScenario)
    assert scenario.meeting("x").mechanisms == ("mine", "goal_summary")


# --- damage --------------------------------------------------------------------------------------------------------

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("15:15"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
TOKENS = (
    "\n",
    " ",
    "- ",
    ": ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "&a ",
    "*a",
    "<<: ",
    "!!bool ",
    "!!int ",
    "|",
    "\t",
    "\x00",
    "~",
    "?",
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers within a value, each with each of its keys or indices."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def use(at: Path) -> None:
    """Do with a file all that a run does before it begins; only the errors that speak to people may come of it."""
    message = None
    try:
        start = resolve(str(at), KNOWN)
        parameters = Parameters().with_settings(settings_of(str(at), KNOWN))
        if isinstance(start, Meeting):
            check_weights(start, parameters.willingness_threshold)
            assert Meeting.model_validate_json(start.model_dump_json()) == start
    except (ScenarioError, NotFoundError) as error:
        message = str(error)
    if message is not None:
        assert str(at) in message
        assert len(message.splitlines()) == 1


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_file_with_any_value_replaced_is_told_apart(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    values = YamlFile.read(MEETINGS["mothers_house"]).values
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(list(places(values))))
        container[key] = data.draw(JUNK)
    at = tmp_path_factory.getbasetemp() / "replaced.yaml"
    at.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    use(at)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SCENARIO)), st.integers(0, 30), st.sampled_from(TOKENS) | st.text(max_size=4)),
        min_size=1,
        max_size=3,
    )
)
def test_a_file_with_any_text_damaged_is_told_apart(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int, str]]
) -> None:
    text = SCENARIO
    for start, length, token in cuts:
        text = text[:start] + token + text[start + length :]
    at = tmp_path_factory.getbasetemp() / "damaged.yaml"
    at.write_text(text, encoding="utf-8", errors="replace")
    use(at)


@pytest.mark.parametrize(
    "text",
    [
        "&a [*a, *a, *a]",
        "participants: &a [*a, *a, *a]",
        "[" * 3000,
        "order: !!bool maybe",
        "order: !!int ''",
        "age: " + "9" * 5000,
        "? [a]\n: 1",
        "name: x\ntime: 2024-05-14\nparticipants: [{name: A, memories: [a]}, {name: B, memories: [b]}]\n"
        "parameters: {tie_s: '!!bool maybe'}",
        "".join(f"k{n}: &a{n} [{f'*a{n - 1}, ' * 9 if n else 'x'}]\n" for n in range(12)) + "parameters: {tie_s: *a11}",
        "".join(f"k{n}: &a{n} [{f'*a{n - 1}, ' * 9 if n else 'x'}]\n" for n in range(12)) + "order: *a11",
    ],
)
def test_files_made_to_harm_are_refused_at_once(tmp_path: Path, text: str) -> None:
    at = tmp_path / "harm.yaml"
    at.write_text(text)
    assert len(complaint(at)) < 500


# --- what is shipped -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEETINGS)
def test_a_shipped_meeting_is_whole(name: str) -> None:
    meeting = resolve(name, KNOWN)
    assert isinstance(meeting, Meeting)
    assert meeting.mechanisms == KNOWN
    assert meeting.opening
    assert meeting.ends
    check_weights(meeting, Parameters().with_settings(settings_of(name, KNOWN)).willingness_threshold)
    for attendee in meeting.participants:
        assert attendee.persona.background
        assert attendee.activity
        assert attendee.interests
        assert attendee.relations
        assert 3 <= len(attendee.memories) <= 6
        assert all(10 <= len(text.split()) <= 30 for text in attendee.descriptions)


def test_the_team_building_meeting_has_the_facts_of_the_paper() -> None:
    """ChatAgents §IV-B and Table II; its `unconscious` is read as unconscientious."""
    meeting = resolve("team_building", KNOWN)
    assert isinstance(meeting, Meeting)
    poles = {attendee.persona.name: attendee.big_five for attendee in meeting.participants}
    assert {name: tuple(poles[name]) for name in poles} == {
        "Alice": ("introverted", "agreeable", "unconscientious", "neurotic", "open"),
        "Bob": ("extroverted", "agreeable", "unconscientious", "emotionally stable", "closed"),
        "Cindy": ("extroverted", "antagonistic", "unconscientious", "emotionally stable", "open"),
        "David": ("introverted", "antagonistic", "unconscientious", "emotionally stable", "closed"),
        "Eva": ("extroverted", "agreeable", "conscientious", "neurotic", "open"),
    }
    assert {attendee.persona.name: attendee.latency for attendee in meeting.participants} == {
        "Alice": (3.6, 3.0),
        "Bob": (4.3, 2.5),
        "Cindy": (3.9, 2.8),
        "David": (4.8, 2.0),
        "Eva": (4.5, 2.6),
    }
    assert (meeting.time.hour, meeting.time.minute, meeting.offset_s(meeting.ends, 0)) == (15, 0, 30 * 60)
    assert meeting.offset_s(meeting.participant("Bob").leaves, 0) == 15 * 60
    assert meeting.participant("Cindy").silence_discomfort == 1
    assert len(meeting.participant("Eva").goals[0].sub_goals) == 4
    assert all(len(attendee.descriptions) == 10 and attendee.setting for attendee in meeting.participants)


def test_meetings_are_listed_beside_the_towns(cli: Cli) -> None:
    lines = cli("scenarios").out.splitlines()
    at = lines.index("tertulia run team_building")
    assert lines[at + 1].startswith("Planning the team day, Thursday 14 May 2026, 15:00 to 15:30, ")
    assert lines[at + 2] == "Alice, Bob (until 15:15), Cindy, David, Eva"
    cases = cli("scenarios", "--json").json["cases"]
    assert {case["scenario"] for case in cases} > set(MEETINGS)
    assert {case["case"] for case in cases if case["initiator"] is None} == {0}


def test_a_file_is_checked_without_being_run(cli: Cli, written: Written) -> None:
    assert "the broken boiler" in cli("scenarios", str(written())).out
    at = written(("time_analysis", "time_analyses"))
    cli("scenarios", str(at)).complains(2, "boiler.yaml:39: mechanisms[0]: unknown mechanism 'time_analyses'")


def test_the_shipped_meetings_differ_in_kind() -> None:
    meetings = [resolve(name, KNOWN) for name in MEETINGS]
    assert sorted(len(meeting.names) for meeting in meetings) == [3, 5, 9]
    people = [person for meeting in meetings if isinstance(meeting, Meeting) for person in meeting.participants]
    assert {type(person.latency) for person in people} == {str, tuple}
    assert {person.joins is None for person in people} == {person.leaves is None for person in people} == {True, False}
    assert any(len(person.big_five) < len(BIG_FIVE) for person in people)
    assert any(not person.descriptions for person in people)


# --- the schema ----------------------------------------------------------------------------------------------------

SCHEMA = ROOT / "docs" / "scenario.schema.json"

#: Keywords that say nothing about what is valid.
REMARKS = {"$schema", "$defs", "title", "description", "default"}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value satisfies a JSON Schema, as far as ours go; any keyword that is not known here is an error."""
    checks: dict[str, Callable[[Any], bool]] = {
        "$ref": lambda ref: fits(value, root["$defs"][ref.removeprefix("#/$defs/")], root),
        "anyOf": lambda ways: any(fits(value, way, root) for way in ways),
        "if": lambda test: fits(value, schema["then" if fits(value, test, root) else "else"], root),
        "then": lambda _: True,
        "else": lambda _: True,
        "type": lambda name: isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name != "boolean"),
        "const": lambda only: value == only,
        "enum": lambda known: value in known,
        "minimum": lambda least: not is_number(value) or value >= least,
        "maximum": lambda most: not is_number(value) or value <= most,
        "exclusiveMinimum": lambda bound: not is_number(value) or value > bound,
        "minLength": lambda least: not isinstance(value, str) or len(value) >= least,
        "minItems": lambda least: not isinstance(value, list) or len(value) >= least,
        "maxItems": lambda most: not isinstance(value, list) or len(value) <= most,
        "items": lambda each: not isinstance(value, list) or all(fits(item, each, root) for item in value),
        "prefixItems": lambda eachs: (
            not isinstance(value, list) or all(fits(item, each, root) for item, each in zip(value, eachs, strict=False))
        ),
        "required": lambda names: not isinstance(value, dict) or set(names) <= set(value),
        "properties": lambda fields: (
            not isinstance(value, dict)
            or all(fits(value[name], each, root) for name, each in fields.items() if name in value)
        ),
        "propertyNames": lambda each: not isinstance(value, dict) or all(fits(name, each, root) for name in value),
        "additionalProperties": lambda each: (
            not isinstance(value, dict)
            or all(
                each is not False and (each is True or fits(value[name], each, root))
                for name in set(value) - set(schema.get("properties", ()))
            )
        ),
    }
    return all(checks[keyword](argument) for keyword, argument in schema.items() if keyword not in REMARKS)


TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_the_shipped_schema_is_current(cli: Cli) -> None:
    shown = cli("scenarios", "--schema").out
    assert json.loads(shown) == scenario_schema(KNOWN)
    assert SCHEMA.read_text(encoding="utf-8") == shown, "run `tertulia scenarios --schema > docs/scenario.schema.json`"


@pytest.mark.parametrize("name", MEETINGS)
def test_what_is_shipped_satisfies_the_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert fits(YamlFile.read(MEETINGS[name]).values, schema, schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("conscientious]", "unconscious]"),
        ("order: designated", "order: mine"),
        ("time_analysis", "mine"),
        ("age: 31", "agee: 31"),
        ("tie_s", "ties"),
        ("[4.5, 2]", "[0, 2]"),
        ("goal: 0.5,", "goal: 1.5,"),
        ("  - owner: Runa\n    goal:", "  - goal:"),
        ("emotion: annoyed", "emotion: cross"),
        ("lambda: 0.3", "lambda: 3"),
    ],
)
def test_the_schema_sees_what_a_field_by_itself_shows(written: Written, old: str, new: str) -> None:
    schema = scenario_schema(KNOWN)
    assert fits(YamlFile.read(written()).values, schema, schema)
    assert not fits(YamlFile.read(written((old, new))).values, schema, schema)


def test_the_schema_tells_the_kinds_apart_as_the_reader_does(tmp_path: Path) -> None:
    schema = scenario_schema(KNOWN)
    at = tmp_path / "two.yaml"
    for text, valid in [(TWO, True), (f"{TWO}order: random", False), (f"{TWO}order: random\ndescription: y", True)]:
        at.write_text(text)
        assert fits(YamlFile.read(at).values, schema, schema) is valid


# --- the documentation ---------------------------------------------------------------------------------------------


def test_the_examples_of_the_documentation_are_scenarios(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    examples = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "participants:" in block]
    assert len(examples) == 2
    at = tmp_path / "example.yaml"
    schema = scenario_schema(KNOWN)
    kinds = []
    for example in examples:
        at.write_text(example, encoding="utf-8")
        kinds.append(isinstance(resolve(str(at), KNOWN), Meeting))
        assert fits(YamlFile.read(at).values, schema, schema)
    assert kinds == [False, True]


def test_the_example_of_the_module_is_a_meeting(tmp_path: Path) -> None:
    import worlds.meeting_file

    found = re.search(r"```yaml\n(.*?)```", worlds.meeting_file.__doc__ or "", re.DOTALL)
    assert found
    at = tmp_path / "module.yaml"
    at.write_text(found[1], encoding="utf-8")
    assert read(at).names == ("Ida Falk", "Jonas Brandt", "Runa")
