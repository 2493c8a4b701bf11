"""The nodes of an album chat: who meets, which picture a plan means, what both keep."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.album.belongings import belongings_after
from tertulia.nodes.album.draw_pairs import paired
from tertulia.nodes.album.find_picture import most_similar, named_picture
from tertulia.state.album import Picture
from tertulia.state.graph_state import Belongings
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.state.randomness import keyed_generator

PARAMETERS = Parameters().with_settings(ALBUM_CHAT)


def a_picture(caption: str, variant: str | None = None) -> Picture:
    return Picture(id=f"{caption}/{variant}", caption=caption, variant=variant)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_all_meet_once_a_round_and_of_an_odd_number_one_rests(people: int, round: int) -> None:
    names = [f"P{number}" for number in range(people)]
    pairs = paired(names, keyed_generator(7, round=round, node="pairs"))
    resting = [] if pairs.resting is None else [pairs.resting]
    assert sorted([*(name for pair in pairs.pairs for name in pair), *resting]) == sorted(names)
    assert (pairs.resting is None) == (people % 2 == 0)
    assert pairs == paired(names, keyed_generator(7, round=round, node="pairs"))


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        ('I would like to select the "Red Kite" from my album.', "red kite/None"),
        ("The kite, I think.", None),
        ("Let us look at the pot: it stands next to the flower pot.", "pot/None"),
        ("My flower pot, not the pot beside it.", "flower pot/None"),
        ("a vase, blue if I may choose", "vase/Blue"),
        ("a vase", "vase/Green"),
        ("Something with a potter in it", None),
        ("我选茶壶那张。", "茶壶/None"),
        ("", None),
        ("The hourglass of brass", "an hourglass of brass/None"),
    ],
)
def test_a_plan_means_the_picture_that_it_names_first_by_the_longest_name(plan: str, found: str | None) -> None:
    album = [a_picture("pot"), a_picture("flower pot"), a_picture("red kite"), a_picture("vase", "Blue")]
    album += [a_picture("vase", "Green"), a_picture("茶壶"), a_picture("an hourglass of brass")]
    picture = named_picture(plan, album)
    assert (picture and picture.id) == found


def test_a_plan_that_names_none_means_the_most_similar_by_its_caption() -> None:
    context = cast(Any, type("Context", (), {"picture_finder": None, "embedder": RehearsalEmbedder()}))
    album = [a_picture("stone bridge"), a_picture("a kettle of copper"), a_picture("garden")]
    picture, similarity = most_similar("copper and nothing else", album, context)
    assert picture is album[1]
    assert 0 < similarity < 1


@given(st.data())
def test_queues_keep_the_latest_and_no_picture_twice(data: st.DataObject) -> None:
    parameters = PARAMETERS.with_settings({"history_records": data.draw(st.integers(0, 4)), "album_pictures": 3})
    belongings: Belongings = {"history": [], "album": ["a", "b"]}
    turns = data.draw(st.lists(st.sampled_from([None, *"abcdefg"]), max_size=12))
    for turn, received in enumerate(turns, start=1):
        before = belongings["album"]
        belongings, dropped = belongings_after(belongings, turn, received, parameters)
        assert (dropped is not None) == (received not in [None, *before] and len(before) == 3)
        assert set(belongings["album"]) == ({*before} | {received or before[0]}) - {dropped}
        assert len(set(belongings["album"])) == len(belongings["album"]) <= 3
    last = list(range(1, len(turns) + 1))[-parameters.history_records :] if parameters.history_records else []
    assert belongings["history"] == last
