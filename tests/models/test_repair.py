"""Answers of chat models, in whatever form they are written: what is meant is read, what is missing is named."""

import contextlib
import json
from typing import Any

import pytest
from support.chat_case import FIELDS
from support.cpu_time import cpu_time_below

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.repair import UnusableReplyError, read_answer
from tertulia.state.language_model import ReplyField


def read_fields(written: str, *fields: ReplyField) -> dict[str, Any]:
    return read_answer(written, fields or FIELDS, RehearsalTokenizer()).fields


@pytest.mark.parametrize(
    "written",
    [
        '{"Ana": "Good morning, Bo.", "over?": false}',
        '```json\n{"Ana": "Good morning, Bo.", "over?": false}\n```',
        'Here you are: {"Ana": "Good morning, Bo.", "over?": false} I hope that helps.',
        "{'Ana': 'Good morning, Bo.', 'over?': False,}",
        '{"Ana": "Good morning, Bo.", "over?": "No, it goes on."}',
        '{"ana": "Good morning, Bo.", "Over": 0}',
        '{"Ana": "Ana: Good morning,\\n Bo.", "over?": "false"}',
        '<think>{"Ana": "no"} maybe</think>{"Ana": "Good morning, Bo.", "over?": false}',
        'I use {braces}. [{"Ana": "Good morning, Bo.", "over?": false}]',
        '{"over?": false, "Ana": "Good morning, Bo. And th',
        '{"Ana": "Good morning, Bo.", // a greeting\n "over?": no}',
        "{Ana: Good morning, Bo., over?: false}",
        "{“Ana”: “Good morning, Bo.”; “over?”: “no”}",
        "{'reply': {'over?': False, 'Ana': 'Good morning, Bo.',}} That's {all}.",
        '{"anna": "Good morning, Bo.",\n "over?": no}',
        'So it is over. </think> {"Ana": "Good morning,\nBo.", "over?": false}',
    ],
)
def test_what_is_meant_is_read(written: str) -> None:
    assert read_fields(written) == {"Ana": "Good morning, Bo.", "over?": False}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("I would rather not.", "no JSON object"),
        ('{"over?": false}', "'Ana' is missing"),
        ('{"Ana": "Hello there.", "over?": "perhaps"}', "neither true nor false"),
        ('{"Ana": "** --", "over?": true}', "nothing is said"),
        ('{"Ana": {"a": 1}, "over?": true}', "no text"),
        ('{"Ana": null, "over?": true}', "missing"),
        ("{" * 5000, "no JSON"),
        ('{"Ana": "Hello there.", "over?": tr', "breaks off"),
        ('{"over?": true, "Ana": "Hello the', "breaks off"),
    ],
)
def test_what_is_missing_is_named(written: str, problem: str) -> None:
    with pytest.raises(UnusableReplyError, match=problem):
        read_fields(written)


def test_quotation_marks_and_signs_in_speech_do_no_harm() -> None:
    assert read_fields('{"Ana": "He said "so", and: "no".", "over?": no}')["Ana"] == 'He said "so", and: "no".'
    assert read_fields("{'Ana': 'It\\'s Bo\\u2019s, isn't it?', 'over?': False}")["Ana"] == "It's Bo’s, isn't it?"
    names = (ReplyField("Ana O'Neil", "speech"), ReplyField("Dr. (B) [c]*", "text"))
    assert read_fields("""{"Ana O'Neil": "Hello.", 'Dr. (B) [c]*': 'x',}""", *names) == {
        "Ana O'Neil": "Hello.",
        "Dr. (B) [c]*": "x",
    }


@pytest.mark.parametrize("beginning", ["", '{"Ana": "', "{'over?': no, 'Ana': '", "<think>", "{ Ana: ("])
@pytest.mark.parametrize(
    "part",
    [
        "{",
        '"',
        "\\",
        '","',
        "<think>",
        "}{```json,",
        "'#",
    ],
)
def test_no_answer_takes_long_to_read(beginning: str, part: str) -> None:
    with cpu_time_below(5), contextlib.suppress(UnusableReplyError):  # a fiftieth of it, as a rule
        read_fields(beginning + part * (100_000 // len(part)))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("7", 7),
        ('"7"', 7),
        ('"seven"', 7),
        ('"Rating: 7, mostly."', 7),
        ('"七分"', 7),
        ('"十分，满分"', 10),
        ('"ungefähr zehn von zehn"', 10),
        ('"huit, je crois"', 8),
        ('"Siete."', 7),
    ],
)
def test_numbers_in_whatever_form(value: str, number: int) -> None:
    assert read_fields(f'{{"rating": {value}}}', ReplyField("rating", "integer", minimum=1)) == {"rating": number}


@pytest.mark.parametrize(
    "value",
    [
        "11",
        "0",
        "-7",
        "7.5",
        '"7.5"',
        "true",
        "1e400",
        "9" * 5000,
        '"une note"',
        '"十五分"',
    ],
)
def test_numbers_that_were_not_asked_for(value: str) -> None:
    with pytest.raises(UnusableReplyError):
        read_fields(f'{{"rating": {value}}}', ReplyField("rating", "integer", minimum=1))


@pytest.mark.parametrize(
    ("value", "is_so"), [("是", True), ("是的。", True), ("对", True), ("否", False), ("不是", False)]
)
def test_a_chinese_yes_or_no_is_read(value: str, is_so: bool) -> None:
    assert read_fields(f'{{"over": "{value}"}}', ReplyField("over", "boolean")) == {"over": is_so}
    with pytest.raises(UnusableReplyError, match="neither true nor false"):
        read_fields('{"over": "没有问题"}', ReplyField("over", "boolean"))


@pytest.mark.parametrize(
    ("value", "is_so"),
    [("Ja, sicher.", True), ("nein", False), ("nicht ganz", False), ("Oui", True), ("non", False),
     ("pas encore", False),
     ("vrai", True), ("Sí.", True), ("verdadero", True), ("falso", False)],
)  # fmt: skip
def test_yes_or_no_in_other_languages_is_read(value: str, is_so: bool) -> None:
    assert read_fields(json.dumps({"over": value}), ReplyField("over", "boolean")) == {"over": is_so}


def test_choices_by_nearest_spelling() -> None:
    field = ReplyField("next", "choice", choices=("Bo Berg", "Cy"))
    assert [
        read_fields(json.dumps({"next": text}), field)["next"] for text in ("Bo Berg", "bo berg.", "Bo  Burg", "CY")
    ] == [
        *["Bo Berg"] * 3,
        "Cy",
    ]
    with pytest.raises(UnusableReplyError, match="none of Bo Berg, Cy"):
        read_fields('{"next": "Dee"}', field)
    items = [ReplyField(f"item_{i}", "integer") for i in (1, 2, 12)]
    with pytest.raises(UnusableReplyError, match="item_1"):  # not taken for another item's
        read_fields('{"item_2": 3, "item_12": 4, "item_11": 5}', *items)


def test_text_is_one_line_within_its_limit() -> None:
    field = ReplyField("thought", "text", max_tokens=8)
    assert read_fields(
        '{"thought": "One\\u0000 two.\\u2028Three \\ud800four five six seven eight nine ten."}', field
    ) == {"thought": "One two."}
    assert read_fields('{"thought": "one two three four five six seven eight nine ten"}', field)["thought"].endswith(
        "…"
    )


@pytest.mark.parametrize(
    "sentence",
    ["屋顶漏水了。", "屋根が漏れています！", "छत टपक रही है।", "چھت ٹپک رہی ہے۔", "هل يتسرب السقف؟", "The roof leaks."],
)
def test_what_breaks_off_ends_with_a_whole_sentence_in_every_script(sentence: str) -> None:
    between = "" if sentence[-1] in "。！" else " "
    field = ReplyField("Ana", "speech", max_tokens=200)
    written = f'{{"Ana": "{sentence}{between}{sentence}{between}{sentence[:4]}'
    assert read_fields(written, field) == {"Ana": f"{sentence}{between}{sentence}"}


def test_the_text_of_a_reply_is_clean_json_that_begins_as_prompts_begin_it() -> None:
    reply = read_answer('{"Ana": "He said \\"so\\".", "over?": true}', FIELDS, RehearsalTokenizer())
    assert reply.text.startswith('{"Ana": "')
    assert json.loads(reply.text) == reply.fields == {"Ana": 'He said "so".', "over?": True}
    assert (reply.tokens, reply.text_tokens) == ((), (0, 0))
