"""Context-aware decoding and drafts in a run: what is asked of the model, what is taken of it, and what is recorded."""

from dataclasses import replace
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.served.chat_names import TRAITS as REMOTE
from tertulia.nodes.utterance.drafts import best_first
from tertulia.nodes.utterance.monitor import Monitor
from tertulia.runs.access.suited import require_logits
from tertulia.state.errors import SettingError
from tertulia.state.language_model import GenerationRequest
from tertulia.state.parameters import Parameters
from tertulia.state.records import Reply


def a_reply(text: str, information: float | None) -> Reply:
    return Reply(text=text, tokens=(1,), text_tokens=(0, 1), fields={"Mara": text}, information=information)


async def asked(**settings: Any) -> GenerationRequest:
    """Return what an utterance is asked for under these settings."""
    model = ScriptedModel()
    await build_utterance_graph().ainvoke(
        {"turn": 1, "round": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0},
        context=a_context(model, judge="off", **settings),
    )
    request: GenerationRequest = model.asked("generate")[0]
    return request


@pytest.mark.parametrize(("drafts", "strength"), [(1, 0.0), (4, 0.0), (1, 0.5), (3, 1.0)])
@pytest.mark.parametrize("removed", ["", "m"])
async def test_the_likeliest_draft_is_taken_or_with_strength_the_one_with_most_of_its_context(
    drafts: int, strength: float, removed: str
) -> None:
    request = await asked(removal_factor=0, drafts=drafts, context_strength=strength, removed_blocks=removed)
    assert (len(request.generators), request.context_strength) == (drafts, strength)
    assert request.is_best_of is (drafts > 1 and strength == 0)
    assert (request.without_context is None) is (strength == 0)


async def test_lambda_changes_nothing_of_the_decoder_also_where_nothing_is_left() -> None:
    settings = {"drafts": 4, "context_strength": 1.0, "no_repeat_ngram": 4, "temperature": 0.6}
    full, half, bare = [await asked(removal_factor=factor, **settings) for factor in (0, 0.5, 1)]
    assert full.without_context is not None
    assert bare.without_context is None
    assert {len(request.generators) for request in (full, half, bare)} == {4}
    for name in ("temperature", "top_p", "no_repeat_from", "no_repeat_ngram", "recent_lines", "context_strength"):
        assert getattr(full, name) == getattr(half, name) == getattr(bare, name), name
    assert full.is_best_of is bare.is_best_of is False
    assert full.context_strength == 1.0
    without_blocks = await asked(removed_blocks="bmpe", removal_factor=0, **settings)
    assert (len(without_blocks.generators), without_blocks.context_strength) == (4, 1.0)
    assert without_blocks.prompt.input_ids == bare.prompt.input_ids
    # A block that was never there is not banned (docs/readings.md); what λ removed is.
    assert set(without_blocks.no_repeat_from) < set(bare.no_repeat_from)


async def test_without_matched_decoding_there_is_one_draft_where_nothing_is_left() -> None:
    settings = {"drafts": 4, "context_strength": 1.0, "no_repeat_ngram": 4, "matched_decoding": False}
    full, bare = [await asked(removal_factor=factor, **settings) for factor in (0, 1)]
    assert (len(full.generators), len(bare.generators)) == (4, 1)
    assert (bare.without_context, bare.context_strength) == (None, 0.0)
    assert set(bare.no_repeat_from) < set(full.no_repeat_from)
    assert Parameters().matched_decoding


def test_the_draft_with_most_of_its_context_comes_first_and_who_names_themselves_last() -> None:
    texts = {"Hm.": 0.1, "The lamp.": 0.9, "Mara has a lamp.": 2.0, "A boat.": 0.5}
    drafts = [a_reply(text, information) for text, information in texts.items()]
    monitor = Monitor("Mara", "Mara", ["Mara", "Piotr"], [])
    assert [reply.text for reply in best_first(drafts, monitor)] == ["The lamp.", "A boat.", "Hm.", "Mara has a lamp."]
    unknown = [a_reply(text, None) for text in texts if "Mara" not in text]
    assert best_first(unknown, monitor) == unknown


@pytest.mark.parametrize(("name", "value"), [("context_strength", 0.5), ("drafts", 2), ("dry", 0.8)])
def test_a_model_that_shows_no_probabilities_is_refused_what_needs_them(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=rf"{name}.*remote model does not show"):
        require_logits(REMOTE, Parameters().with_settings({name: value}))
    require_logits(REMOTE, Parameters())
    require_logits(replace(REMOTE, text_only=False), Parameters().with_settings({name: value}))
