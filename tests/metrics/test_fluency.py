"""Fluency: each utterance's likelihood given the lines before, read at once or one by one."""

from __future__ import annotations

import math

import pytest
from support.on_use import on_use
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model, tiny_model

from tertulia.metrics.fluency import fluency_of_cases, mean_fluency, utterance_likelihoods
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.records import Reply

causal = on_use("tertulia.models.local.causal")
torch = on_use("torch")

DIALOGUE = [("Ana", "The boat is late again."), ("Bo", ""), ("Bo", "Then we walk."), ("Ana", "好，我们去。")]


class OneByOne:
    """A model that shows nothing but the likelihood of whole texts."""

    id = "one by one"

    def __init__(self, model: causal.CausalLanguageModel) -> None:
        self.traits, self.tokenizer, self._model = model.traits, model.tokenizer, model

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        return await self._model.log_likelihood(prompt, reply)


async def test_a_dialogue_that_is_read_at_once_has_the_figures_of_its_lines() -> None:
    model = tiny_language_model()
    found = await utterance_likelihoods(DIALOGUE, model)
    each = await utterance_likelihoods(DIALOGUE, OneByOne(model))  # type: ignore[arg-type]
    assert found[1] is None
    assert each[1] is None
    assert [f for f in found if f] == pytest.approx([f for f in each if f], rel=1e-4)
    encode = model.tokenizer.encode
    before = [*encode("\n"), *encode("Ana:"), *encode(" The boat is late again."), *encode("\n")]
    before += [*encode("Bo:"), *encode("\n"), *encode("Bo:")]
    tokens = encode(" Then we walk.")
    with torch.inference_mode():
        logs = tiny_model("llama, grouped heads")(torch.tensor([before + tokens])).logits[0].log_softmax(-1)
    expected = sum(logs[len(before) - 1 + at, token].item() for at, token in enumerate(tokens)) / len(tokens)
    assert found[2] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("window", [40, 64, 200])
async def test_a_dialogue_longer_than_the_window_is_read_in_parts(window: int) -> None:
    long = [("Ana" if at % 2 else "Bo", f"The boat {at} is late.") for at in range(12)]
    found = await utterance_likelihoods(long, tiny_language_model(context_window=window))
    assert len(found) == 12
    assert all(value is not None and value < 0 for value in found)
    whole = await utterance_likelihoods(long, tiny_language_model())
    assert found[0] == pytest.approx(whole[0], rel=1e-4)


def keyed(prompt: RenderedPrompt) -> float:
    return -1.0 - len(prompt.input_ids) / 1000


async def test_the_figures_of_cases_are_means_over_utterances() -> None:
    model: LanguageModel = ScriptedModel(likelihood=keyed)
    figures = await fluency_of_cases({"x": [DIALOGUE, DIALOGUE], "y": [[("Ana", " ")]], "z": [DIALOGUE[:1]]}, model)
    single = [value for value in await utterance_likelihoods(DIALOGUE, model) if value is not None]
    assert figures["x"].fluency == pytest.approx(sum(single) / 3)
    assert (figures["x"].utterances, figures["x"].lowest, figures["x"].model) == (6, min(single), "scripted")
    assert (figures["y"].utterances, figures["y"].fluency) == (0, None)
    mean = mean_fluency(figures.values())
    assert mean.fluency == pytest.approx((math.fsum(single) / 3 + single[0]) / 2)
    assert mean_fluency([]).model is None
