"""Templates and examples in other languages: whole, in the same form as the English ones, and read back."""

import re
from importlib import resources
from typing import Any

import pytest

from tertulia.nodes.mechanisms.registry import MECHANISMS, description_of
from tertulia.prompts.examples import draw_example, draw_switch, examples
from tertulia.prompts.names import clauses, enumerated, listed, qualities
from tertulia.prompts.shape import ask_again, problem_of, schema_of
from tertulia.prompts.templates import is_translated, template
from tertulia.prompts.words import stored_word, word, words
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import BIG_FIVE, EMOTIONS
from tertulia.state.randomness import keyed_generator

_FOLDER = resources.files("tertulia.prompts") / "templates"
#: What only researchers ask, about stored conversations, and what is no template.
_ENGLISH = {"inventory", "speech_acts", "names", "examples"}
NAMES = sorted(
    name for file in _FOLDER.iterdir() if file.is_file() and (name := file.name.removesuffix(".yaml")) not in _ENGLISH
)
LANGUAGES = sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir())
#: Variables that are given to an entry beside those of its English text.
_GIVEN_TOO = {"day_number", "name"}
#: Words of records that prompts have in a language.
WORDS = (*EMOTIONS, *(pole for poles in BIG_FIVE.values() for pole in poles), "keep", "shift", "pause")


def entries_of(name: str, language: str) -> dict[str, Any]:
    return template(name, language)._entries


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_translation_has_every_entry_and_none_with_a_variable_that_is_not_given(name: str, language: str) -> None:
    assert is_translated(name, language)
    assert not is_translated(name, "th")
    english, translated = entries_of(name, "en"), entries_of(name, language)
    more = {entry.partition(".")[0] for entry in translated.keys() - english.keys()}
    assert more <= {"utterance": {"words"}, "cognition": {"ways"}}.get(name, set())
    for entry in english:
        given = {*english[entry].get_identifiers(), *_GIVEN_TOO}
        assert set(translated[entry].get_identifiers()) <= given, entry


@pytest.mark.parametrize("name", NAMES)
def test_chinese_has_full_width_punctuation(name: str) -> None:
    texts = {entry: text.template for entry, text in entries_of(name, "zh").items()}
    half = {entry: text for entry, text in texts.items() if re.search(r"[\u4e00-\u9fff] ?[,;:!?()]", text)}
    assert half == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_have_the_fields_of_the_english_ones(language: str) -> None:
    english, translated = examples(), examples(language)
    assert translated.keys() == english.keys()
    for question in ("mechanisms", "recall", "topics", "assess", "moderator", "designate", "willingness"):
        assert [list(answer) for answer in translated[question]] == [list(answer) for answer in english[question]]
    for question in ("personality", "plan", "progress", "exchange"):
        assert [len(answer) for answer in translated[question]] == [len(answer) for answer in english[question]]
    feelings = [stored_word(answer["feeling"], EMOTIONS, language) for answer in translated["assess"]]
    assert sorted(feelings) == sorted(EMOTIONS)
    moves = [stored_word(answer["move"], ("keep", "shift", "pause"), language) for answer in translated["topics"]]
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
    translated = [word(stored, language) for stored in WORDS]
    assert len(set(translated)) == len(WORDS)
    assert not set(translated) & set(WORDS)
    assert [stored_word(text, WORDS, language) for text in translated] == list(WORDS)
    assert stored_word("calm", EMOTIONS) == "calm"
    assert stored_word("别的", EMOTIONS, language) == "别的"


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
    assert words(["open", "calm"], "zh") == "乐于接受新事物、平静"
    names = ["Ana", "Bo", "Cy"]
    assert [listed(names), qualities(names), enumerated(names)] == [*["Ana, Bo and Cy"] * 2, "Ana, Bo, Cy"]
    assert (clauses(names), qualities([]), qualities(["shy"])) == ("Ana; Bo; Cy", "", "shy")


def test_what_is_wrong_with_an_answer_is_said_in_the_language() -> None:
    rating = ReplyField("打分", "integer", minimum=1)
    assert problem_of("no_number", rating) == "'打分' is no whole number from 1 to 10"
    problem = problem_of("no_number", rating, "zh")
    assert ask_again([rating], problem, "zh") == (
        "这个回答不能用：“打分”不是从1到10的整数。请重新写出完整的 JSON 对象，不要写别的，形式如下："
        '{"打分": "从1到10的整数"}'
    )
    assert schema_of([rating], "zh")["properties"]["打分"]["description"] == "从1到10的整数"
