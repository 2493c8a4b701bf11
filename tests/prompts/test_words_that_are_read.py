"""Which units can be named as reasons, and which tokens of a reply are its words."""

import json

import pytest

from tertulia.models.rehearsal import RehearsalModel
from tertulia.prompts.render import tokens_of_texts
from tertulia.prompts.units import nameable_units
from tertulia.state.records import Prompt, Unit


def test_what_informs_can_be_named_whether_it_may_be_removed_or_not() -> None:
    units = [
        Unit(id="opening.text_1", block="opening", kind="text", text="You are Ann."),
        Unit(id="memory.m1", block="memory", kind="item", text="The lake froze.", removable=True),
        Unit(id="environment.meeting", block="environment", kind="item", text="About the day."),
        Unit(id="situation.thought", block="situation", kind="text", text="Ann thinks: No."),
        Unit(id="picture.image", block="picture", kind="item", text="A cat", picture="ab12"),
        Unit(id="task.text_1", block="task", kind="text", text="Talk."),
        Unit(id="current_dialogue.turn_1", block="current_dialogue", kind="item", text="Bob: And now?"),
    ]
    named = nameable_units(Prompt(units=tuple(units), speaker="Ann", layout="single_message"))
    assert [unit.id for unit in named] == [*("memory.m1", "environment.meeting", "situation.thought", "picture.image")]


@pytest.mark.parametrize(
    ("situation", "thought"),
    [("Bob asks.", "I know."), ("The same.", "The same."), ('He said "no".', "Café, 三."), ("a", "b")],
)
def test_the_tokens_of_a_text_are_its_words_in_the_order_of_the_fields(situation: str, thought: str) -> None:
    tokenizer = RehearsalModel("rehearsal").tokenizer
    fields = {"situation": situation, "strength": 3, "thought": thought}
    tokens = tokenizer.encode(json.dumps(fields, ensure_ascii=False))
    spans = tokens_of_texts(tokenizer, tokens, [situation, thought])
    found = [tokenizer.decode(tokens[first:past_last]) for first, past_last in spans]
    written = [json.dumps(text, ensure_ascii=False)[1:-1] for text in (situation, thought)]
    assert all(text in of_tokens for text, of_tokens in zip(written, found, strict=True))
    assert all(len(of_tokens) <= len(text) + 8 for text, of_tokens in zip(written, found, strict=True))
    assert spans[0][1] <= spans[1][0]


def test_a_text_that_the_reply_has_not_leaves_all_tokens() -> None:
    tokenizer = RehearsalModel("rehearsal").tokenizer
    tokens = tokenizer.encode('{"thought": "Hm."}')
    assert tokens_of_texts(tokenizer, tokens, ["Something else."]) == [(0, len(tokens))]
