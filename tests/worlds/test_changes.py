"""The changes of a fork to people and mechanisms: refused where a scenario file with them is refused."""

from pathlib import Path
from typing import Any

import pytest
from support.meeting_files import KNOWN, TWO_PEOPLE, ScenarioFile, read_meeting

from tertulia.runs.planning.forking import StartChanges
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting
from tertulia.state.records import Case
from tertulia.worlds.catalog import resolve
from tertulia.worlds.changes import with_mechanisms, with_people


@pytest.fixture
def meeting(meeting_file: ScenarioFile) -> Meeting:
    return read_meeting(meeting_file())


@pytest.fixture
def case(tmp_path: Path) -> Case:
    at = tmp_path / "two.yaml"
    at.write_text(TWO_PEOPLE)
    found = resolve(str(at), KNOWN)
    assert isinstance(found, Case)
    return found


def test_people_are_changed_as_a_file_describes_them(case: Case, meeting: Meeting) -> None:
    changes = [
        ("ida.years", "'41'"),
        ("Ida.traits", "[open, extroverted]"),
        ("Ida.relations", "{Bo: a friend, Her sister Ada: far away}"),
        ("Bo.traits", "patient, dry"),
        ("Bo.activity", "2024-05-14"),
    ]
    ida, bo = (with_people(case, changes).participant(name) for name in ("Ida", "Bo"))
    assert (ida.persona.age, ida.big_five) == (41, ("open", "extroverted"))
    assert dict(ida.relations) == {"Bo": "a friend", "Her sister Ada": "far away"}
    assert (bo.persona.character, bo.big_five, bo.activity) == ("patient, dry", (), "2024-05-14")
    jonas: Any = with_people(meeting, [("Jonas.weights.goal", "0.9"), ("Jonas.weights.topic", "0")]).participant(
        "Jonas"
    )
    assert (jonas.weights.goal, jonas.weights.topic, jonas.weights.emotion) == (0.9, 0, 0.25)
    with pytest.raises(UsageError, match=r"Jonas\.weights\.goal=true: takes a number"):
        with_people(meeting, [("Jonas.weights.goal", "true")])
    assert with_people(meeting, [("Ida Falk.age", "")]).participant("Ida Falk").persona.age is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [("Ida.traits", "[extroverted, introverted]")],
            "Ida.traits=[extroverted, introverted]: 'introverted' and 'extroverted' are both of extraversion; keep one",
        ),
        ([("Ida.relations", "{Ida: myself}")], "Ida.relations={Ida: myself}: stands for a relation to oneself"),
        ([("Ida.age", "true")], "Ida.age=true: takes a whole number"),
        ([("Ida.relations", "{bo: a friend}")], "'bo' is no participant (did you mean 'Bo'?)"),
        ([("Ida.relations", "{Bo: a friend, Bo: a foe}")], "Ida.relations:1: 'Bo' stands twice; keep one of them"),
        (
            [("Ida.goals", "[")],
            "Ida.goals:1: not YAML: expected the node content, but found '<stream end>'; put quotes",
        ),
        (
            [("Ida.age", "5"), ("Bo.age", "7"), ("Ida.years", "6")],
            "Ida.age and Ida.years both change Ida.age; keep one of the two",
        ),
        ([("Ida.traits", "bold"), ("ida.character", "shy")], "Ida.traits and ida.character both change Ida.character"),
    ],
)
def test_what_a_file_can_t_say_of_people_no_fork_can(case: Case, changes: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_people(case, changes)
    assert words in str(refused.value)


def test_a_part_and_the_whole_are_not_both_changed(meeting: Meeting) -> None:
    changes = [("Jonas.weights.goal", "0.9"), ("Jonas.weights", "{topic: 1}")]
    with pytest.raises(UsageError, match=r"Jonas\.weights\.goal and Jonas\.weights both change"):
        with_people(meeting, changes)
    with pytest.raises(UsageError, match=r"Jonas\.weights and Jonas\.weights\.goal both change"):
        with_people(meeting, changes[::-1])


def test_a_mechanism_stands_once(meeting: Meeting) -> None:
    assert with_mechanisms(meeting, ["time_analysis"], KNOWN).mechanisms == ("time_analysis",)  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="'time_analysis' stands twice"):
        with_mechanisms(meeting, ["time_analysis", "time_analysis"], KNOWN)


def test_a_model_is_named_in_whatever_spelling_of_the_field() -> None:
    changes = StartChanges(person=[("Jonas.model", "a/b"), ("Jonas. Mo-del", "c/d"), ("Jonas.age", "3")])
    assert changes.models == ["a/b", "c/d"]
