"""Min-p: which tokens are drawn, beside temperature and top-p; what a run records of it and of DRY; refusals."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.on_use import on_use
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.batching import BatchingBroker
from tertulia.models.journal import generation_parameters
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.models.served.chat_names import TRAITS as REMOTE
from tertulia.prompts.render import render
from tertulia.runs.access.engines import Engines
from tertulia.state.errors import SettingError
from tertulia.state.language_model import GenerationRequest, LanguageModel, ReplyField
from tertulia.state.parameters import PRESETS, Parameters
from tertulia.state.questions import Sampling
from tertulia.state.records import Prompt, Unit

decoding = on_use("tertulia.models.local.decoding")
token_figures = on_use("tertulia.models.local.token_figures")
torch = on_use("torch")
transformers = on_use("transformers")

START: dict[str, Any] = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
PROBABILITIES = (0.05, 0.5, 0.15, 0.3)


def drawn(logits: torch.Tensor, temperature: float, top_p: float, min_p: float, numbers: int = 2000) -> set[int]:
    """The tokens that numbers from 0 to 1, equally spaced, draw."""
    return {decoding.draw_token(logits, (i + 0.5) / numbers, temperature, top_p, min_p) for i in range(numbers)}


@pytest.mark.parametrize(
    ("temperature", "top_p", "min_p", "kept"),
    [
        (1.0, 1.0, 0.0, {0, 1, 2, 3}),
        (1.0, 1.0, 0.09, {0, 1, 2, 3}),  # the ratios are 0.1, 1, 0.3 and 0.6
        (1.0, 1.0, 0.31, {1, 3}),
        (1.0, 1.0, 1.0, {1}),
        (2.0, 1.0, 0.31, {0, 1, 2, 3}),  # at temperature 2 their roots: 0.32, 1, 0.55 and 0.77
        (2.0, 1.0, 0.56, {1, 3}),
        # at 0.5 their squares: 0.01, 1, 0.09 and 0.36
        (0.5, 1.0, 0.37, {1}),
        (1.0, 0.7, 0.11, {1, 3}),  # both hold, whichever is narrower
        (1.0, 0.82, 0.2, {1, 2, 3}),  # of 0.95, what min-p leaves, the nucleus would be two tokens
    ],
)
def test_exactly_these_tokens_are_drawn(temperature: float, top_p: float, min_p: float, kept: set[int]) -> None:
    logits = torch.tensor(PROBABILITIES).log() + 3.0
    assert drawn(logits, temperature, top_p, min_p) == kept
    expected = token_figures.drawn_from(logits.log_softmax(-1)[None], Sampling(temperature, top_p, min_p))[0]
    assert set(expected.nonzero()[:, 0].tolist()) == kept


def test_tokens_as_likely_as_the_likeliest_all_stay_and_what_may_not_come_does_not() -> None:
    logits = torch.tensor([1.0, -torch.inf, 1.0, 0.9])
    assert drawn(logits, 1.0, 1.0, 1.0) == {0, 2}
    assert drawn(logits, 1.0, 1.0, 1e-9) == {0, 2, 3}
    flat = torch.zeros(600)
    assert len(drawn(flat, 1.0, 1.0, 1.0, 3000)) == 600, "also more than the ranks that are looked at first"


@pytest.mark.parametrize("seed", range(12))
def test_the_distribution_is_that_of_the_warpers_of_transformers(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    numbers = random.Random(seed)
    logits = torch.randn(1, 700, generator=generator) * numbers.choice([0.3, 1.0, 3.0])
    temperature, top_p = numbers.uniform(0.4, 2.0), numbers.choice([1.0, 0.97, 0.8, 0.5])
    min_p = numbers.choice([0.0, 0.01, 0.1, 0.3])
    warped = transformers.TemperatureLogitsWarper(temperature)(None, logits)  # type: ignore[arg-type]
    if top_p < 1:
        warped = transformers.TopPLogitsWarper(top_p)(None, warped)  # type: ignore[arg-type]
    warped = transformers.MinPLogitsWarper(min_p)(None, warped)  # type: ignore[arg-type]
    theirs = warped.softmax(-1)[0]
    ours = token_figures.drawn_from(logits.log_softmax(-1), Sampling(temperature, top_p, min_p))[0]
    assert torch.equal(theirs > 0, ours > 0)
    assert ours == pytest.approx(theirs.numpy(), abs=1e-6)
    ranked, order = theirs.double().sort(descending=True, stable=True)
    ends = ranked.cumsum(-1)
    kept = int((theirs > 0).sum())
    middles = [float(ends[i] - ranked[i] / 2) for i in range(kept)]
    found = [decoding.draw_token(logits[0], number, temperature, top_p, min_p) for number in middles]
    assert found == order[:kept].tolist()


# --- in a run ---------------------------------------------------------------------------------------------------------


def a_request(model: LanguageModel, min_p: float = 0.0, **changes: Any) -> GenerationRequest:
    units = tuple(Unit(id=f"u{i}", block="memory", kind="item", text=f"Thing {i}.") for i in range(3))
    prompt = render(Prompt(units=units, speaker="Mara", layout="single_message"), model.tokenizer)
    generators = tuple(random.Random(row) for row in range(4))
    fields = (ReplyField("Mara", "speech", max_tokens=12),)
    return replace(GenerationRequest(prompt, fields, generators, 1.5, 1.0, min_p=min_p), **changes)


def test_only_where_it_is_on_a_call_records_it() -> None:
    model = ScriptedModel()
    assert generation_parameters(a_request(model, 0.1))["min_p"] == 0.1
    assert [*generation_parameters(a_request(model))] == [
        "fields", "replies", "temperature", "top_p", "no_repeat_ngram",
    ]  # fmt: skip


async def test_a_local_model_draws_by_it_in_every_row() -> None:
    model = tiny_language_model()
    rows = [await model.generate(a_request(model, min_p)) for min_p in (0.0, 1.0)]
    assert len({reply.text for reply in rows[0]}) > 1
    assert len({reply.text for reply in rows[1]}) == 1, "the likeliest token alone is left"
    assert await model.generate_batch([a_request(model, 1.0), a_request(model)]) == [rows[1], rows[0]]


async def test_what_is_said_is_drawn_by_it_and_judged_by_how_it_was_drawn() -> None:
    settings = {
        "judge": "likelihood", "inconsistency_threshold": 0.1, "removal_factor": 0.5, "ending": "off", "redraws": 0,
        "max_utterance_tokens": 8, "scoring_responses": 1, "scoring_tokens": 4, "revision": "off", "min_p": 0.2,
    }  # fmt: skip
    context = a_context(tiny_language_model(), **settings)  # type: ignore[arg-type]
    outcome = await build_utterance_graph().ainvoke(START, context=context)
    assert outcome["judged_by"].startswith("centred likelihood")
    calls = context.store.calls(context.run)
    recorded = {call.kind: call.parameters.get("min_p") for call in calls if call.kind != "score"}
    assert (recorded["token_figures"], {*recorded.values()}) == (0.2, {0.2})
    again = replace(context, broker=BatchingBroker(context.run, context.store), model=ScriptedModel(fails_at=1))
    await build_utterance_graph().ainvoke(START, context=replace(again, model=context.model))
    assert context.store.calls(context.run) == calls, "what was asked is not asked again"


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"revision": "combined"}, {"generate", "judge", "choose_revision"}),
        ({"revision": "rewrite"}, {"generate", "judge", "rewrite"}),
        ({"revision": "off", "judge": "off", "generation": "sequential"}, {"generate"}),
    ],
)
async def test_whatever_is_drawn_for_an_utterance_is_drawn_by_it(settings: dict[str, Any], nodes: set[str]) -> None:
    common = {"judge": "rating", "judge_runs": 1, "inconsistency_threshold": 5, "removal_factor": 0.5, "min_p": 0.3}
    context = a_context(ScriptedModel(ratings=[9, 2]), **{**common, **settings})
    await build_utterance_graph().ainvoke(START, context=context)
    calls = [call for call in context.store.calls(context.run) if call.kind.startswith("generate")]
    assert {call.node for call in calls} >= nodes
    assert {call.parameters.get("min_p") for call in calls} == {0.3}


def test_by_default_and_in_the_paper_there_is_none() -> None:
    assert (Parameters().min_p, Parameters().dry) == (PRESETS["paper"]["min_p"], PRESETS["paper"]["dry"]) == (0.0, 0.0)


@pytest.mark.parametrize("role", ["speak", "think", "judge"])
def test_a_provider_s_model_is_refused(role: str) -> None:
    local, remote = ScriptedModel(), ScriptedModel()
    remote.traits = replace(REMOTE, layout="single_message")
    roles: dict[Any, LanguageModel] = {} if role == "speak" else {role: remote}
    engines = Engines(remote if role == "speak" else local, {}, RehearsalEmbedder(), roles)
    plain = {"removal_factor": 0, "judge": "rating", "ending": "off"}
    engines.check(Parameters().with_settings(plain))
    with pytest.raises(SettingError, match=r"min_p=0\.1: requests to a provider have no such.*set min_p=0"):
        engines.check(Parameters().with_settings(plain | {"min_p": 0.1}))
    if role == "judge":
        engines.check(Parameters().with_settings(plain | {"min_p": 0.1, "judge": "off"}))
