"""Scenarios as objects: what is read, written and changed is what a file holds, and mistakes have a file's words."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.meeting_files import SCENARIO

from tertulia.state.errors import NotFoundError, ScenarioError, UsageError
from tertulia.worlds.catalog import resolve
from tertulia.worlds.generated_people import generate_people
from tertulia.worlds.people import Person
from tertulia.worlds.scenario_objects import Case, Meeting

DOCS = Path(__file__).parents[2] / "docs" / "scenarios.md"
TIME = "2026-05-14 18:00"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def two() -> list[Person]:
    return generate_people(2)


def a_meeting(**fields: Any) -> Meeting:
    return Meeting("the roof", generate_people(3), time=TIME, description="It leaks.", **fields)


def test_a_file_with_every_field_that_is_read_and_written_is_the_same() -> None:
    Path("every.yaml").write_text(SCENARIO, encoding="utf-8")
    read = Meeting.read("every.yaml")
    Path("again.yaml").write_text(read.yaml(), encoding="utf-8")
    again = Meeting.read("again.yaml")
    assert again == read
    assert again.content.settings() == read.content.settings()
    assert again.replace(participants=read.participants) == read  # people as objects are the file's people


def test_the_dialogue_of_the_page_that_is_read_and_written_is_the_same() -> None:
    text = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    Path("cafe.yaml").write_text(text, encoding="utf-8")
    read = Case.read("cafe.yaml")
    read.write("again.yaml")
    assert Case.read("again.yaml") == read
    assert read.replace(participants=read.participants) == read
    assert yaml.safe_load(Path("again.yaml").read_text(encoding="utf-8"))["participants"][1]["memories"] == [
        "Joao Reis ran the borrowed boat onto a rock and has not told Ines Carvalho."
    ]


def test_a_case_and_a_meeting_are_made_of_people_from_a_list_or_a_generator() -> None:
    case = Case("cafe", iter(two()), time=datetime(2026, 5, 14, 18), place="Harbour Cafe")
    assert (case.name, case.place, case.time) == ("cafe", "Harbour Cafe", datetime(2026, 5, 14, 18))
    assert list(case.participants) == two()
    meeting = a_meeting(
        opening=(two()[0].name, "Listen to that bucket."), removal_factor=0.3, rounds=6, minutes=5, order="random"
    )
    assert meeting.participants == tuple(generate_people(3))
    assert {name: meeting.content.settings()[name] for name in ("removal_factor", "max_turns", "order")} == {
        "removal_factor": 0.3,
        "max_turns": 6,
        "order": "random",
    }
    assert repr(meeting).startswith("<Meeting 'the roof', 2026-05-14 18:00: ")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Meeting(), "Meeting: name: is missing; add it"),
        (
            lambda: Meeting("m", [*two(), Person(name=two()[0].name.upper())], time=TIME, description="It leaks."),
            "participants[2].name: 'JAMILA HARTNOLL' is there already, as 'Jamila Hartnoll'; give them names that",
        ),
        (lambda: Meeting("m", two()[0], time=TIME), "participants: takes a list of people"),  # type: ignore[arg-type]
        (lambda: Case("c", [two()[0]] * 2, time=TIME), "'Jamila Hartnoll' is there already; give"),
        (
            lambda: Case("c", [Person(name=name, memories=["m"]) for name in ("tom", "Tom")], time=TIME),
            "participants[1].name: 'Tom' is there already, as 'tom'",
        ),
        (
            lambda: Case("c", [two()[0], Person(name="B", memories=["m"], emotion="glad")], time=TIME),
            "participants[1].emotion: is not a field here, but in a meeting; tertulia.Meeting makes one",
        ),
        (
            lambda: a_meeting(rounds=3, minutes=7, limits={"rounds": 2}),
            "limits.rounds: is given as rounds too; keep one",
        ),
        (lambda: a_meeting(minutes=7, limits={"minutes": 2}), "'the roof': limits.minutes: is given as minutes too"),
        (lambda: a_meeting(removal_factor=0, **{"lambda": 0.5}), "lambda: is given as removal_factor too"),
        (lambda: a_meeting().replace(removal_factor=0.3, **{"lambda": 0.5}), "lambda: is given as removal_factor too"),
        (lambda: a_meeting(rounds=3, limits=5), "limits: takes fields, each with its value, not 5"),
        (lambda: Case("c", two(), time="tomorrow"), "time: takes a time such as 2024-05-14 09:30:00, not 'tomorrow'"),
    ],
)
def test_mistakes_have_the_words_about_a_file(make: Any, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        make()
    assert words in str(error.value)


def test_limits_and_arguments_that_say_different_things_hold_together() -> None:
    settings = a_meeting(rounds=3, limits={"minutes": 7}).settings()
    assert (settings["max_turns"], settings["max_minutes"]) == (3, 7.0)
    assert a_meeting().replace(removal_factor=0.3).content == a_meeting().replace(**{"lambda": 0.3}).content


def test_what_can_t_be_read_or_written_is_told() -> None:
    meeting = a_meeting()
    meeting.write("roof.yaml")
    with pytest.raises(UsageError, match=r"roof\.yaml exists already; .*overwrite=True"):
        meeting.write("roof.yaml")
    meeting.replace(place="the cellar").write("roof.yaml", overwrite=True)
    assert Meeting.read("roof.yaml").place == "the cellar"
    with pytest.raises(UsageError, match=r"a scenario file ends in \.yaml"):
        meeting.write("roof.txt")
    with pytest.raises(UsageError, match="can't be written: No such file or directory"):
        meeting.write("nowhere/roof.yaml")
    with pytest.raises(ScenarioError, match=r"roof\.yaml: is a meeting; read it with tertulia\.Meeting\.read"):
        Case.read("roof.yaml")
    with pytest.raises(NotFoundError, match=r"there is no scenario file 'none\.yaml'"):
        Meeting.read("none.yaml")
    with pytest.raises(ScenarioError, match="bytes as a file, and 2,000,000 are read"):
        meeting.replace(description="x" * 2_000_001).write("large.yaml")
    with pytest.raises(NotFoundError, match="'the roof' was an object in Python, and is in no file; write it to one"):
        resolve("object:the roof")
