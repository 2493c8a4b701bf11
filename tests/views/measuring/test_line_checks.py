"""What keeps an utterance from counting as to the point: recited, shuffled, denied, the partner's, said before."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.word_vectors import WordEmbedder

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import LineCheck, to_the_point
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Memory, Participant, Persona
from tertulia.views.measuring.line_checks import checks_of, is_out_of_order, recited_share
from tertulia.views.measuring.word_order import english_order

NOW = datetime(2025, 6, 12, 9, 30)
MIA = ("Mia Roth slept in her own car for five weeks.", "Mia Roth grows basil behind the chapel.")
SAM = ("Sam Field dropped a tray with eighteen glasses.", "Sam Field keeps a blue glove in a drawer.")
REAL = "You would not believe it, but I once lived in a car, and the winter was cold."


def person(name: str, memories: tuple[str, ...]) -> Participant:
    known = tuple(
        Memory(id=str(at), kind="event", text=text, created=NOW - timedelta(hours=at + 1), importance=5)
        for at, text in enumerate(memories)
    )
    return Participant(persona=Persona(name=name), memories=known)


def a_case(place: str | None = "the kitchen of the night shelter", memories: bool = True) -> Case:
    of_mia, of_sam = (MIA, SAM) if memories else ((), ())
    people = person("Mia Roth", of_mia), person("Sam Field", of_sam)
    return Case(scenario="shelter", time=NOW, place=place, initiator=people[0], partner=people[1])


def check(text: str, speaker: str = "Mia Roth", before: Dialogue = ()) -> LineCheck:
    found = checks_of([*before, (speaker, text)], a_case(), WordEmbedder())[-1]
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Mia Roth slept in her own car for five weeks.",
        "I slept in my own car for five weeks.",
        "I am at the kitchen of the night shelter.",
        "I SLEPT in our own cars for five weeks!",
    ],
)
def test_what_is_said_word_for_word_is_recited_whoever_it_says_it_of(text: str) -> None:
    assert check(text).recited == 1
    assert check(text).weight == 0


def test_what_is_told_in_other_words_is_not_recited() -> None:
    found = check(REAL)
    assert (found.recited, found.weight) == (0, 1)
    half = check("I slept in my own car for five weeks, before anybody found out about this winter.")
    assert 0 < half.recited < 1
    assert half.weight == 1 - half.recited


def test_a_short_line_is_recited_in_any_order() -> None:
    units = ["the desk is being used", "Mia grows basil behind the chapel"]
    assert recited_share("used being desk is", units) == 1
    assert recited_share("the oven is used", units) == 0


@pytest.mark.parametrize(
    "text",
    [
        REAL,
        "Could you bring me the tray from the table before they come back?",
        "I have no idea where he went, but he will be here in the morning.",
    ],
)
def test_words_stand_in_order_and_shuffled_ones_do_not(text: str) -> None:
    assert not is_out_of_order(text)
    spoken = text.split()
    orders = []
    for number in range(40):
        keyed_generator(number, node="shuffle").shuffle(spoken)
        orders.append(is_out_of_order(" ".join(spoken)))
    assert sum(orders) >= 34  # by chance some orders are good


@pytest.mark.parametrize(
    "text", ["", "Yes.", "Yes, I do.", "Der Hund hat heute früh die Zeitung gefressen.", "他昨天在厨房里睡觉了吗"]
)
def test_the_order_of_short_lines_and_of_other_languages_is_not_told(text: str) -> None:
    assert english_order().of(text) is None
    assert not is_out_of_order(text)


def test_a_memory_with_a_not_is_denied_and_one_without_is_not() -> None:
    assert check("Mia Roth has not slept in her own car for five weeks.").denied
    assert check("Mia Roth never slept in her own car for five weeks.").denied
    assert not check("I slept in my own car for five weeks.").denied
    assert not check("I did not know that there was a chapel.").denied


def test_what_only_the_partner_knows_is_the_partners() -> None:
    glove = "For years a blue glove was in a drawer, I keep it."
    assert check(glove, "Mia Roth").partners
    assert not check(glove, "Sam Field").partners
    assert not check("You keep a blue glove in a drawer?", "Mia Roth").partners
    told = [("Sam Field", "There is a blue glove in a drawer, and I keep it.")]
    assert not check(glove, "Mia Roth", told).partners


def test_what_was_said_before_counts_once() -> None:
    said = checks_of([("Mia Roth", REAL), ("Sam Field", "Good."), ("Mia Roth", REAL)], a_case(), WordEmbedder())
    assert [line.said_before for line in said if line is not None] == [False, False, True]


def test_a_line_that_makes_no_sense_counts_nothing() -> None:
    assert check(f"{REAL} Really.", before=[("Sam Field", REAL)]).senseless


@pytest.mark.parametrize("case", [a_case(), a_case(None), a_case(None, False), a_case(memories=False)])
@pytest.mark.parametrize("dialogue", [[], [("Mia Roth", "")], [("Mia Roth", "Sam!")], [("Mia Roth", REAL)]])
def test_empty_dialogues_and_cases_are_no_error(case: Case, dialogue: Dialogue) -> None:
    found = checks_of(dialogue, case, WordEmbedder())
    assert len(found) == len(dialogue)
    assert [line is None for line in found] == [text in ("", "Sam!") for _, text in dialogue]


@given(st.lists(st.text(max_size=30), max_size=3))
def test_any_script_can_be_checked(lines: list[str]) -> None:
    found = checks_of([("Mia Roth", line) for line in lines], a_case(), WordEmbedder())
    assert all(line is None or 0 <= line.weight <= 1 for line in found)


def test_only_what_counts_is_to_the_point_and_never_below_zero() -> None:
    texts = {"zoo": ["zebra zebra"], "bus": ["wheel wheel"]}
    fine, recited, repeated = LineCheck(recited=0), LineCheck(recited=0.5), LineCheck(recited=0, said_before=True)
    lines = ["zebra", "wheel", "zebra", "zebra"]
    checks = {"zoo": [[fine, fine, recited, repeated]]}
    found = to_the_point({"zoo": [lines]}, texts, WordEmbedder(), checks)["zoo"]
    assert found.to_the_point == pytest.approx((1 + 0 + 0.5 + 0) / 4, abs=1e-3)  # the wheel is the bus's: 0, not -1
    assert found.margin == pytest.approx((1 - 1 + 1 + 1) / 4, abs=1e-3)
    assert (found.recited, found.said_before, found.reason) == (0.125, 0.25, None)
    assert to_the_point({"zoo": [lines]}, texts, WordEmbedder())["zoo"].to_the_point is None  # the match alone


def test_where_nothing_can_be_measured_a_reason_says_so() -> None:
    embedder = WordEmbedder()
    two = {"zoo": ["zebra"], "bus": ["wheel"], "none": []}
    assert to_the_point({"zoo": [[]]}, two, embedder)["zoo"].reason == "nothing is said but names"
    assert "no memory" in (to_the_point({"none": [["zebra"]]}, two, embedder)["none"].reason or "")
    alone = to_the_point({"zoo": [["zebra"]]}, {"zoo": ["zebra"]}, embedder)["zoo"]
    assert "no other case" in (alone.reason or "")
    assert (alone.margin, alone.to_the_point) == (None, None)
