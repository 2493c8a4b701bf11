"""The nodes of an album chat: who meets, which picture a plan means, what both keep."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.album_case import a_population

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.album.belongings import belongings_after
from tertulia.nodes.album.draw_pairs import paired
from tertulia.nodes.album.find_picture import most_similar, named_picture
from tertulia.prompts.album import CallMaterial, PastExchange, assemble_call
from tertulia.prompts.examples import album_exchanges
from tertulia.state.album import Picture
from tertulia.state.graph_state import Belongings
from tertulia.state.parameters import ALBUM_CHAT, Layout, Parameters, Setting
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


# --- prompts --------------------------------------------------------------------------------------------------------


def a_call(call: str, setting: Setting = "low", layout: Layout = "single_message") -> list[tuple[str, str]]:
    population = a_population(2, pictures=2)
    speaker = population.villagers[1 if call == "answer" else 0]
    past = PastExchange("Ana 2", "Ana 1", population.pictures[0], "What is it?", "A kite.")
    material = CallMaterial(
        call=call,
        setting=setting,
        speaker=speaker,
        asker="Ana 1",
        answerer="Ana 2",
        place=None,
        history=[past],
        album=population.pictures[:2],
        picture=None if call == "plan" else population.pictures[1],
        question="How high does it fly?" if call == "answer" else "",
        example=album_exchanges(call, setting)[0],
    )
    prompt = assemble_call(material, layout, PARAMETERS)
    assert len({unit.id for unit in prompt.units}) == len(prompt.units)
    assert {unit.block for unit in prompt.units if unit.removable} <= {"basic_info", "previous_dialogues", "album"}
    return [(unit.block, unit.text) for unit in prompt.units]


def test_only_the_plan_has_the_album_and_only_the_others_the_picture() -> None:
    assert ("album", "stone bridge: of Ana 1") in a_call("plan")
    shown = [text for block, text in a_call("answer") if block == "picture"][1:]
    assert shown == [
        "It shows this: stone bridge: of Ana 1",
        "Size: 96×64 pixels",
        "Main colours: green, brown",
    ]
    assert a_call("answer")[-2] == ("current_dialogue", "How high does it fly?")


@pytest.mark.parametrize("call", ["plan", "question", "answer"])
def test_the_high_setting_asks_to_be_oneself_and_the_low_one_simply(call: str) -> None:
    def task(setting: Setting) -> str:
        return next(text for block, text in a_call(call, setting) if block == "current_dialogue")

    assert "so be Ana" in task("high")
    assert "With all of that in mind" in task("low")
    assert ("why" in task("high")) == (call == "plan")
    assert ("simple" in task("low")) == (call == "question")


def test_chat_turns_show_an_example_and_end_with_what_is_asked() -> None:
    blocks = [block for block, _ in a_call("answer", layout="chat_turns")]
    assert blocks[-4:] == ["example", "example", "current_dialogue", "current_dialogue"]
    assert blocks.index("output_instruction") < blocks.index("example")
