"""Meetings from scenario files: what a file says, which kind it is of, and those that are shipped."""

from datetime import datetime
from pathlib import Path

import pytest
import yaml
from support.meeting_files import KNOWN, TWO_PEOPLE, ScenarioFile, read_meeting, scenario_error

from tertulia.langgraph.messages import text_field
from tertulia.langgraph.people import read_people
from tertulia.prompts.renaming import renaming_of
from tertulia.runs.planning.seats import with_seat
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import GROUP_CHAT, Parameters
from tertulia.state.records import Case, Participant, Persona
from tertulia.views.reading.rounds import find_agent
from tertulia.worlds.catalog import MEETINGS, resolve, settings_of
from tertulia.worlds.changes import with_memory, with_people
from tertulia.worlds.meeting_file import MeetingScenario, check_weights
from tertulia.worlds.scenario_file import read_scenario_file

# --- what a file says ----------------------------------------------------------------------------------------------


def test_the_meeting_of_a_file(meeting_file: ScenarioFile) -> None:
    meeting = read_meeting(meeting_file())
    assert (meeting.scenario, meeting.title, meeting.place) == ("boiler", "the broken boiler", "kitchen")
    assert meeting.description == "There is no hot water in the hostel."
    assert (meeting.time, meeting.ends) == (datetime(2024, 5, 14, 9, 30), datetime(2024, 5, 14, 10, 0))
    assert meeting.opening
    assert (meeting.opening.speaker, meeting.opening.text) == ("Ida Falk", "The boiler is dead.")
    assert meeting.names == ("Ida Falk", "Jonas", "Runa")
    assert meeting.mechanisms == ("time_analysis", "goal_summary")


def test_a_participant_as_the_file_has_them(meeting_file: ScenarioFile) -> None:
    ida = read_meeting(meeting_file()).participant("Ida Falk")
    assert (ida.persona.age, ida.persona.character) == (31, "patient")
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


def test_a_quoted_number_is_one(meeting_file: ScenarioFile) -> None:
    quoted = (("age: 31", "age: '31'"), ("propensity: 0.9", 'propensity: "0.9"'), ("goal: 0.5,", 'goal: "0.5",'))
    assert read_meeting(meeting_file(*quoted)) == read_meeting(meeting_file())


def test_what_is_left_out_has_its_default(meeting_file: ScenarioFile) -> None:
    jonas = read_meeting(meeting_file()).participant("Jonas")
    assert jonas.big_five == jonas.descriptions == jonas.goals == jonas.memories == ()
    assert (jonas.persona.character, jonas.emotion, jonas.joins, jonas.propensity) == (None, "calm", None, None)
    assert jonas.weights.total == 1


def test_times_of_day_are_on_the_day_of_the_meeting_whatever_yaml_takes_them_for(meeting_file: ScenarioFile) -> None:
    meeting = read_meeting(meeting_file())
    jonas, runa = meeting.participant("Jonas"), meeting.participant("Runa")
    assert (jonas.leaves, jonas.leaves_for) == (datetime(2024, 5, 14, 9, 45), "his train goes at ten")
    assert (runa.joins, runa.leaves) == (datetime(2024, 5, 14, 9, 35), datetime(2024, 5, 15, 8, 0))
    for clock in ("15:15", '"15:15"', "15:15:00", "2024-05-14 15:15:00", "2024-05-14T15:15"):
        leaves = read_meeting(meeting_file(("leaves: 09:45", f"leaves: {clock}"))).participant("Jonas").leaves
        assert leaves == datetime(2024, 5, 14, 15, 15), clock


def test_goals_may_stand_under_their_owner_or_with_their_owner(meeting_file: ScenarioFile) -> None:
    assert [goal.text for goal in read_meeting(meeting_file()).participant("Runa").goals] == ["find the leak"]
    both = read_meeting(meeting_file(("owner: Runa", "owner: Ida Falk")))
    assert [goal.text for goal in both.participant("Ida Falk").goals] == ["have hot water", "sleep", "find the leak"]


def test_without_mechanisms_all_known_ones_are_there(meeting_file: ScenarioFile) -> None:
    line = "mechanisms: [time_analysis, goal_summary]\n"
    assert read_meeting(meeting_file((line, ""))).mechanisms == KNOWN
    assert read_meeting(meeting_file((line, "mechanisms: []\n"))).mechanisms == ()


def test_settings_come_over_those_of_group_chat(meeting_file: ScenarioFile) -> None:
    settings_of_file = settings_of(str(meeting_file()), KNOWN)
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


def test_a_scheduled_end_is_the_only_limit_in_minutes_unless_there_is_another(meeting_file: ScenarioFile) -> None:
    no_limits = ("limits: {rounds: 40, minutes: 25}\n", "")
    assert settings_of(str(meeting_file(no_limits)))["max_minutes"] is None
    assert settings_of(str(meeting_file(no_limits, ("ends: 2024-05-14 10:00:00\n", ""))))["max_minutes"] == 30


@pytest.mark.parametrize("name", ['"Ida \\"O\'Neil\\""', "'Ida 🦀'", "{0}", "Ida: x", "Zoë 👩‍🚒", "名前", "DROP; --"])
def test_names_may_hold_quotes_and_emoji(meeting_file: ScenarioFile, name: str) -> None:
    quoted = name if name.startswith(('"', "'")) else f"'{name}'"
    expected = yaml.safe_load(quoted)
    meeting = read_meeting(
        meeting_file(("  - name: Ida Falk", f"  - name: {quoted}"), ("speaker: Ida Falk", f"speaker: {quoted}"))
    )
    assert meeting.names[0] == expected
    assert Meeting.model_validate_json(meeting.model_dump_json()) == meeting


#: José, as macOS and some keyboards write it.
APART = "Jose\u0301"


def test_a_name_is_the_same_however_its_accents_are_written(tmp_path: Path) -> None:
    at = tmp_path / "jose.yaml"
    for name, other in (("José", APART), (APART, "José")):
        at.write_text(
            f"""name: x
time: 2024-05-14
participants:
  - {{name: {name}}}
  - {{name: Inés, relations: {{{other}: brother}}}}
kind: group_chat
description: The roof leaks.
opening: {{speaker: {other}, text: Hello.}}
goals: [{{owner: {other}, goal: mend it}}]
""",
            encoding="utf-8",
        )
        meeting = read_meeting(at)
        jose, ines = meeting.participants
        assert (meeting.opening.speaker, jose.persona.name, ines.relations[0][0]) == ("José",) * 3
        assert [goal.text for goal in jose.goals] == ["mend it"]


@pytest.mark.parametrize("name", ["José", APART])
def test_so_are_names_that_are_typed_and_those_of_older_stores(name: str) -> None:
    mara = Participant(persona=Persona(name="Mara"), memories=())
    other = Participant(persona=Persona(name=name), memories=())
    start = Case(scenario="s", time=datetime(2024, 5, 14), place=None, initiator=mara, partner=other)
    for typed in ("José", APART, APART.upper()):
        assert find_agent(typed, start, "k3f9") == name
        assert with_seat(Parameters(), typed, start).seat == name
        assert with_memory(start, typed, "It rains.").partner.memories[0].text == "It rains."
        assert with_people(start, [(f"{typed}.activity", "reading")]).partner.activity == "reading"
        if typed != APART.upper():
            assert renaming_of(start.names, f"{typed}=Bo").names == {name: "Bo"}
    (person,) = read_people([APART])
    assert person["name"] == "José"
    assert text_field({"speaker": APART}, "speaker") == "José"


# --- which kind a file is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", ["kind: group_chat", "order: random", "mechanisms: []", "goals: [{owner: Bo, goal: go}]"]
)
def test_two_people_meet_where_the_file_says_so(tmp_path: Path, more: str) -> None:
    at = tmp_path / "two.yaml"
    at.write_text(TWO_PEOPLE)
    assert not isinstance(read_scenario_file(at), MeetingScenario)
    at.write_text(f"{TWO_PEOPLE}{more}\ndescription: y\n")
    assert isinstance(read_scenario_file(at), MeetingScenario)


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
    at.write_text(TWO_PEOPLE + more)
    assert scenario_error(at).startswith(expected)


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
