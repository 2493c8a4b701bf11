"""What is taken of each format, and under which field."""

from pathlib import Path
from typing import Any

import pytest
from support.character_files import (
    AGENT,
    BOOK,
    CARD_V2,
    CARD_V3,
    FIELDS,
    FRAGMENT,
    LOREBOOK,
    PERSONA,
    PROFILE,
    SCRATCH,
    json_file,
)

from tertulia.state.errors import ScenarioError
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people


def person(source: Any, folder: Path, user: str | None = None) -> ImportedPerson:
    return read_people(json_file(folder, source), user)[0]


def left(of: ImportedPerson) -> dict[str, str]:
    return {each.field: each.goes_to for each in of.not_taken}


def test_a_card_with_its_lorebook_examples_and_greetings(tmp_path: Path) -> None:
    card = person(CARD_V2, tmp_path, "Ines")
    assert card.values == {
        "name": "Mirela Stan",
        "background": [
            "Clothes: grey coat, boots",
            "Habits: counts her steps",
            "Habits, Fear: deep water",
            "Habits: Mirela Stan mends locks in Port Ost.",
            "Habits: She never lends a key to Ines.",
            "Everybody owes her a favour.",
        ],
        "character": "exact, wary",
        "examples": [
            {"after": "Are you open?", "text": '*looks up* "Until the lamp goes out."'},
            {"text": "*wipes her hands* Which door, Ines?"},
            {"after": "How much?", "text": "Nine. *shrugs*"},
            {"text": "Closed. Tomorrow or Later, ."},
        ],
        "memories": [
            {"text": "Lamps cost nine crowns."},
            {"text": "The quay sank in April.", "keys": ["quay", "harbour"]},
        ],
    }
    assert card.situation == "Ines has lost a key."
    listed = left(card)
    assert (
        listed["system_prompt"]
        == listed["post_history_instructions"]
        == "a prompt for another program: shown, not obeyed"
    )
    assert listed["extensions.depth_prompt.prompt"] == "a prompt for another program: shown, not obeyed"
    assert listed["personality (outside data)"].startswith("repeated for older programs")
    assert "fav (outside data)" in listed
    assert "name (outside data)" not in listed


@pytest.mark.parametrize(
    ("described", "personality", "character"),
    [
        ("unfriendly, dishonest, smart", "friendly", "unfriendly, dishonest, smart; friendly"),
        ("unfriendly, smart", "Smart.", "unfriendly, smart"),
        ("calm; She is kind.", "she is kind, calm", "calm; She is kind"),
        ("calm", "calm, kind", "calm; calm, kind"),
        ("不诚实，聪明", "诚实", "不诚实，聪明; 诚实"),
    ],
)
def test_words_of_a_character_that_are_there_already_are_not_repeated(
    described: str, personality: str, character: str, tmp_path: Path
) -> None:
    card = person({**FIELDS, "description": f"Personality: {described}", "personality": personality}, tmp_path)
    assert card.values["character"] == character


def test_lines_under_the_first_name_are_the_persons(tmp_path: Path) -> None:
    card = person({**FIELDS, "description": "", "first_mes": "", "mes_example": "You: Open?\nMirela: Yes."}, tmp_path)
    assert card.values["examples"] == [{"after": "Open?", "text": "Yes."}]


def test_of_version_3_texts_have_the_nickname(tmp_path: Path) -> None:
    card = person(CARD_V3, tmp_path)
    assert "Habits: Miri mends locks in Port Ost." in card.values["background"]
    assert card.values["name"] == "Mirela Stan"
    assert "Nickname: Miri" in card.values["background"]
    assert {"text": "All of you at once?"} in card.values["examples"]


def test_a_lorebook_goes_to_the_people_beside_it_and_alone_has_a_guide(tmp_path: Path) -> None:
    book = read_people(json_file(tmp_path, LOREBOOK, "book.json"))
    card = read_people(json_file(tmp_path, CARD_V2))
    [both] = joined([*card, *book])
    assert {"text": "The ferry leaves at six, Mirela Stan knows.", "keys": ["ferry"]} in both.values["memories"]
    [nicknamed] = joined([person(CARD_V3, tmp_path), *book])
    assert {"text": "The ferry leaves at six, Miri knows.", "keys": ["ferry"]} in nicknamed.values["memories"]
    [guide] = joined(book)
    assert guide.values["name"] == "Guide"
    assert guide.values["memories"] == [{"text": "The ferry leaves at six, Guide knows.", "keys": ["ferry"]}]
    [version_3] = read_people(json_file(tmp_path, {"spec": "lorebook_v3", "data": BOOK}, "v3.json"))
    assert len(version_3.values["memories"]) == 2
    others = {
        "entries": [{"text": "Fog.", "keys": ["mole"], "enabled": True}, {"entry": "Rain.", "keywords": ["roof"]}]
    }
    [other] = read_people(json_file(tmp_path, others, "others.json"))
    assert [memory["keys"] for memory in other.values["memories"]] == [["mole"], ["roof"]]
    with pytest.raises(ScenarioError, match="a lorebook without an entry that holds"):
        joined(read_people(json_file(tmp_path, {"entries": []}, "empty.json")))


def test_a_tinytroupe_agent_and_a_fragment_beside_it(tmp_path: Path) -> None:
    agent = person(AGENT, tmp_path)
    assert agent.values["occupation"] == "Signalman"
    assert agent.values["home"] == "Chur"
    assert agent.values["character"] == "Tobias Kern is calm at night. You forget birthdays but no timetable."
    assert agent.values["traits"] == ["closed"]
    assert agent.values["interests"] == ["alpine flowers"]
    assert agent.values["goals"] == ["To see the sea."]
    assert agent.values["relations"] == {"Rosa": "Your sister, who keeps goats."}
    facts = [
        "Nationality: Swiss",
        "Openness: Low. Likes what he knows.",
        "Extraversion: Medium. Depends.",
        "Likes: tea",
    ]
    facts += [
        "Belief: A late train is a broken word.",
        "Skill: Tobias Kern can read a signal in fog.",
        "Habit: Winds his watch.",
    ]
    facts += ["Routine, Morning: Sweeps the platform.", "It smelled of coal.", "Health: A bad knee."]
    assert set(facts) <= set(agent.values["background"])
    assert set(left(agent)) == {"mental_state"}
    fragment = read_people(json_file(tmp_path, FRAGMENT, "fragment.json"))
    assert "Belief: Rain is honest." in joined([agent, *fragment])[0].values["background"]
    with pytest.raises(ScenarioError, match="without a name; give the person's own file beside it"):
        joined(fragment)


def test_parts_of_an_agent_may_be_texts(tmp_path: Path) -> None:
    persona = {"name": "Oscar", "age": "30 years old", "occupation": "Baker", "personality": "calm"}
    oscar = person({"type": "TinyPerson", "persona": persona}, tmp_path)
    assert oscar.values == {"name": "Oscar", "age": 30, "occupation": "Baker", "character": "calm"}


def test_further_fields_of_a_relationship_keep_their_names(tmp_path: Path) -> None:
    lisa = {
        "name": "Lisa",
        "description": "colleague",
        "years_known": 12,
        "met": {"place": "Ulm", "on": ["ice", "snow"]},
    }
    oscar = person({"type": "TinyPerson", "persona": {"name": "Oscar", "relationships": [lisa]}}, tmp_path)
    assert oscar.values["relations"] == {"Lisa": "colleague"}
    facts = ["About Lisa, Years known: 12", "About Lisa, Met, Place: Ulm", "About Lisa, Met, On: ice, snow"]
    assert oscar.values["background"] == facts


def test_a_sotopia_profile(tmp_path: Path) -> None:
    noor = person({"agent_profile": PROFILE}, tmp_path)
    assert noor.values["name"] == "Noor Haddad"
    assert noor.values["secrets"] == ["Noor broke the chapel window."]
    assert noor.values["traits"] == ["open", "introverted"]
    assert "Neuroticism: Medium" in noor.values["background"]
    assert {"Gender: Woman", "Pronouns: She/her", "She races pigeons.", "MBTI: ISTJ"} <= set(noor.values["background"])


def test_an_sdialog_persona_of_any_class(tmp_path: Path) -> None:
    olga = person(PERSONA, tmp_path)
    assert olga.values["age"] == 62
    assert olga.values["occupation"] == "lock nurse"
    assert olga.values["interests"] == ["tulips", "old maps (of canals, mostly)"]
    assert {"Years of experience: 30", "Rule: Never gives advice.", "Role: Nurse"} <= set(olga.values["background"])
    nameless = person({**PERSONA, "name": ""}, tmp_path)
    assert nameless.values["name"] == "Nurse"


def test_a_generative_agents_folder_and_a_link_in_it(tmp_path: Path) -> None:
    memory = tmp_path / "personas" / "Ada Quinn" / "bootstrap_memory"
    memory.mkdir(parents=True)
    json_file(memory, SCRATCH, "scratch.json")
    for folder in (tmp_path, tmp_path / "personas", memory.parent, memory):
        [ada] = read_people(folder)
        assert ada.values["character"] == "stern, fair"
        assert ada.values["home"] == "kitchen at Quinn House"
    assert "Favourite saying: What is sealed is sealed." in ada.values["background"]
    assert {"vision_r", "act_description"} <= set(left(ada))
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "bootstrap_memory").symlink_to(memory)
    with pytest.raises(ScenarioError, match="a folder without"):
        read_people(tmp_path / "linked")


def test_a_name_is_never_a_macro_in_the_texts_that_have_it(tmp_path: Path) -> None:
    card = person({**CARD_V2, "data": {"name": "{{char}} & {{user}}", "description": "{{char}} waits."}}, tmp_path)
    assert (card.values["name"], card.values["background"]) == ("char & user", ["char & user waits."])


def test_a_fragment_has_the_name_of_the_person_it_goes_to(tmp_path: Path) -> None:
    fragment = person({**FRAGMENT, "persona": {"beliefs": ["{{char}} is right."]}}, tmp_path)
    [whole] = joined([person(AGENT, tmp_path), fragment])
    assert "Belief: Tobias Kern is right." in whole.values["background"]


def test_two_people_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="'noor haddad' is there already, as 'Noor Haddad'"):
        read_people(json_file(tmp_path, [PROFILE, {**PROFILE, "first_name": "noor", "last_name": "haddad"}]))
    both = [person(PROFILE, tmp_path), person(PROFILE, tmp_path)]
    with pytest.raises(ScenarioError, match="is there already"):
        joined(both)
