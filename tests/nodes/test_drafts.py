"""Context-aware decoding and drafts in a run: what is asked of the model, what is taken of it, and what is recorded."""

import json
from dataclasses import replace
from typing import Any

import pytest
from support.commands import Cli
from support.dialogue_case import a_context, some_turns
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.chat_names import TRAITS as REMOTE
from tertulia.nodes.utterance.drafts import best_first
from tertulia.nodes.utterance.monitor import Monitor
from tertulia.nodes.utterance.requests import opens, utterance_request
from tertulia.state.errors import SettingError
from tertulia.state.language_model import GenerationRequest
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Reply, TurnRecord, Unit


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
async def test_as_many_drafts_are_drawn_as_the_settings_say(drafts: int, strength: float) -> None:
    request = await asked(removal_factor=0, drafts=drafts, context_strength=strength, drafts_by="context")
    assert (len(request.generators), request.context_strength) == (drafts, strength)
    assert (request.without_context is None) is (drafts == 1 and strength == 0)


async def test_drafts_are_weighed_by_what_was_said_at_every_factor_and_an_opening_by_how_likely_it_is() -> None:
    for removed in ("", "bmpe"):
        first = await asked(removal_factor=0, drafts=4, removed_blocks=removed)
        assert (len(first.generators), first.without_context, first.weighs) == (4, None, "answer")
        model = ScriptedModel()
        context = a_context(model, judge="off", removal_factor=0, drafts=4, removed_blocks=removed)
        context.store.save_turn(context.run, TurnRecord(turn=some_turns(1, "Piotr")[0]))
        await build_utterance_graph().ainvoke(
            {"turn": 2, "round": 2, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 5.0}, context=context
        )
        request = model.asked("generate")[0]
        assert (len(request.generators), request.weighs) == (4, "answer")
        assert request.without_context.source is not None
        blocks = {unit.block for unit in request.without_context.source.units if unit.kind == "item"}
        assert "current_dialogue" not in blocks
        assert ("memory" in blocks) is (not removed)


async def test_what_the_context_is_amplified_against_has_the_dialogue_and_no_other_item() -> None:
    request = await asked(removal_factor=0, context_strength=1.0)
    assert request.without_context is not None
    assert request.without_context.source is not None
    kinds = {(unit.block, unit.kind) for unit in request.without_context.source.units}
    assert {block for block, kind in kinds if kind == "item"} <= {"current_dialogue"}
    assert ("task", "text") in kinds


async def test_lambda_changes_nothing_of_the_decoder_also_where_nothing_is_left() -> None:
    settings = {"drafts": 4, "context_strength": 1.0, "no_repeat_ngram": 4, "temperature": 0.6, "drafts_by": "context"}
    full, half, bare = [await asked(removal_factor=factor, **settings) for factor in (0, 0.5, 1)]
    assert full.without_context is not None
    assert bare.without_context is None
    assert {len(request.generators) for request in (full, half, bare)} == {4}
    for name in ("temperature", "top_p", "no_repeat_from", "no_repeat_ngram", "recent_lines", "context_strength"):
        assert getattr(full, name) == getattr(half, name) == getattr(bare, name), name
    assert full.weighs == bare.weighs == "context"
    assert full.context_strength == 1.0
    without_blocks = await asked(removed_blocks="bmpe", removal_factor=0, **settings)
    assert (len(without_blocks.generators), without_blocks.context_strength) == (4, 1.0)
    assert without_blocks.prompt.input_ids == bare.prompt.input_ids
    # A block that was never there is not banned (docs/readings.md); what λ removed is.
    assert set(without_blocks.no_repeat_from) < set(bare.no_repeat_from)


def test_a_line_about_an_album_is_no_opening_where_lambda_removes_the_album() -> None:
    album = Unit(id="album.1", block="album", kind="item", text="A boat.", removable=True)
    task = Unit(id="task.1", block="task", kind="text", text="Which one?")
    full, pruned = (Prompt(units=units, speaker="Mara", layout="single_message") for units in ((album, task), (task,)))
    parameters = Parameters(temperature=0.4, opening_temperature=0.8)
    for matched, temperature in ((True, 0.4), (False, 0.8)):
        chosen = parameters.model_copy(update={"matched_decoding": matched})
        assert utterance_request(pruned, (), RehearsalTokenizer(), chosen, full).temperature == temperature


async def test_without_matched_decoding_there_is_one_draft_where_nothing_is_left() -> None:
    settings = {"drafts": 4, "context_strength": 1.0, "no_repeat_ngram": 4, "matched_decoding": False}
    full, bare = [await asked(removal_factor=factor, **settings) for factor in (0, 1)]
    assert (len(full.generators), len(bare.generators)) == (4, 1)
    assert (bare.without_context, bare.context_strength) == (None, 0.0)
    assert set(bare.no_repeat_from) < set(full.no_repeat_from)
    assert Parameters().matched_decoding


def test_drafts_of_which_nothing_is_known_are_told_apart_by_the_monitor_alone() -> None:
    monitor = Monitor("Mara", "Mara", ["Mara", "Piotr"], [])
    drafts = [a_reply(text, None) for text in ("Mara has a lamp.", "Hm.", "A boat.")]
    assert [reply.text for reply in best_first(drafts, monitor)] == ["Hm.", "A boat.", "Mara has a lamp."]


async def test_a_line_that_opens_a_conversation_has_a_temperature_of_its_own() -> None:
    set_both = {"temperature": 0.4, "opening_temperature": 0.7}
    assert (await asked(removal_factor=0, **set_both)).temperature == 0.7
    assert (await asked(removal_factor=0, temperature=0.4)).temperature == 0.4
    prompt = Prompt(units=(), speaker="Mara", layout="single_message")
    picture = Unit(id="picture.1", block="picture", kind="item", text="A boat.", removable=True)
    assert opens(prompt)
    assert not opens(prompt.model_copy(update={"units": (picture,)}))


def test_an_opening_is_drawn_as_the_model_likes_it_or_as_all_lines_are_that_somebody_set() -> None:
    traits = replace(REMOTE, drafts=6, temperature=0.35, opening_temperature=0.8)
    assert traits.resolve(Parameters(judge="off")).opening_temperature == 0.8
    for given in ({"drafts": 1}, {"temperature": 0.6}):
        assert traits.resolve(Parameters(judge="off", **given)).opening_temperature is None  # type: ignore[arg-type]


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
        REMOTE.require_logits(Parameters().with_settings({name: value}))
    REMOTE.require_logits(Parameters())
    replace(REMOTE, text_only=False).require_logits(Parameters().with_settings({name: value}))


def test_the_strength_is_recorded_shown_and_kept_by_a_fork(cli: Cli) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "2", "--set", "context_strength=0.5", "--json").json["run"]
    assert "α = 0.5" in cli("show", run).out
    fork = json.loads(cli("fork", run, "--at", "2", "--lambda", "0.7", "--json").out)["run"]
    assert "α = 0.5" in cli("show", fork).out
    other = cli("fork", run, "--at", "2", "--set", "context_strength=0", "--json").json["run"]
    assert "α" not in cli("show", other).out
