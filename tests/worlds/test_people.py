"""People as objects: what a person can be, people from a CSV file, and people who are made up."""

from pathlib import Path
from typing import Any

import pytest
from support.character_files import AGENT, CARD_V2, json_file

from tertulia.state.errors import ScenarioError, SettingError
from tertulia.state.meeting import BIG_FIVE
from tertulia.worlds.generated_people import generate_people
from tertulia.worlds.people import Person, people_from
from tertulia.worlds.scenario_objects import Case


def a_csv(text: str, encoding: str = "utf-8") -> Path:
    path = Path("people.csv")
    path.write_bytes(text.encode(encoding))
    return path


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- a person -------------------------------------------------------------------------------------------------------


def test_poles_are_traits_and_words_are_character_under_whichever_name() -> None:
    person = Person(name="Ines", age=41, traits=["open", "extroverted"], memories=["She lent a boat."])
    assert person.in_file()["traits"] == ["open", "extroverted"]
    for given in ({"traits": " patient, dry "}, {"traits": ["patient", "dry"]}, {"Personality": "patient, dry"}):
        assert Person(name="Ines", **given).in_file() == {"name": "Ines", "character": "patient, dry"}


def test_a_field_has_other_names_of_which_one_may_be_given() -> None:
    person = Person(name="Ines", bio="keeps a café", job="cook", secret="is broke", tone="curt")
    assert (person.background, person.occupation, person.secrets, person.style) == (
        ("keeps a café",), "cook", ("is broke",), "curt",
    )  # fmt: skip
    with pytest.raises(ScenarioError, match="bio and background are two names of background; keep one of the two"):
        Person(name="Ines", bio="a", background="b")
    assert repr(Person(name="Bo", age=3)) == "Person(name='Bo', age=3)"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Person: name: is missing"),
        ({"name": ""}, "Person '': name:"),
        ({"name": "A\nB"}, "a name stands on one line"),
        ({"name": "Bo", "age": True}, "Person 'Bo': age: takes a whole number, not True"),
        ({"name": "Bo", "traits": ["opn"]}, "Person 'Bo': traits[0]: unknown trait 'opn' (did you mean 'open'?)"),
    ],
)
def test_a_person_who_can_t_be_one_is_refused_in_the_words_about_a_file(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Person(**fields)
    assert words in str(error.value)


# --- a CSV file -----------------------------------------------------------------------------------------------------


def test_people_are_read_from_a_csv_file_with_all_that_a_cell_can_hold() -> None:
    file = a_csv(
        "\ufeffName,age,Traits,memories,weights.goal,schedule.leaves,relations,Id\r\n"
        'Ines,41,"open, extroverted","She lent a boat. | She, too, ran aground.",0.5,18:30,Joao: He owes her.,7\r\n'
        "\r\n"
        'Joao,,"patient, dry",,,,,8\r\n'
    )
    ines, joao = people_from(file, columns={"Id": None})
    assert (ines.name, ines.age, ines.traits, ines.weights.goal) == ("Ines", 41, ("open", "extroverted"), 0.5)
    assert [memory.text for memory in ines.memories] == ["She lent a boat.", "She, too, ran aground."]
    assert (ines.relations, str(ines.schedule.leaves)) == ({"Joao": "He owes her."}, "18:30:00")
    assert joao == Person(name="Joao", character="patient, dry")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "people.csv: is empty"),
        ("age\n41\n", "row 1: there is no column name"),
        ("name,propensity\nInes,0.4\nJoao,much\n", "people.csv: row 3: propensity: takes a number, not 'much'"),
        (
            'name,memories\nInes,"[{""text"": ""x"", ""time"": ""3 March 2024""}]"\n',
            "people.csv: row 2: memories[0].time: takes a time such as 2024-05-14 09:30:00, not '3 March 2024'",
        ),
        (
            'name,memories\nJoao,"[{""text"": ""x"", ""time"": ""2024-05-14 09:30Z""}]"\n',
            "row 2: memories[0].time: give the local time of the scenario, without a time zone: '2024-05-14 09:30Z'",
        ),
        ("name,age\nInes,41\nINES,29\n", "people.csv: row 3: name: 'INES' is there already, as 'Ines'"),
        ("name,age\nInes,41,9\n", "people.csv: row 2: has 3 cells, and the header 2"),
        ('name,age\nInes,41\n"Joao,29\n', "people.csv: row 3: not CSV: unexpected end of data"),
    ],
)
def test_a_row_that_is_no_person_is_named(text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        people_from(a_csv(text))
    assert words in str(error.value)


def test_every_wrong_value_of_a_table_is_told() -> None:
    with pytest.raises(ScenarioError) as error:
        people_from(a_csv("name,propensity,silence_discomfort\nInes,2,-1\nJoao,0.5,7\n"))
    assert [str(error.value), *error.value.further] == [
        "people.csv: row 2: propensity: takes 1 at most, not '2'",
        "people.csv: row 2: silence_discomfort: takes 0 or more, not '-1'",
        "people.csv: row 3: silence_discomfort: takes 1 at most, not '7'",
    ]


def test_people_of_another_program_are_persons(tmp_path: Path) -> None:
    card, agent = json_file(tmp_path, CARD_V2), json_file(tmp_path, AGENT, "agent.json")
    [mirela] = people_from(card, user="Ines")
    [tobias] = people_from(str(agent))
    assert "Habits: She never lends a key to Ines." in mirela.background
    assert [memory.keys for memory in mirela.memories] == [(), ("quay", "harbour")]
    case = Case("at the lock", [mirela, tobias], time="2026-05-14 10:00", description="It rains.")
    assert case.participants == (mirela, tobias)


# --- people who are made up -----------------------------------------------------------------------------------------


def test_people_are_made_up_by_a_seed_and_a_population_can_grow() -> None:
    people = generate_people(40, seed=3)
    assert people == generate_people(40, seed=3)
    assert people[:5] == generate_people(5, seed=3)
    assert people[0] != generate_people(1, seed=4)[0]
    assert len({person.name.split()[0] for person in people}) == 40
    for person in people:
        dimensions = [next(d for d, poles in BIG_FIVE.items() if pole in poles) for pole in person.traits]
        assert len(set(dimensions)) == len(dimensions) == 3
        assert person.age is not None
        assert 18 <= person.age <= 84
        assert len({memory.text for memory in person.memories}) == 3
        assert all(memory.text.startswith(person.name) for memory in person.memories)


def test_names_that_are_taken_are_left_out_and_there_are_only_so_many() -> None:
    first, second = generate_people(2)
    assert generate_people(1, without=[first.name.upper()]) == [second]
    for count in (0, -1, True, 1.5, 10**9):
        with pytest.raises(SettingError, match=r"a whole number from 1 to \d,\d{3} is expected"):
            generate_people(count)  # type: ignore[arg-type]
