"""What is agreed on in talk: times and places as they are said, who assents, and what is none."""

from datetime import date, datetime

import pytest

from tertulia.nodes.agreements.agreed import agreements_in
from tertulia.nodes.agreements.spoken_days import day_in
from tertulia.nodes.agreements.spoken_times import time_in
from tertulia.state.agreements import Agreement
from tertulia.state.records import Turn

#: A Wednesday.
NOW = datetime(2026, 5, 6, 9, 30)


def agreed(*lines: str, language: str = "en") -> tuple[Agreement, ...]:
    """Return what is agreed on where Ann and Bea take turns, Ann first."""
    turns = [
        Turn(turn=number, round=number, speaker=("Bea", "Ann")[number % 2], text=text, sim_time_s=0.0, ended=False)
        for number, text in enumerate(lines, start=1)
    ]
    return agreements_in(turns, NOW, language)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("tomorrow at nine", "2026-05-07 09:00"),
        ("on Friday at noon", "2026-05-08 12:00"),
        ("on Wednesday at three", "2026-05-13 15:00"),
        ("next Friday", "2026-05-15 12:00"),
        ("this evening", "2026-05-06 19:00"),
        ("tonight at eight", "2026-05-06 20:00"),
        ("at nine", "2026-05-06 21:00"),  # nine in the morning is over
        ("at 8 am", "2026-05-07 08:00"),
        ("at a quarter to eight tomorrow", "2026-05-07 07:45"),
        ("at half past five", "2026-05-06 17:30"),
        ("at 16:30", "2026-05-06 16:30"),
        ("in half an hour", "2026-05-06 10:00"),
        ("the day after tomorrow, after school", "2026-05-08 16:00"),
    ],
)
def test_a_time_is_the_next_that_it_can_mean(said: str, meant: str) -> None:
    time = time_in(said, NOW)
    assert time is not None
    assert time.resolved(NOW) == datetime.fromisoformat(meant)


@pytest.mark.parametrize("said", ["soon", "yesterday at nine", "last Friday at noon", "next week", "for a while"])
def test_what_names_no_time_to_come_is_none(said: str) -> None:
    assert time_in(said, NOW) is None


def test_a_time_and_a_place_that_one_proposes_and_the_other_takes() -> None:
    (agreement,) = agreed("The nets are dry.", "Tomorrow at nine at the slip?", "Yes, I'll be there.")
    assert agreement == Agreement(
        kind="meet",
        people=("Bea", "Ann"),
        what="Tomorrow at nine at the slip?",
        time=datetime(2026, 5, 7, 9),
        is_exact=True,
        place="slip",
        turns=(2, 3),
    )


def test_who_does_what_is_agreed_on_too() -> None:
    (agreement,) = agreed("I'll write the list.", "Good, Ann writes the list.")
    assert (agreement.kind, agreement.doer, agreement.what, agreement.time) == (
        "task",
        "Ann",
        "I'll write the list.",
        None,
    )
    (agreement,) = agreed("Bea, will you write the list?", "Yes, I will.")
    assert agreement.doer == "Bea"


@pytest.mark.parametrize(
    "lines",
    [
        ("Shall we meet tomorrow at nine?",),
        ("Shall we meet tomorrow at nine?", "I can't tomorrow."),
        ("Shall we meet tomorrow at nine?", "Not at nine."),
        ("Shall we meet tomorrow at nine?", "Maybe."),
        ("We met yesterday at nine.", "Yes, we did."),
        ("The ferry leaves tomorrow at nine.", "Good."),
        ("Cy will come tomorrow at nine.", "Good."),
        ("Shall we meet at eight this morning?", "Yes."),
        ("Let's meet soon.", "Yes."),
        ("What do you do for work?", "I am a nurse.", "Good for you."),
        ("Let's meet tomorrow at nine.", "Good.", "No, wait, I can't come tomorrow.", "All right."),
        ("I'll think about it.", "Good."),
    ],
)
def test_nothing_is_agreed_on(lines: tuple[str, ...]) -> None:
    assert agreed(*lines) == ()


def test_another_time_is_what_holds() -> None:
    (agreement,) = agreed("Let's meet tomorrow at nine at the slip.", "Not at nine. At ten?", "Ten is fine.")
    assert (agreement.time, agreement.place, agreement.people) == (datetime(2026, 5, 7, 10), "slip", ("Bea", "Ann"))
    (agreement,) = agreed("Let's meet tomorrow at nine.", "Good.", "Could we make it eleven?", "Eleven it is.")
    assert agreement.time == datetime(2026, 5, 7, 11)


def test_the_same_is_agreed_on_once() -> None:
    lines = ("Can you send me the list?", "Sure, I'll send you the list.", "Thank you!")
    assert len(agreed(*lines)) == 1


def test_talk_of_another_language_is_not_read() -> None:
    assert agreed("Let's meet tomorrow at nine.", "Good.", language="zh") == ()


@pytest.mark.parametrize(
    "text", ["at " + "a" * 20000, "at the a " * 5000, "Ann, " * 5000, "tomorrow at nine " * 2000, ""]
)
def test_long_lines_take_no_long_time(text: str) -> None:
    agreed(text, text)


@pytest.mark.parametrize(
    ("lines", "time", "place"),
    [
        (("Half seven at the pub, then?", "I'll be there."), "2026-05-06 19:30", "pub"),
        (("Drop by the shop at quarter to nine tomorrow.", "Count me in."), "2026-05-07 08:45", "shop"),
        (("Why don't we meet on the 16th at two?", "Works for me."), "2026-05-16 14:00", None),
        (("How about Saturday the 16th of May, noon?", "Deal."), "2026-05-16 12:00", None),
        (("I could meet you at the station in ten minutes.", "Perfect."), "2026-05-06 09:40", "station"),
        (("I'll come by tomorrow before you open.", "Fine by me."), "2026-05-07 08:30", None),
        (("Coffee with me after the lecture?", "I'd like that."), "2026-05-06 17:00", None),
        (("Meet at the bus stop at eight?", "Eight. Bring a coat."), "2026-05-06 20:00", "bus stop"),
        (("Let's meet at six.", "Six is no good. What about seven?", "You're on."), "2026-05-06 19:00", None),
        (("If the rain stops we'll do the fence at three.", "Right you are."), "2026-05-06 15:00", None),
    ],
)
def test_times_proposals_and_assent_in_other_words(lines: tuple[str, ...], time: str, place: str | None) -> None:
    (agreement,) = agreed(*lines)
    assert (agreement.time, agreement.place) == (datetime.fromisoformat(time), place)


@pytest.mark.parametrize(
    "repeated", ["Good, ", "all right ", "at | ", "if you come, ", "Then ", "the 16th ", "in ten "]
)
def test_what_is_repeated_takes_no_long_time(repeated: str) -> None:
    agreed(repeated * 400, repeated * 400)


@pytest.mark.parametrize("said", ["the day after tomorrow", "in a fortnight", "next Monday", "on the 16th"])
def test_behind_the_calendar_no_day_is_named(said: str) -> None:
    assert day_in(said, date(9999, 12, 31)) is None
    assert day_in(said, date(2026, 11, 25)) is not None
