"""People as rows: CSV, TSV, JSON, JSON Lines, texts alone, and what people write for other programs and read again."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.character_files import AGENT, SOURCES, json_file, shared_files

from tertulia.state.errors import ScenarioError, UsageError
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people
from tertulia.worlds.characters.tables import canonical
from tertulia.worlds.characters.writing import FORMATS, card_files, written
from tertulia.worlds.person_fields import SYNONYMS


def people(text: str, folder: Path, columns: dict[str, str | None] | None = None) -> tuple[ImportedPerson, ...]:
    file = folder / "people.txt"
    file.write_text(text, encoding="utf-8")
    return read_people(file, columns=columns)


def test_columns_have_synonyms_and_any_other_is_a_fact(tmp_path: Path) -> None:
    text = "Name\tDescription\tJob\tTown\tSecret\tid\nIda\tShe paints. She climbs.\tpainter\tPorto\tfears heights\t7\n"
    [ida] = people(text, tmp_path)
    assert ida.values == {
        "name": "Ida",
        "background": ["She paints.", "She climbs.", "Town: Porto"],
        "occupation": "painter",
        "secrets": ["fears heights"],
    }
    assert [left.field for left in ida.not_taken] == ["id"]


def test_the_column_name_is_the_name_whichever_is_first(tmp_path: Path) -> None:
    [ida] = people("\nNickname,Name\nIdi,Ida Roos\n", tmp_path)
    assert ida.values == {"name": "Ida Roos", "background": ["Nickname: Idi"]}


@pytest.mark.parametrize("title", ["big_five", "Big Five", "BIG-FIVE", "bigFive", " Big  five "])
@pytest.mark.parametrize("value", ["introverted, open", '["introverted", "open"]', "Extraversion: low; Openness: high"])
def test_poles_are_traits_under_any_spelling_of_the_title(title: str, value: str, tmp_path: Path) -> None:
    [ida] = people(f"name\t{title}\nIda\t{value}\n", tmp_path)
    assert ida.values == {"name": "Ida", "traits": ["introverted", "open"]}


def test_words_in_a_column_of_the_big_five_are_a_fact(tmp_path: Path) -> None:
    [ida] = people("name,Big Five\nIda,calm and kind\n", tmp_path)
    assert ida.values == {"name": "Ida", "background": ["Big Five: calm and kind"]}


@pytest.mark.parametrize(("field", "name"), [(field, name) for field in SYNONYMS for name in SYNONYMS[field]])
def test_a_title_is_a_synonym_in_any_spelling(field: str, name: str) -> None:
    words = name.split("_")
    spelt = {sign.join(words) for sign in ("_", "-", " ", "", " - ")} | {"".join(map(str.title, words)), name.upper()}
    assert {canonical(title) for title in spelt} == {field}


def test_first_and_last_names_are_a_name_in_any_spelling(tmp_path: Path) -> None:
    assert [person.values for person in people("First-Name,lastName,age\nIda,Roos,29\n", tmp_path)] == [
        {"name": "Ida Roos", "age": 29}
    ]


@pytest.mark.parametrize(
    "relations",
    [
        {"Bo": "her brother, rival"},
        {"Bo": ["her brother", "rival"]},
        ["Bo: her brother, rival"],
        "Bo: her brother, rival",
        [{"name": "Bo", "description": "her brother, rival"}],
        [{"name": "Bo", "type": ["her brother", "rival"]}],
        {"name": "Bo", "relation": "her brother, rival"},
        [{"Bo": "her brother, rival"}],
        [{"name": {"first": "Bo"}, "description": "her brother, rival"}],
    ],
)
def test_relations_are_read_in_each_form_that_they_have_in_json(relations: Any, tmp_path: Path) -> None:
    [ida] = people(json.dumps([{"name": "Ida", "relationships": relations}]), tmp_path)
    assert ida.values == {"name": "Ida", "relations": {"Bo": "her brother, rival"}}


def test_what_a_relation_has_besides_is_kept(tmp_path: Path) -> None:
    bo = {"name": "Bo", "description": "her brother", "since": 2010}
    [ida] = people(json.dumps([{"name": "Ida", "relations": [bo, "Bo: a rival"]}]), tmp_path)
    assert ida.values["relations"] == {"Bo": "her brother; a rival"}
    assert ida.values["background"] == ["About Bo, Since: 2010"]
    [ida] = people(json.dumps([{"name": "Ida", "relations": {"Bo": {"kind": "rival", "since": 2010}}}]), tmp_path)
    assert ida.values["relations"] == {"Bo": "Kind: rival, Since: 2010"}


@pytest.mark.parametrize(
    "name", [{"first": "Ida", "last": "Roos"}, {"lastName": "Roos", "firstName": "Ida"}, "Ida Roos"]
)
def test_a_name_may_be_an_object_of_a_first_and_a_last_one(name: Any, tmp_path: Path) -> None:
    assert people(json.dumps([{"name": name, "age": 3}]), tmp_path)[0].values == {"name": "Ida Roos", "age": 3}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"name": {"first": "Ida", "nick": "I"}}], "name: takes a text, or first, middle, last: {"),
        ([{"name": "Ida"}, {"name": ["Bo"]}], "entry 2: name: takes a text, or first, middle, last: ['Bo']"),
        ([{"name": "Ida", "relations": [{"name": ""}]}], "relations: takes NAME: their relation, not {'name': ''}"),
        ([{"name": "Ida", "relations": [{"name": ["Bo"], "as": "x"}]}], "relations: name: takes a text, or first,"),
        ([{"name": "Ida", "relations": ["a friend"]}], "relations: takes NAME: their relation, not 'a friend'"),
    ],
)
def test_a_name_or_a_relation_that_is_no_text_is_refused_by_its_row(rows: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as error:
        people(json.dumps(rows), tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'people.txt'}: {words}")


def test_parts_of_a_text_are_told_with_it(tmp_path: Path) -> None:
    [ida] = people("name,home,home.city,background.born,relations.Bo\nIda,a hut,Rome,1990,her brother\n", tmp_path)
    assert ida.values == {
        "name": "Ida",
        "home": "a hut; City: Rome",
        "background": ["Born: 1990"],
        "relations": {"Bo": "her brother"},
    }


def test_parts_of_a_name_are_the_name_or_facts_beside_it(tmp_path: Path) -> None:
    assert people("name.last,name.first\nRoos,Ida\n", tmp_path)[0].values == {"name": "Ida Roos"}
    [ida] = people("name,name.first,pet.name,No. of boats\nIda Roos,Ida,Rex,2\n", tmp_path)
    assert ida.values == {"name": "Ida Roos", "background": ["Name, First: Ida", "Pet, Name: Rex", "No. of boats: 2"]}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('name,weights,weights.goal\nIda,"{""goal"": 1}",0.5\n', "weights and weights.goal"),
        ("name,weights.goal,weights\nIda,0.5,much\n", "weights.goal and weights"),
        ("name,Weights.Goal,weights.goal\nIda,0.5,0.7\n", "Weights.Goal and weights.goal"),
        ("name,Emotion,emotion\nIda,calm,glad\n", "Emotion and emotion"),
    ],
)
def test_two_columns_of_one_value_are_named(text: str, columns: str, tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError, match=rf"people.txt: row 2: {columns} are two columns of \w+; keep one of the two"
    ):
        people(text, tmp_path)


def test_of_two_columns_with_text_or_years_both_are_kept(tmp_path: Path) -> None:
    [ida] = people("name,setting,In this meeting,age,Years\nIda,ill,late,29,7\n", tmp_path)
    assert ida.values == {"name": "Ida", "setting": "ill; late", "age": 29, "background": ["Years: 7"]}


def test_a_mapping_names_and_leaves_out_columns(tmp_path: Path) -> None:
    [ida] = people("Who,What,Age\nIda,painter,29\n", tmp_path, {"Who": "name", "What": "occupation", "Age": None})
    assert ida.values == {"name": "Ida", "occupation": "painter"}
    assert [(left.field, left.goes_to) for left in ida.not_taken] == [("Age", "a column that you left out")]
    with pytest.raises(UsageError, match="has no such column"):
        people("Who\nIda\n", tmp_path, {"Wo": "name"})
    with pytest.raises(UsageError, match=r"columns=Who: a person has no field 'nam' \(did you mean 'name'\?\)"):
        people("Who\nIda\n", tmp_path, {"Who": "nam"})


@pytest.mark.parametrize(
    "text",
    [
        '{"persona": "A baker who sings. She is deaf in one ear."}\n{"persona": "A pilot"}\n',
        '["A baker who sings. She is deaf in one ear.", "A pilot"]',
        '[{"input persona": "A baker who sings. She is deaf in one ear."}, {"input persona": "A pilot"}]',
        "persona\nA baker who sings. She is deaf in one ear.\nA pilot\n",
    ],
)
def test_texts_alone_are_people_with_a_number(text: str, tmp_path: Path) -> None:
    baker, pilot = people(text, tmp_path)
    assert baker.values == {"name": "Person 1", "background": ["A baker who sings.", "She is deaf in one ear."]}
    assert pilot.values == {"name": "Person 2", "background": ["A pilot"]}


def test_a_persona_may_have_any_fields_beside_it(tmp_path: Path) -> None:
    [nurse] = people('{"persona": "A nurse", "general domain (top 1 percent)": "Health", "n": 3}', tmp_path)
    assert nurse.values["background"] == ["A nurse", "General domain (top 1 percent): Health", "N: 3"]


def test_more_people_than_a_scenario_takes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"has 1,001 people, and 1,000 are read"):
        people(json.dumps([f"Text {n}" for n in range(1001)]), tmp_path)


def test_a_scenario_is_read_again_and_names_no_other_file(tmp_path: Path) -> None:
    text = "name: x\ntime: 2024-05-14\ndescription: It rains.\nparticipants:\n- name: Ida\n  secret: s\n- name: Bo\n"
    ida, bo = people(text, tmp_path)
    assert (ida.values, bo.values, ida.situation) == ({"name": "Ida", "secrets": ["s"]}, {"name": "Bo"}, "It rains.")
    with pytest.raises(ScenarioError, match=r"names another file, '/etc/passwd'"):
        people("participants:\n- file: /etc/passwd\n- name: Bo\n", tmp_path)


def test_people_by_name_within_a_file_of_another_program(tmp_path: Path) -> None:
    text = json.dumps(
        {"version": 3, "personas": {"Ida": {"role": "painter"}, "Bo": {"personality": "gruff"}}, "turns": [1]}
    )
    ida, bo = people(text, tmp_path)
    assert (ida.values, bo.values) == ({"name": "Ida", "occupation": "painter"}, {"name": "Bo", "character": "gruff"})
    assert [left.field for left in ida.not_taken] == ["version", "turns"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_people_are_the_same_after_writing_and_reading(source: Any, format: str, tmp_path: Path) -> None:
    first = joined(read_people(json_file(tmp_path, source)))
    assert_same(first, format, tmp_path)


@pytest.mark.parametrize("format", FORMATS)
def test_shared_people_are_the_same_after_writing_and_reading(format: str, tmp_path: Path) -> None:
    for file in shared_files():
        assert_same(joined(read_people(file)), format, tmp_path)


def assert_same(first: tuple[ImportedPerson, ...], format: str, folder: Path) -> None:
    texts = card_files(first).values() if format == "card_v3" else [written(first, format)]
    again: list[ImportedPerson] = []
    for text in texts:
        (folder / "written").write_text(text, encoding="utf-8")
        again += read_people(folder / "written")
    assert [dict(person.values) for person in again] == [dict(person.values) for person in first]
    if format == "card_v3":
        assert [person.situation for person in again] == [person.situation for person in first]


def test_hard_values_survive_a_table(tmp_path: Path) -> None:
    hard = {
        "name": 'O"Neil, the | third',
        "background": ['A | b, "c".', "D\ne", "Two. Sentences."],
        "memories": [{"text": "It rained.", "keys": ["rain"], "importance": 7, "kind": "event", "time": "2024-01-02"}],
        "relations": {"Ana: the elder": "owes | him"},
        "traits": ["open"],
        "goals": [{"goal": "leave", "sub_goals": ["pack"]}],
        "weights": {"goal": 0.5},
    }  # fmt: skip
    for format in FORMATS:
        assert_same((ImportedPerson(hard),), format, tmp_path)


def test_a_card_that_another_program_changed_is_read_as_it_is_now(tmp_path: Path) -> None:
    card = json.loads(written(joined(read_people(json_file(tmp_path, AGENT))), "card_v3"))
    card["data"]["description"] = "He has sold the signal."
    [person] = read_people(json_file(tmp_path, card, "changed.json"))
    assert person.values["background"] == ["He has sold the signal."]
    assert "extensions.tertulia" in {left.field for left in person.not_taken}


def test_each_person_has_a_file_of_their_own_on_any_file_system() -> None:
    names = ["Dr. Vos", "Dr Vos", "dr vos", "Dr Vos 2", "???", "!!!"]
    files = card_files([ImportedPerson({"name": name}) for name in names])
    stems = ["Dr_Vos", "Dr_Vos_2", "dr_vos_3", "Dr_Vos_2_2", "person", "person_2"]
    assert list(files) == [f"{stem}.json" for stem in stems]
    assert [json.loads(card)["data"]["name"] for card in files.values()] == names


def test_a_card_is_of_one_person_and_formats_are_named(tmp_path: Path) -> None:
    two = [ImportedPerson({"name": "A"}), ImportedPerson({"name": "B"})]
    with pytest.raises(UsageError, match="a card is of one person, and there are 2"):
        written(two, "card_v3")
    with pytest.raises(UsageError, match="format=yaml: takes card_v3, csv, json"):
        written(two, "yaml")
