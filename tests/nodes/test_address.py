"""Who a line speaks to: whom it asks, whom it names, and what is left of it without names."""

import pytest

from tertulia.nodes.meeting.address import Address, address_of, is_named, mentions, mentions_of, without_names
from tertulia.state.records import Turn

PEOPLE = (
    "Eva",
    "Jonas",
    "Alice",
    "Bob",
    "Will",
    "May",
    "Anna Berg",
    "Anna Holm",
    "Dr. Watson",
    "José",
    "山田",
    "ジョン",
    "민수",
)


def address(text: str, speaker: str | None = "Eva", people: tuple[str, ...] = PEOPLE) -> Address:
    return address_of(Turn(turn=1, round=1, speaker=speaker, text=text, sim_time_s=0, ended=False), people)


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
    found = address(text)
    assert list(found.asked) == asked
    assert set(found.asked) <= set(found.named)


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
    assert address(text).is_open_question is is_open


@pytest.mark.parametrize(
    "text",
    ["will you come?", "Will you come?", "WILL YOU COME?", "May I ask something?", "In May it rains.", "May 5th?"],
)
def test_a_name_that_is_a_word_is_not_named_by_the_word(text: str) -> None:
    assert address(text).named == ()


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [("Will", "I asked Will.", True), ("Will", "Will, listen.", True), ("Will", "Will is here.", True),
     ("Will", "Will and Alice know.", True), ("Will", "Ask will?", False), ("Ana", "ana?", True),
     ("Ana", "ana. Yes", False), ("Ana", "Anaconda", False), ("Mary", "Mary-Ann", False), ("Bob", "a bobsleigh", False),
     ("アン", "アンケート", False), ("Ana Vos", "What does Ana say?", True), ("Ana Vos", "Vos, perhaps.", False),
     ("Ana (she)", "I mean Ana (she).", True), ("🦆", "Where is 🦆 now?", True)],
)  # fmt: skip
def test_a_name_is_named_by_a_word_of_its_own(name: str, text: str, named: bool) -> None:
    assert is_named(name, text) is named


def test_silences_and_nothing_speak_to_nobody() -> None:
    assert address_of(None, PEOPLE) == Address()
    assert address("", speaker=None) == Address()
    assert address("") == Address()


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Bob, that works.", "that works."),
        ("Thanks, Bob.", "Thanks."),
        ("Bob's car is red.", "car is red."),
        ("What about it, Alice?", "What about it?"),
        ("Anna Berg's boat and Holm’s boat", "boat and boat"),
        ("I asked Will. Will you come?", "I asked. Will you come?"),
        ("Bob!", ""),
        ("山田さんは来ます", "は来ます"),
        ("Nobody is named here, not Bobby.", "Nobody is named here, not Bobby."),
    ],
)
def test_a_text_without_names(text: str, rest: str) -> None:
    assert without_names(text, PEOPLE) == rest


def test_a_long_line_is_read_at_once() -> None:
    """No pattern looks back and forth over it."""
    for text in ("Bob, " * 800, "and " * 800 + "?", ", " * 1200 + "Bob", "Bob and " * 400, '"' * 1800):
        assert address(text).asked in ((), ("Bob",))


def test_names_of_thousands_are_found_as_one_by_one() -> None:
    people = [f"{first} {last}" for first in ("Ada", "Al", "Straße", "Dr. Io", "李") for last in ("Holm", "Ng", "Øst")]
    people += [f"Vera{number} Kovač" for number in range(2000)]
    text = "Ada Holm met AL, strasse, Io Ng's friend, 李 and Vera17; not Alma or Vera."
    one_by_one = {name: found for name in people if (found := mentions(name, text))}
    assert len(one_by_one) > 8
    assert mentions_of(people, text) == one_by_one
    assert list(mentions_of(people, text)) == list(one_by_one)
    assert mentions_of([], text) == {} == mentions_of(people, "")


def test_people_whose_names_are_not_in_a_line_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []
    monkeypatch.setattr("tertulia.nodes.meeting.address._places", lambda name, text: looked_for.append(name) or [])
    mentions_of([*(f"Vera{number} Holm" for number in range(1000)), "Ada Berg"], "Is Ada at home?")
    assert looked_for == ["Ada Berg"]
