"""Over which layers Eq. 1 is summed, on tiny models of families that mix full and sliding-window attention."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.commands import Cli
from support.dialogue_case import a_context
from support.on_use import on_use
from support.tiny import (
    EACH_FAMILY,
    SPANS,
    drawn_tokens,
    save_tiny,
    spanned_prompt,
    tiny_language_model,
    tiny_model,
)

from tertulia.runs.driving.conversation import drive
from tertulia.state.errors import AttentionUnavailableError, SettingError
from tertulia.state.language_model import GenerationRequest, ReplyField, ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.questions import ScoredGeneration
from tertulia.state.records import Prompt, Unit
from tertulia.state.scored_layers import layers_to_score, recorded_layers, scorer_name

attention_interface = on_use("tertulia.models.local.attention_interface")
attention_scores = on_use("tertulia.models.local.attention_scores")
causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
torch = on_use("torch")

#: By family that mixes kinds, the layers that see the whole prompt; the windows of the others have 8 tokens.
FULL = {
    "qwen2, sliding windows": (0, 1),
    "gemma2, capped and sliding": (1, 3),
    "gemma3, five in six sliding": (5,),
    "gemma3n, shared layers": (1, 3, 5),
    "gemma4, shared layers": (1, 3, 5),
    "gpt-oss, sinks": (1, 3),
}
SLIDING = "mistral, all sliding"


def by_hand(family: str, response: Sequence[int], layers: Sequence[int]) -> dict[str, float]:
    """Return the scores of the units of `spanned_prompt` from the full attention tensors of these layers."""
    model, prompt = tiny_model(family), spanned_prompt().input_ids
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions = model(torch.tensor([[*prompt, *response[:-1]]]), output_attentions=True).attentions
    rows = sum(attentions[layer][0].double().mean(0) for layer in layers)[len(prompt) - 1 :]
    return {unit: float(rows[:, a:b].sum(1).mean()) for unit, (a, b) in SPANS.items()}


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_windows_of_layers_are_those_of_the_family(family: str) -> None:
    windows = attention_scores.require_exact_attention(tiny_model(family))
    every = range(len(windows))
    full = FULL.get(family, () if family == SLIDING else tuple(every))
    assert windows == tuple(None if layer in full else 8 for layer in every)


@pytest.mark.parametrize(
    ("family", "layers"), [*FULL.items(), *((family, (0, 2)) for family in FULL), (SLIDING, (3,)), ("gpt2", (1, 2))]
)
async def test_scores_over_layers_equal_the_definition_on_these_layers(family: str, layers: tuple[int, ...]) -> None:
    model, options = tiny_language_model(family), ScoringOptions(layers=layers)
    responses = [drawn_tokens(n, n) for n in (1, 5, 9)]
    for response, found in zip(responses, await model.score(spanned_prompt(), responses, options), strict=True):
        assert found == pytest.approx(by_hand(family, response, layers), rel=1e-4, abs=1e-6)
    request = GenerationRequest(
        spanned_prompt(), (ReplyField("x", "speech", max_tokens=8),), (random.Random(1), random.Random(2)), 0.8, 0.9
    )
    replies, drawn = await model.generate_scored(request, options)
    expected = [by_hand(family, reply.tokens, layers) for reply in replies]
    mean = {unit: (expected[0][unit] + expected[1][unit]) / 2 for unit in SPANS}
    assert drawn == pytest.approx(mean, rel=1e-4, abs=1e-6)


async def test_questions_of_a_batch_are_scored_over_their_own_layers() -> None:
    family = "gemma2, capped and sliding"
    asked: list[tuple[int, ...] | None] = [(1, 3), None, (1, 3), (0,)]

    def question(number: int) -> ScoredGeneration:
        fields = (ReplyField("x", "speech", max_tokens=8),)
        request = GenerationRequest(spanned_prompt(), fields, (random.Random(number),), 0.8, 0.9)
        return ScoredGeneration(request, ScoringOptions(layers=asked[number]))

    answers: list[Any] = await tiny_language_model(family).answer_batch([question(n) for n in range(4)])
    for layers, ((reply,), scores) in zip(asked, answers, strict=True):
        expected = by_hand(family, reply.tokens, range(4) if layers is None else layers)
        assert scores == pytest.approx(expected, rel=1e-4, abs=1e-6)


# --- the choice -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FULL)
def test_auto_takes_the_layers_that_see_the_whole_prompt(family: str) -> None:
    model = tiny_language_model(family)
    assert layers_to_score("auto", model, 300) == layers_to_score("full", model, 300) == FULL[family]
    assert layers_to_score("auto", model, 8) is None, "a window of 8 sees 8 tokens"
    assert layers_to_score("auto", model, 9) == FULL[family]
    assert layers_to_score("all", model, 300) is None
    assert layers_to_score("2,0", model, 300) == (0, 2)
    with pytest.raises(SettingError, match="the layers of tiny are 0 to"):
        layers_to_score("0,99", model, 300)


def test_a_model_whose_layers_all_slide_is_refused_with_the_remedy() -> None:
    model = tiny_language_model(SLIDING)
    for setting in ("auto", "full"):
        with pytest.raises(
            AttentionUnavailableError, match=r"no layer of tiny sees .*nodes\.score=.*scored_layers=all"
        ):
            layers_to_score(setting, model, 300)
    assert layers_to_score("all", model, 300) is layers_to_score("auto", model, 8) is None


def test_settings_of_layers_are_read_and_refused() -> None:
    settings = Parameters().with_settings
    assert [settings({"scored_layers": given}).scored_layers for given in ("5, 0,5", [3, 1], 4, "full")] == [
        "0,5",
        "1,3",
        "4",
        "full",
    ]
    for wrong in ("half", "1,", "-1", True):
        with pytest.raises(SettingError, match="scored_layers"):
            settings({"scored_layers": wrong})
    assert Parameters().scored_layers == "auto"
    assert settings({"preset": "paper"}).scored_layers == "all"


@pytest.mark.parametrize("behind", ["", " (surrogate of openai:gpt)", ", carried with weight 0.5"])
def test_a_recorded_scorer_names_its_layers(behind: str) -> None:
    model = tiny_language_model("gemma2, capped and sliding")
    of_layers = [ScoringOptions(layers=layers) for layers in ((1, 3), (2,), None)]
    assert scorer_name(model, of_layers[0]) == "tiny, layers 1, 3 of 4"
    assert [recorded_layers(scorer_name(model, options) + behind) for options in of_layers] == [[1, 3], [2], None]


# --- in conversations -------------------------------------------------------------------------------------------------


def context_of(model: causal.CausalLanguageModel, **settings: Any) -> Any:
    return a_context(model, removal_factor=0.5, max_turns=1, **settings)  # type: ignore[arg-type]


async def test_a_turn_records_the_layers_and_the_call_has_them() -> None:
    context = context_of(tiny_language_model("gemma3, five in six sliding"), judge="off")
    await drive(context, InMemorySaver())
    assert context.store.turn_record(context.run, 1).scored_by == "tiny, layer 5 of 6"
    (call,) = [call for call in context.store.calls(context.run) if call.kind == "generate_scored"]
    assert call.parameters["layers"] == [5]


def test_commands_choose_show_and_refuse_layers(cli: Cli, tmp_path: Path) -> None:
    mixed, sliding = (
        str(save_tiny(tmp_path / name, family))
        for name, family in (("mixed", "qwen2, sliding windows"), ("sliding", SLIDING))
    )
    settings = ("max_utterance_tokens=8", "judge=off", "ending=off", "memory_items_min=1", "memory_items_max=3")
    settings = (*settings, "previous_dialogues_max=0")
    short = (*(word for setting in settings for word in ("--set", setting)), "--json")
    run = cli("run", "tidewell", "--model", mixed, "--lambda", "0.5", "--rounds", "1", *short).json["run"]
    shown = cli("show", run, "--turn", "1", "--json").json
    assert shown["scored_layers"] == [0, 1]
    assert "layers 0, 1 of 4" in " ".join(cli("show", run, "--turn", "1").out.split())
    fork = cli("fork", run, "--at", "1", "--set", "scored_layers=1", "--json").json["run"]
    forked = cli("show", fork, "--turn", "1", "--json").json
    assert forked["scored_layers"] == [1]
    assert [unit["score"] for unit in forked["units"]] != [unit["score"] for unit in shown["units"]]
    prompt = tmp_path / "prompt.json"
    units = [Unit(id=f"u{i}", block="m", kind="item", text=f"Memory {i}.", removable=True) for i in range(3)]
    prompt.write_text(json.dumps(Prompt(units=units, speaker="", layout="single_message").model_dump(mode="json")))
    asked = ("score", str(prompt), "--response", "Yes.", "--json", "--model")
    assert cli(*asked, mixed).json["scored_layers"] == [0, 1]
    assert cli(*asked, mixed, "--scored-layers", "3,1").json["scored_layers"] == [1, 3]
    assert cli(*asked, sliding, "--scored-layers", "all").json["scored_layers"] is None
    slides = ("run", "tidewell", "--model", sliding, "--lambda", "0.5", "--rounds", "1", *short)
    cli(*slides).complains(1, "no layer of", "sees the whole prompt", "nodes.score=")
    other = cli(*slides, "--set", "nodes.score=length").json["run"]
    assert cli("show", other, "--turn", "1", "--json").json["removed_items"] > 0
    assert cli(*slides, "--set", "scored_layers=all").code == 0
    cli(*asked, sliding).complains(1, "no layer of", "scored_layers=all")
    cli(*asked, mixed, "--scored-layers", "7").complains(2, "the layers of", "0 to 3")
