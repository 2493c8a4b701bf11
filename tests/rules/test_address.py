"""Whom a line asks, by its words."""

from typing import Any

import pytest
from support.named_people import PEOPLE

from tertulia.rules.address import read_line


def address(text: str) -> dict[str, Any]:
    return read_line(text, PEOPLE[1:])


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Jonas, where is the key?", ["Jonas"]),
        ("Jonas, you were there. Where is the key?", ["Jonas"]),
        ("Where is the key? Tell me, Jonas.", ["Jonas"]),
        ("Where is the key, Jonas?", ["Jonas"]),
        ("I told Jonas. Alice, what do you think?", ["Alice"]),
        ("Alice, what did Jonas say?", ["Alice"]),
        ("What did Jonas say, Alice?", ["Alice"]),
        ("Bob, did Alice say so?", ["Bob"]),
        ("What does Jonas think?", ["Jonas"]),
        ("How about Bob?", ["Bob"]),
        ("Why did Bob leave?", []),
        ("When will Bob arrive?", []),
        ("Does Bob know why Alice left?", ["Bob"]),
        ("Do Bob and Alice agree?", ["Alice", "Bob"]),
        ("Can Bob bring the cake?", ["Bob"]),
        ("Is there anything that Bob wants?", []),
        ("¿Qué piensa Jonas?", ["Jonas"]),
        ("Thanks, Bob. What do the rest of you think?", []),
        ("Thanks, Bob. When do we meet?", []),
        ("Thanks, Bob. Can you send it to me?", ["Bob"]),
        ("@Bob your turn", ["Bob"]),
        ("Bob your turn", ["Bob"]),
        ("Thanks @Bob. @Alice can you do it?", ["Alice"]),
        ("Let's hear from Bob.", ["Bob"]),
        ("And you, Alice?", ["Alice"]),
        ("So Jonas, how was it?", ["Jonas"]),
        ("Bob. Friday?", ["Bob"]),
        ("Bob and Alice, what do you think?", ["Alice", "Bob"]),
        ("What do you think, Bob, Alice and Jonas?", ["Jonas", "Alice", "Bob"]),
        ("Bob, can you do Friday? And Alice, can you?", ["Alice", "Bob"]),
        ("Jonas can you hear me?", ["Jonas"]),
        ("What do you think Jonas?", ["Jonas"]),
        ("Jonas, tell us what you saw.", ["Jonas"]),
        ("jonas, where is it? I can't find it", ["Jonas"]),
        ("JONAS, WHERE IS IT?", ["Jonas"]),
        ("Dr. Watson, is he ill?", ["Dr. Watson"]),
        ("Watson, is he ill?", ["Dr. Watson"]),
        ("Anna Berg, is it you?", ["Anna Berg"]),
        ("Anna, is it you?", ["Anna Berg", "Anna Holm"]),
        ("José, ¿qué opinas?", ["José"]),
        ("Jose\u0301, ¿qué opinas?", ["José"]),
        ("山田さん、どう思いますか？", ["山田"]),
        ("山田さん、どう思いますか。", ["山田"]),
        ("ジョンはどう思う？", ["ジョン"]),
        ("민수야, 어떻게 생각해?", ["민수"]),
        ("Alice, ما رأيك؟", ["Alice"]),
        ("Alice, πού είναι το κλειδί;", ["Alice"]),
        ("Are you coming, Will?", ["Will"]),
        ("will, are you there?", ["Will"]),
        ("Jonas was there.", []),
        ("Thanks, Jonas.", []),
        ("Did you ask Jonas?", []),
        ("Does anybody know where Jonas is?", []),
        ("Is that Bob's car?", []),
        ("Eva, am I right?", []),  # she says it herself
    ],
)
def test_who_is_asked(text: str, asked: list[str]) -> None:
    assert address(text)["asked"] == asked


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("Who has a first idea?", True),
        ("Thanks, Bob. Does anybody else have an idea?", True),
        ("I told Jonas. What do we do?", True),
        ("Did you ask Jonas?", True),
        ("どうですか。", True),
        ("Bob, can you do Friday?", False),
        ("Bob, you were there. What happened?", False),
        ("That is fine.", False),
    ],
)
def test_a_question_that_asks_nobody_is_open(text: str, is_open: bool) -> None:
    assert address(text)["is_open_question"] is is_open


def test_a_line_without_words_asks_nobody() -> None:
    assert address("") == {"asked": [], "is_open_question": False}


def test_a_long_line_is_read_at_once() -> None:
    """No pattern looks back and forth over it."""
    for text in ("Bob, " * 800, "and " * 800 + "?", ", " * 1200 + "Bob", "Bob and " * 400, '"' * 1800):
        assert address(text)["asked"] in ([], ["Bob"])
