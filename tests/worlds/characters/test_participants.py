"""Participants of a scenario that are files beside it."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.character_files import AGENT, CARD_V2, LOREBOOK, PROFILE, encoded, json_file, png

from tertulia.state.errors import ScenarioError
from tertulia.worlds.characters.reading import read_people
from tertulia.worlds.characters.scenario import scenario_of
from tertulia.worlds.meeting_file import MeetingScenario
from tertulia.worlds.scenario_file import TwoPartyScenario, read_scenario_file

HEAD = "name: x\ntime: 2026-05-14 09:30:00\nparticipants:\n"


def scenario(folder: Path, participants: str, head: str = HEAD) -> TwoPartyScenario | MeetingScenario:
    file = folder / "scenario.yaml"
    file.write_text(head + participants, encoding="utf-8")
    return read_scenario_file(file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "mirela.png").write_bytes(png({"chara": encoded(CARD_V2)}))
    json_file(tmp_path, AGENT, "tobias.json")
    json_file(tmp_path, LOREBOOK, "book.json")
    (tmp_path / "some.csv").write_text("name,job\nIda,painter\nBo,pilot\n")
    return tmp_path


def test_two_files_have_each_other_for_user_and_fields_of_the_scenario_stand_over_theirs(folder: Path) -> None:
    read = scenario(folder, "- {file: people/mirela.png, activity: oiling a lock}\n- file: tobias.json\n")
    mirela, tobias = read.participants
    assert (mirela.name, mirela.activity, tobias.name) == ("Mirela Stan", "oiling a lock", "Tobias Kern")
    assert "Habits: She never lends a key to Tobias Kern." in mirela.background
    assert read.description == "Tobias Kern has lost a key."


def test_two_cards_of_one_scenario_give_it_once(folder: Path) -> None:
    for name in ("Oona", "Brill Vey"):
        card = {"name": name, "first_mes": "Hello.", "description": "Waits.", "scenario": "{{char}} meets {{user}}."}
        json_file(folder, card, f"{name}.json")
    read = scenario(folder, "- file: Oona.json\n- file: Brill Vey.json\n")
    assert read.description == "Oona meets Brill Vey."
    people = read_people(folder / "Oona.json") + read_people(folder / "Brill Vey.json")
    assert yaml.safe_load(scenario_of(people))["description"] == "Oona meets Brill Vey."
    foggy = [people[0], replace(people[1], situation="Fog has come.")]
    assert yaml.safe_load(scenario_of(foggy))["description"] == "Oona meets Brill Vey. Fog has come."


def test_a_file_of_several_is_all_of_them_or_the_named_person(folder: Path) -> None:
    read = scenario(folder, "- file: some.csv\n- file: people/mirela.png\n", f"description: They wait.\n{HEAD}")
    assert isinstance(read, MeetingScenario)
    assert [person.name for person in read.participants] == ["Ida", "Bo", "Mirela Stan"]
    assert "Habits: She never lends a key to the visitor." in read.participants[2].background
    named = scenario(folder, "- {file: some.csv, name: bo, age: 40}\n- {file: people/mirela.png, user: Uma}\n")
    assert [(person.name, person.age) for person in named.participants] == [("Bo", 40), ("Mirela Stan", None)]
    assert "Habits: She never lends a key to Uma." in named.participants[1].background


def test_a_lorebook_goes_to_the_people_of_the_other_files(folder: Path) -> None:
    read = scenario(folder, "- file: people/mirela.png\n- name: Ines\n- file: book.json\n")
    assert [len(person.memories) for person in read.participants] == [3, 0]


@pytest.mark.parametrize(
    ("participants", "words"),
    [
        ("- file: people/mirela.png\n", "scenario.yaml:3: participants: there is one person; add the other"),
        ("- file: ../x.png\n- name: A\n", "scenario.yaml:4: participants[0].file: '../x.png' lies elsewhere"),
        ("- file: /etc/passwd\n- name: A\n", "'/etc/passwd' lies elsewhere"),
        ("- file: ~/x.png\n- name: A\n", "'~/x.png' lies elsewhere"),
        ("- file: 'C:\\x.png'\n- name: A\n", "lies elsewhere"),
        ("- name: A\n- file: none.png\n", "scenario.yaml:5: participants[1].file: there is no file 'none.png' beside"),
        ("- file: linked.png\n- name: A\n", "linked.png: links in a folder are not followed"),
        ("- {file: some.csv, name: Bi}\n- name: A\n", "some.csv has no person 'Bi' (did you mean 'Bo'?)"),
        ("- {file: some.csv, age: 3}\n- name: A\n", "some.csv has 2 people; name one of them to change fields"),
        ("- file: [x]\n- name: A\n", "takes the name of a file"),
        ("- file: scenario.yaml\n- name: A\n", "names another file, 'scenario.yaml'"),
        ("- file: tobias.json\n- name: Tobias Kern\n", "Tobias Kern"),
    ],
)
def test_a_file_that_is_not_there_or_elsewhere_is_refused(folder: Path, participants: str, words: str) -> None:
    json_file(folder.parent, PROFILE, "elsewhere.json")
    (folder / "linked.png").symlink_to(folder.parent / "elsewhere.json")
    with pytest.raises(ScenarioError) as error:
        scenario(folder, participants)
    assert words in str(error.value)
