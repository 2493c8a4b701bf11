"""Lines that make no sense where they are said: which, what becomes of them, and that real dialogues have few."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.commands import Cli
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.nodes.shared.line_faults import Fault, faults_of
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.events import Noted
from tertulia.views.reading.faults import faults_in, sense_of

BEFORE = (("Ana Berg", "Will you come to the harbour with me?"), ("Bo", "I will, if the rain lets up by noon."))
WHAT = (("Ana Berg", "What?"), ("Bo", "What?"))


@pytest.mark.parametrize(
    ("text", "before", "faults"),
    [
        ("The boat is mended.", BEFORE, ()),
        ("Will you come to the harbour with me?", BEFORE, ("repeats",)),
        ("Will you come to the boat with me?", BEFORE, ()),
        ("If the rain lets up, then I will bring the nets along.", BEFORE, ()),
        ("I will, if the rain lets up by noon, and then I bring the nets.", BEFORE, ("repeats",)),
        ("I will if the rain lets up by noon", BEFORE, ("repeats",)),
        ("I will come at noon.", BEFORE, ()),
        ("What?", BEFORE, ()),
        ("What!", WHAT, ("repeats",)),
        ("What?", (*WHAT, ("Ana Berg", "The key.")), ()),
        ("船はもう直りました。", BEFORE, ()),
        ("42", BEFORE, ()),
        ("", BEFORE, ()),
        ("Bo, I'm here.", BEFORE, ()),
        ("Bo will come.", BEFORE, ()),
        ("I will tell Bo that you are late.", BEFORE, ("misnames",)),
        ("I will say that Bo is right.", BEFORE, ("misnames",)),
        ("Ich frage Bo danach.", BEFORE, ("misnames",)),
        ("What do you say to that, Bo?", BEFORE, ()),
        ("Thank you for that, Bo.", BEFORE, ()),
        ("I'm Ana Berg.", BEFORE, ()),
        ("कौन जूता है?", (("Bo", "कौन जाता है?"), ("Ana Berg", "कौन जीता है?")), ()),
        ("हाँ, कौन जाता है?", (("Bo", "हाँ, कौन जाता है?"),), ("repeats",)),
        ("我们明天早上先去公园散步吧。", (("Bo", "我们明天早上先去公园散步吧。"),), ("repeats",)),
        ("我们明天早上先去公园散步吧。", (("Bo", "你们明天晚上先去公园跑步吗？"),), ()),
        ("我不知道。", (("Bo", "我不知道。"), ("Ana Berg", "那问谁呢？")), ()),
    ],
)
def test_what_is_wrong_with_a_line(text: str, before: tuple[tuple[str, str], ...], faults: tuple[Fault, ...]) -> None:
    assert faults_of(text, "Ana Berg", ["Ana Berg", "Bo"], before) == faults


@pytest.mark.parametrize(
    ("partner", "text"), [("佐藤", "私も佐藤さんの意見に賛成です。"), ("민수", "저는 민수 씨 의견에 찬성해요.")]
)
def test_a_name_in_place_of_you_is_no_fault(partner: str, text: str) -> None:
    assert faults_of(text, "Ana", ["Ana", partner], ()) == ()


def test_of_three_one_may_be_talked_of() -> None:
    assert faults_of("I will tell Bo that you are late.", "Ana Berg", ["Ana Berg", "Bo", "Cy"], BEFORE) == ()


async def held(speech: list[str], **settings: Any) -> tuple[list[str], list[str]]:
    """Return what is said, and what is noted, where a model says these lines one after another."""
    context = a_context(
        ScriptedModel(speech=speech, endings=[False] * 40), removal_factor=0, ending="reply", **settings
    )
    notes: list[str] = []
    await drive(context, InMemorySaver(), lambda event: notes.append(event.text) if isinstance(event, Noted) else None)
    return [turn.text for turn in context.store.turns(context.run)], notes


async def test_a_line_without_sense_is_drawn_again_as_often_as_the_settings_say() -> None:
    lines = ["The nets are torn again.", "The nets are torn again!", "The nets are torn, again.", "Then we mend them."]
    assert (await held(lines, max_turns=2))[0] == [lines[0], lines[3]]
    assert (await held(lines, max_turns=2, redraws=1))[0] == lines[:2], "of equal ones the first is taken"
    assert (await held(lines, max_turns=2, redraws=0))[0] == lines[:2]
    assert (await held(lines, max_turns=2, preset="paper", judge="off"))[0] == lines[:2]


async def test_a_conversation_that_turns_in_a_circle_ends_and_says_so() -> None:
    said, notes = await held(["The nets are torn.", *["What?"] * 60], max_turns=16)
    assert said == ["The nets are torn.", *["What?"] * 5]
    assert [note for note in notes if "repeat" in note] == [
        "turn 6: the last lines only repeat what was said; it ends here"
    ]
    said, notes = await held(["The nets are torn.", *["What?"] * 60], max_turns=16, redraws=0)
    assert (len(said), notes) == (16, [])


# --- real dialogues -------------------------------------------------------------------------------------------------


def scenes() -> Iterator[list[tuple[str, str]]]:
    for file in (Path(__file__).parents[2] / "tertulia" / "worlds" / "scenes").glob("plain_*.jsonl"):
        for scene in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            yield [(line[0], line[1]) for line in scene["lines"]]


def test_good_scenes_have_hardly_any_fault() -> None:
    figures = sense_of(map(faults_in, scenes()))
    assert figures.lines > 5000
    assert figures.without_sense is not None
    assert figures.without_sense < 0.01
    assert figures.repeats == 0


def test_a_stored_turn_says_that_it_makes_no_sense(cli: Cli) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "3", "--lambda", "0")
    said = cli("show", "@last", "--json").json["turns"][0]["text"]
    fork = cli("fork", "@last", "--at", "3", "--say", said, "--rounds", "4", "--json").json["run"]
    remark = "it makes no sense here: it says again what was said"
    assert remark in " ".join(cli("show", fork, "--turn", "3").out.split())
    assert cli("show", fork, "--turn", "3", "--json").json["remarks"] == [remark]
    assert cli("show", fork, "--turn", "1", "--json").json["remarks"] == []
