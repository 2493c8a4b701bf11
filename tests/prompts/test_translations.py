"""Templates and examples in other languages: whole, in the same form as the English ones, and read back."""

import calendar
import re
from datetime import datetime
from importlib import resources
from string import Template
from typing import Any

import pytest
from support.english import COMMON, words_of

from tertulia.nodes.mechanisms.registry import MECHANISMS, description_of
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.prompts.examples import draw_example, draw_switch, examples
from tertulia.prompts.names import clauses, enumerated, listed, qualities
from tertulia.prompts.shape import ask_again, problem_of, schema_of
from tertulia.prompts.templates import is_translated, template
from tertulia.prompts.town import summary_memory
from tertulia.prompts.translations import stored_form, translated, translated_list
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import BIG_FIVE, EMOTIONS
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Dialogue, Participant, Persona, Utterance
from tertulia.state.town import Encounter
from tertulia.worlds.pictures import _SHADES

_FOLDER = resources.files("tertulia.prompts") / "templates"
#: What only researchers ask, about stored conversations, and what is no template.
_ENGLISH = {"inventory", "speech_acts", "outcomes", "names", "examples", "paper"}
NAMES = sorted(
    name for file in _FOLDER.iterdir() if file.is_file() and (name := file.name.removesuffix(".yaml")) not in _ENGLISH
)
LANGUAGES = sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir())
#: Variables that may stand for those of the English text.
_GIVEN_INSTEAD = {"day_number": "day", "key": "name"}
#: Words of records that prompts have in a language.
WORDS = (*EMOTIONS, *(pole for poles in BIG_FIVE.values() for pole in poles), "keep", "shift", "pause")
#: Words of records that only pictures, needs and dates have.
OTHER_WORDS = (
    *_SHADES,
    *("hungry", "lonely", "bored", "unwell", "tired", "slightly", "very", "extremely"),
    *("disgusted", "surprised", "happy", "angry", "distant", "rather close", "close", "very close"),
    *calendar.day_name,
    *calendar.month_name[1:],
)


def entries_of(name: str, language: str) -> dict[str, Any]:
    return template(name, language)._entries


def variables_of(text: Template) -> set[str]:
    return {_GIVEN_INSTEAD.get(name, name) for name in text.get_identifiers()}


def texts_of(language: str) -> dict[str, str]:
    """Every text of a language by file and entry, answers of its examples among them."""
    texts = {f"{name}.{entry}": text.template for name in NAMES for entry, text in entries_of(name, language).items()}
    parts: list[Any] = [examples(language)]
    for part in parts:
        parts.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return texts | {f"examples.{number}": part for number, part in enumerate(parts) if isinstance(part, str)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_every_entry_with_the_same_variables(name: str, language: str) -> None:
    assert is_translated(name, language)
    assert not is_translated(name, "th")
    english, translated = entries_of(name, "en"), entries_of(name, language)
    more = {entry.partition(".")[0] for entry in translated.keys() - english.keys()}
    assert more <= {"utterance": {"words"}, "cognition": {"ways"}}.get(name, set())
    for entry in english:
        assert variables_of(translated[entry]) == variables_of(english[entry]), entry


@pytest.mark.parametrize("name", NAMES)
def test_chinese_has_full_width_punctuation(name: str) -> None:
    texts = {entry: text.template for entry, text in entries_of(name, "zh").items()}
    half = {entry: text for entry, text in texts.items() if re.search(r"[\u4e00-\u9fff] ?[,;:!?()]", text)}
    assert half == {}


def breaches_of(language: str, rule: str) -> dict[str, str]:
    """The texts of a language that hold what a rule of its writing excludes."""
    return {entry: text for entry, text in texts_of(language).items() if re.search(rule, text)}


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_no_text_is_left_in_english(language: str) -> None:
    english, texts = texts_of("en"), texts_of(language)
    assert {entry: found for entry, text in texts.items() if (found := words_of(text) & COMMON)} == {}
    assert [entry for entry, text in texts.items() if text == english.get(entry) and len(words_of(text)) > 1] == []
    assert all(words_of(text) & COMMON for text in english.values() if len(words_of(text)) > 7)  # English is found


def test_french_has_a_space_before_double_marks_and_shortens_no_word_before_a_name() -> None:
    assert breaches_of("fr", r"\w[:;?!»]|«\S") == {}
    people = "(?:speaker|listener|partner|asker|answerer|name|other|first|second|people)"
    short = r"(?:de|que|ce|je|me|te|se|le|la|ne|jusque|lorsque|puisque|quoique|du|des)"
    assert breaches_of("fr", rf"(?i)\b{short} \${people}\b") == {}


def test_spanish_opens_what_it_closes_and_has_no_name_behind_a_word_that_changes() -> None:
    for opening, closing in ("¿?", "¡!", "«»"):
        assert {entry for entry, text in texts_of("es").items() if text.count(opening) != text.count(closing)} == set()
    assert (
        breaches_of("es", r"(?i)\b[yo] \$(?:speaker|listener|partner|asker|answerer|name|other|first|second)\b") == {}
    )


def test_german_closes_its_quotes_and_nothing_stands_behind_a_genitive() -> None:
    assert {entry for entry, text in texts_of("de").items() if text.count("„") != text.count("“")} == set()
    assert breaches_of("de", r"\$(?:speaker|listener|name|other)(?:s\b|['’])") == {}


@pytest.mark.parametrize(
    ("language", "first", "fifth"),
    [
        ("en", "On Friday 1 March Ana", "Sunday, 05 May, 08:05"),
        ("de", "Am Freitag, dem 1. März, hat Ana", "Sonntag, dem 5. Mai, um 08:05 Uhr"),
        ("fr", "Le vendredi 1er mars, Ana", "dimanche 5 mai à 08:05"),
        ("es", "El viernes 1 de marzo, Ana", "domingo 5 de mayo, a las 08:05"),
        ("zh", "3月1日星期五，Ana", "5月5日星期日 08:05"),
    ],
)
def test_dates_are_written_as_the_language_does(language: str, first: str, fifth: str) -> None:
    encounter = Encounter(
        day=1,
        number=1,
        time=datetime(2024, 3, 1, 9),
        place=None,
        initiator="Ana",
        partner="Bo",
        activities=(None, None),
    )
    assert summary_memory(encounter, "Ana", "Bo", "…", language).startswith(first)
    before = Dialogue(time=datetime(2024, 5, 5, 8, 5), utterances=(Utterance(speaker="Bo", text="…"),))
    person = Participant(persona=Persona(name="Ana"), memories=())
    other = Participant(persona=Persona(name="Bo"), memories=())
    case = Case(scenario="s", time=datetime(2024, 6, 1), initiator=person, partner=other, previous_dialogues=(before,))
    material = UtteranceMaterial(start=case, speaker="Ana", listeners=["Bo"], memories=(), turns=(), language=language)
    units = assemble_prompt(material, "single_message", "bhmpec", "").units
    assert any(fifth in unit.text for unit in units)


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_have_the_fields_of_the_english_ones(language: str) -> None:
    english, translated = examples(), examples(language)
    assert translated.keys() == english.keys()
    for question in ("mechanisms", "recall", "topics", "assess", "moderator", "designate", "willingness"):
        assert [list(answer) for answer in translated[question]] == [list(answer) for answer in english[question]]
    for question in ("personality", "plan", "progress", "exchange"):
        assert [len(answer) for answer in translated[question]] == [len(answer) for answer in english[question]]
    feelings = [stored_form(answer["feeling"], EMOTIONS, language) for answer in translated["assess"]]
    assert sorted(feelings) == sorted(EMOTIONS)
    moves = [stored_form(answer["move"], ("keep", "shift", "pause"), language) for answer in translated["topics"]]
    assert sorted(moves) == sorted(answer["move"] for answer in english["topics"])
    steps = [value for answer in translated["progress"] for value in answer.values() if isinstance(value, bool)]
    assert (len(steps), sum(steps)) == (12, 6)


def test_examples_are_drawn_in_the_language_and_in_english_where_it_has_none() -> None:
    assert re.search("[一-鿿]", draw_example("recall", keyed_generator(1, node="n"), "zh")["recall"])
    assert draw_example("recall", keyed_generator(1, node="n"), "th") == draw_example(
        "recall", keyed_generator(1, node="n")
    )
    drawn = draw_switch("goal_summary", keyed_generator(1, node="n"), "zh")
    assert drawn is not None
    assert re.search("[一-鿿]", drawn[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stored_word_has_one_of_the_language_and_is_read_back(language: str) -> None:
    in_language = [translated(stored, language) for stored in WORDS]
    assert len(set(in_language)) == len(WORDS)
    assert not set(in_language) & set(WORDS)
    assert [stored_form(text, WORDS, language) for text in in_language] == list(WORDS)
    assert stored_form("calm", EMOTIONS) == "calm"
    assert stored_form("别的", EMOTIONS, language) == "别的"


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_every_other_stored_word_has_one_of_the_language(language: str) -> None:
    assert {translated(stored, "en") for stored in OTHER_WORDS} == set(OTHER_WORDS)
    entries = entries_of("utterance", language)
    assert [stored for stored in OTHER_WORDS if f"words.{stored}" not in entries] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_mechanism_is_described_in_the_language(language: str) -> None:
    described = {name: description_of(mechanism, language) for name, mechanism in MECHANISMS.items()}
    assert {f"ways.{name}" for name in described} == {
        entry for entry in entries_of("cognition", language) if entry.startswith("ways.")
    }
    assert not set(described.values()) & {mechanism.description for mechanism in MECHANISMS.values()}
    assert all(description_of(mechanism, "en") == mechanism.description for mechanism in MECHANISMS.values())


def test_lists_in_sentences() -> None:
    names = ["甲", "乙", "丙"]
    assert [listed(names, "zh"), qualities(names, "zh"), enumerated(names, "zh")] == ["甲、乙和丙", *["甲、乙、丙"] * 2]
    assert clauses(["修屋顶", "选日子"], "zh") == "修屋顶；选日子"
    assert translated_list(["open", "calm"], "zh") == "乐于接受新事物、平静"
    names = ["Ana", "Bo", "Cy"]
    assert [listed(names, language) for language in ("de", "fr", "es")] == [
        "Ana, Bo und Cy",
        "Ana, Bo et Cy",
        "Ana, Bo y Cy",
    ]
    assert [listed([], language) for language in ("de", "fr", "es")] == ["niemand", "personne", "nadie"]
    assert clauses(["a", "b"], "fr") == "a ; b"
    assert [listed(names), qualities(names), enumerated(names)] == [*["Ana, Bo and Cy"] * 2, "Ana, Bo, Cy"]
    assert [listed(names[:count]) for count in range(3)] == ["nobody", "Ana", "Ana and Bo"]
    assert (clauses(names), qualities([]), qualities(["shy"])) == ("Ana; Bo; Cy", "", "shy")


@pytest.mark.parametrize(
    ("last", "joint"),
    [
        ("Inés", "e"),
        ("Íñigo", "e"),
        ("Hilario", "e"),
        ("Yves", "e"),
        ("Yolanda", "y"),
        ("Ian", "y"),
        ("Hierro", "y"),
        ("Eva", "y"),
        ("Ysabel", "e"),
    ],
)
def test_y_becomes_e_before_its_own_sound(last: str, joint: str) -> None:
    assert listed(["Bo", "Ana", last], "es") == f"Bo, Ana {joint} {last}"
    assert listed([last, "Ana"], "es") == f"{last} y Ana"
    assert listed(["Ana", last], "en") == f"Ana and {last}"


def test_what_is_wrong_with_an_answer_is_said_in_the_language() -> None:
    rating = ReplyField("打分", "integer", minimum=1)
    assert problem_of("no_number", rating) == "'打分' is no whole number from 1 to 10"
    problem = problem_of("no_number", rating, "zh")
    assert ask_again([rating], problem, "zh") == (
        "这个回答不能用：“打分”不是从1到10的整数。请重新写出完整的 JSON 对象，不要写别的，形式如下："
        '{"打分": "从1到10的整数"}'
    )
    assert schema_of([rating], "zh")["properties"]["打分"]["description"] == "从1到10的整数"
