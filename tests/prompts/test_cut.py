"""Long items are cut into their sentences: the prompt reads as before, and λ reaches what it could not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dialogue_case import a_pier
from support.tiny import tiny_tokenizer

from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.nodes.utterance.prune import prune_units
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.prompts.cut import cut_long_items, item_of, whole_items
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render, text_of
from tertulia.state.records import Prompt, Unit
from tertulia.state.words import words

#: 300 words in 30 sentences.
BACKGROUND = " ".join(f"In year {100 + n} Mara mended the net of a neighbour." for n in range(30))
CHINESE = "".join(f"第{n}年，瑪拉替鄰居補了漁網。" for n in range(30))


def a_prompt(background: str | None, memories: int = 4) -> Prompt:
    case = a_pier(memories)
    persona = case.initiator.persona.model_copy(update={"background": (background,) if background else ()})
    case = case.model_copy(update={"initiator": case.initiator.model_copy(update={"persona": persona})})
    material = UtteranceMaterial(
        start=case, speaker="Mara", listeners=["Piotr"], memories=case.initiator.memories, turns=()
    )
    return assemble_prompt(material, "chat_turns", "bmpec", "bmpe")


def reached(prompt: Prompt, removal_factor: float) -> float:
    """The share of the removable weight that λ removes where every word weighs the same."""
    scores = {unit.id: float(len(words(unit.text))) for unit in prompt.units}
    removed = prune_units(prompt.units, scores, removal_factor)
    return sum(scores[unit] for unit in removed) / sum(scores[unit.id] for unit in prompt.units if unit.removable)


@pytest.mark.parametrize("background", [BACKGROUND, CHINESE])
@pytest.mark.parametrize("removal_factor", [0.25, 0.5, 0.75])
def test_a_long_background_no_longer_keeps_lambda_from_its_share(background: str, removal_factor: float) -> None:
    prompt = a_prompt(background)
    assert reached(prompt, removal_factor) < 0.25
    assert reached(cut_long_items(prompt), removal_factor) == pytest.approx(removal_factor, abs=0.03)


def test_each_sentence_is_an_item_that_may_be_removed_by_itself() -> None:
    prompt = cut_long_items(a_prompt("Mara sells fish. She sings. " + BACKGROUND))
    pieces = [unit for unit in prompt.units if item_of(unit.id) == "basic_info.background"]
    assert [unit.id for unit in pieces] == [f"basic_info.background.piece_{n}" for n in range(1, 33)]
    assert {(unit.block, unit.kind, unit.removable) for unit in pieces} == {("basic_info", "item", True)}
    assert "\nBackground: Mara sells fish. She sings. In year 100" in text_of(prompt.units)
    without_second = remove_units(prompt, [pieces[1].id])
    assert "\nBackground: Mara sells fish. In year 100" in text_of(without_second.units)
    without_first = remove_units(prompt, [pieces[0].id])
    assert "\nShe sings. In year 100" in text_of(without_first.units)
    without_all = remove_units(prompt, [unit.id for unit in pieces])
    assert without_all == remove_units(a_prompt(None), [])


def test_an_earlier_dialogue_is_cut_between_its_lines_so_that_each_says_who_spoke() -> None:
    text = "On Monday:\nMara: The net is torn. I mend it.\nPiotr: Good. And the lamp?"
    units = [
        Unit(id="previous_dialogues.item_1", block="previous_dialogues", kind="item", text=text, removable=True),
        Unit(id="memory.m1", block="memory", kind="item", text="- A short one.", removable=True),
    ]
    cut = cut_long_items(Prompt(units=tuple(units), speaker="Mara", layout="single_message"))
    assert [unit.text for unit in cut.units[:-1]] == [
        "On Monday:",
        "\nMara: The net is torn. I mend it.",
        "\nPiotr: Good. And the lamp?",
    ]
    assert text_of(remove_units(cut, [cut.units[1].id]).units).startswith("On Monday:\nPiotr: Good.")


@pytest.mark.parametrize("background", [None, "Mara sells fish. She sings.", "word " * 300])
def test_a_prompt_without_a_long_item_of_several_sentences_stays_as_it_is(background: str | None) -> None:
    prompt = a_prompt(background, memories=12)
    assert cut_long_items(prompt) is prompt


def test_what_may_not_be_removed_stays_whole_and_counts_for_nothing() -> None:
    units = [
        Unit(id="task", block="task", kind="text", text=BACKGROUND),
        Unit(id="environment.meeting", block="environment", kind="item", text=BACKGROUND),
        Unit(id="picture.image", block="picture", kind="item", text=BACKGROUND, removable=True, picture="00"),
        Unit(id="memory.m1", block="memory", kind="item", text="- It rains. It pours.", removable=True),
    ]
    cut = cut_long_items(Prompt(units=tuple(units), speaker="Mara", layout="single_message"))
    assert [unit.id for unit in cut.units[:3]] == [unit.id for unit in units[:3]]
    assert [unit.text for unit in cut.units[3:]] == ["- It rains.", " It pours."]


TEXTS = st.lists(
    st.sampled_from(["It rains.", "She", " sings!", "\n- tea", "雨。", " Why?", '"No. "', "…"]), max_size=12
)


@given(st.lists(TEXTS.map("".join), min_size=1, max_size=4), st.sets(st.integers(0, 40)))
@settings(max_examples=150, deadline=None)
def test_a_cut_prompt_reads_as_before_and_its_spans_cover_the_text(texts: list[str], gone: set[int]) -> None:
    tokenizer = HuggingFaceTokenizer(tiny_tokenizer())
    units = [
        Unit(id=f"memory.m{n}", block="memory", kind="item", text=f"- {text}", removable=True)
        for n, text in enumerate(texts)
    ]
    prompt = Prompt(units=tuple(units), speaker="Mara", layout="single_message")
    cut = cut_long_items(prompt)
    assert whole_items(cut) == prompt
    assert text_of(cut.units) == text_of(prompt.units)
    assert len({unit.id for unit in cut.units}) == len(cut.units)
    rendered = render(cut, tokenizer)
    assert tokenizer.decode(rendered.input_ids) == HuggingFaceTokenizer(tiny_tokenizer()).decode(
        render(prompt, tokenizer).input_ids
    )
    for unit in cut.units:
        first, past_last = rendered.token_spans[unit.id]
        assert tokenizer.decode(rendered.input_ids[first:past_last]) == unit.text
    left = remove_units(cut, [unit.id for n, unit in enumerate(cut.units) if n in gone])
    assert text_of(left.units) in tokenizer.decode(render(left, tokenizer).input_ids)
