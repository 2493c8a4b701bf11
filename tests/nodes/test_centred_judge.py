"""The likelihood judge, centred: 0 on average over what could have been said, where the difference itself is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.on_use import on_use
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.batching import BatchingBroker
from tertulia.nodes.utterance.judge import centred_contrast, judge_by_likelihood
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.parameters import Parameters
from tertulia.state.questions import Sampling
from tertulia.state.records import Prompt, Reply, Unit

altered_models = on_use("support.altered_models")
causal = on_use("tertulia.models.local.causal")
token_figures = on_use("tertulia.models.local.token_figures")
torch = on_use("torch")

START: dict[str, Any] = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
SETTINGS: dict[str, Any] = {
    "judge": "likelihood", "inconsistency_threshold": 0.1, "removal_factor": 0.5, "ending": "off", "redraws": 0,
    "max_utterance_tokens": 8, "scoring_responses": 1, "scoring_tokens": 4,
}  # fmt: skip
TEXTS = ("You are Mara.", "The ferry leaves at noon.", "The baker knows it well.", "It leaves.")
PROMPT = Prompt(
    units=tuple(
        Unit(id=f"memory.{i}", block="memory", kind="item", text=text, removable=i > 0) for i, text in enumerate(TEXTS)
    ),
    speaker="Mara",
    layout="single_message",
)
REMOVED = ("memory.1", "memory.2")
AT_ONE = Sampling()


def counting() -> altered_models.Counting:
    model = tiny_language_model()
    model.__class__ = altered_models.Counting
    assert isinstance(model, altered_models.Counting)
    return model


def _reply(tokens: Sequence[int], first: int = 0) -> Reply:
    return Reply(text="{}", tokens=tuple(tokens), text_tokens=(first, len(tokens)), fields={"Mara": "."})


def _next(
    model: causal.CausalLanguageModel, prompt: Prompt, sampling: Sampling, before: Sequence[int] = ()
) -> torch.Tensor:
    """Return the distribution of the next token as replies are drawn, `(V,)`, from the model of transformers alone."""
    ids = [*render(prompt, model.tokenizer).input_ids, *before]
    with torch.inference_mode():
        return token_figures.drawn_from(
            model.model(torch.tensor([ids])).logits[0, -1:].float().log_softmax(-1), sampling
        )[0]


async def _expectations(answered: Prompt, pruned: Prompt, sampling: Sampling) -> tuple[float, float]:
    """Return the expectations of the centred figure and of the difference, over all replies of one token."""
    model = tiny_language_model()
    model.__class__ = altered_models.AtOnce
    shown = [render(each, model.tokenizer) for each in (PROMPT, pruned, answered)]
    drawn, full, without = (_next(model, *each) for each in ((answered, sampling), (PROMPT, AT_ONE), (pruned, AT_ONE)))
    difference = float((drawn * (without.log() - full.log())).sum())
    centred = 0.0
    for token, probability in enumerate(drawn.tolist()):
        centred += probability * await centred_contrast(model, *shown, _reply([token]), sampling)  # type: ignore[arg-type]
    return centred, difference


@pytest.mark.parametrize(
    "sampling",
    [AT_ONE, Sampling(0.35, 1.0), Sampling(0.8, 0.9), Sampling(1.5, 1.0, 0.4), Sampling(0.8, 0.9, 0.4)],
)
async def test_the_centred_figure_is_zero_on_average_where_the_difference_is_not(sampling: Sampling) -> None:
    pruned = remove_units(PROMPT, REMOVED)
    centred, difference = await _expectations(pruned, pruned, sampling)
    assert centred == pytest.approx(0, abs=1e-4)
    assert difference > 0.05


async def test_the_baseline_and_a_check_against_more_than_was_removed_are_zero_on_average_too() -> None:
    for answered in (PROMPT, remove_units(PROMPT, REMOVED)):
        centred, difference = await _expectations(answered, remove_units(PROMPT, (*REMOVED, "memory.3")), AT_ONE)
        assert centred == pytest.approx(0, abs=1e-4)
        assert abs(difference) > 0.05


async def test_the_figure_is_the_mean_over_the_tokens_of_the_text() -> None:
    model, pruned, sampling = tiny_language_model(), remove_units(PROMPT, REMOVED), Sampling(0.7, 0.9)
    tokens = model.tokenizer.encode("It leaves at noon.")
    shown = [render(each, model.tokenizer) for each in (PROMPT, pruned, pruned)]
    expected = []
    for at in range(2, len(tokens)):
        with_facts, without = (_next(model, each, AT_ONE, tokens[:at]).log() for each in (PROMPT, pruned))
        drawn = _next(model, pruned, sampling, tokens[:at])
        expected.append(float((without - with_facts)[tokens[at]] - (drawn * (without - with_facts)).sum()))
    found = await centred_contrast(model, *shown, _reply(tokens, 2), sampling)  # type: ignore[arg-type]
    assert found == pytest.approx(sum(expected) / len(expected), abs=1e-3)


async def _judged(context: Context) -> dict[str, Any]:
    """Return what the utterance graph returns, and the figure of the first candidate."""
    outcome = await build_utterance_graph().ainvoke(START, context=context)
    return {**outcome, "figure": context.store.candidates("k3f9", 1)[0].inconsistency}


async def test_a_run_is_judged_by_it_and_says_so() -> None:
    context = a_context(tiny_language_model(), **SETTINGS, revision="off")  # type: ignore[arg-type]
    outcome = await _judged(context)
    assert outcome["judged_by"] == "centred likelihood by tiny"
    candidate = context.store.candidates("k3f9", 1)[0]
    prompt, removed = context.store.prompt(outcome["prompt"]), outcome["removed"]
    assert removed
    state: UtteranceState = {"speaker": "Mara", "turn": 1, "round": 1, "removed": removed}
    again = replace(context, broker=BatchingBroker(context.run, context.store))
    judgement = await judge_by_likelihood(state, again, prompt, removed, candidate)
    assert judgement.inconsistency == candidate.inconsistency
    calls = [call for call in context.store.calls("k3f9") if call.kind == "token_figures"]
    assert len(calls) == 1
    assert len(calls[0].values) == candidate.reply.text_tokens[1]
    assert (calls[0].parameters["temperature"], calls[0].parameters["top_p"]) == (0.8, 0.9)


async def test_a_judgement_that_was_interrupted_is_the_same_when_it_is_resumed() -> None:
    model = counting()
    context = a_context(model, **SETTINGS, revision="off")  # type: ignore[arg-type]
    whole = await _judged(context)
    model.asked, model.fails = 0, True
    again = replace(context, broker=BatchingBroker(context.run, context.store))
    assert (await _judged(again))["figure"] == whole["figure"], "what is stored is not asked again"
    assert model.asked == 0

    cut = a_context(model, **SETTINGS, revision="off")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="switched off"):
        await _judged(cut)
    assert not [call for call in cut.store.calls("k3f9") if call.kind == "token_figures"]
    model.fails = False
    resumed = replace(cut, broker=BatchingBroker(cut.run, cut.store))
    assert (await _judged(resumed))["figure"] == whole["figure"]


async def test_a_model_without_a_vocabulary_keeps_the_difference_and_says_so() -> None:
    context = a_context(ScriptedModel(likelihood=lambda prompt: -1.0), **SETTINGS, revision="off")
    outcome = await _judged(context)
    assert outcome["judged_by"] == "likelihood by scripted"
    assert outcome["figure"] == 0.0


async def test_the_baseline_is_judged_beside_what_it_answers() -> None:
    settings = {**SETTINGS, "removal_factor": 0, "judge_baseline": "true"}
    context = a_context(tiny_language_model(), **settings)  # type: ignore[arg-type]
    outcome = await _judged(context)
    prompt = context.store.prompt(outcome["prompt"])
    (candidate,) = context.store.candidates("k3f9", 1)
    calls = [call for call in context.store.calls("k3f9") if call.kind == "token_figures"]
    bare = remove_units(prompt, [unit.id for unit in prompt.units if unit.removable])
    assert [(call.prompt, call.parameters["other"]) for call in calls] == [
        (outcome["prompt"], context.store.save_prompt(bare))
    ]
    of_text = calls[0].values[candidate.reply.text_tokens[0] :]
    gains = [v["log_likelihoods"] - v["other_log_likelihoods"] - v["expected"] for v in of_text]  # type: ignore[index]
    assert outcome["figure"] == pytest.approx(-sum(gains) / len(gains))


def test_theta_is_the_models_unless_it_is_set() -> None:
    traits = replace(tiny_language_model().traits, likelihood_threshold=0.04)
    weighed = Parameters(judge="likelihood")
    assert traits.resolve(weighed).inconsistency_threshold == 0.04
    given = weighed.model_copy(update={"inconsistency_threshold": 0.3})
    assert traits.resolve(given).inconsistency_threshold == 0.3
