"""The steps of an utterance and of a turn, each by itself: what is retrieved, scored, pruned, generated and judged."""

from typing import Any

import pytest
from langgraph.runtime import Runtime
from support.dialogue_case import a_context, some_turns
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.rehearsal import RehearsalModel, RehearsalTokenizer
from tertulia.nodes.conversation.turns import record_turn, speaking_time_s
from tertulia.nodes.scorers.attention import score_attention
from tertulia.nodes.shared.limits import limit_reached
from tertulia.nodes.utterance.begin import begin_utterance
from tertulia.nodes.utterance.end import decide_ending
from tertulia.nodes.utterance.generate import generate
from tertulia.nodes.utterance.judge import is_conflict, judge
from tertulia.nodes.utterance.prune import prune
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.nodes.utterance.retrieve import retrieve_memory
from tertulia.nodes.utterance.rollback import choose_candidate, roll_back, select_candidate
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.language_model import ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import TurnRecord

START: dict[str, Any] = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}


async def after(state: dict[str, Any], context: Context, *steps: Any) -> dict[str, Any]:
    """The state behind these nodes."""
    for step in steps:
        state = {**state, **await step(state, Runtime(context=context))}
    return state


async def generated(context: Context, state: dict[str, Any] = START) -> dict[str, Any]:
    return await after(state, context, begin_utterance, retrieve_memory, score_attention, prune, generate)


def with_turns(context: Context, count: int) -> dict[str, Any]:
    """Store so many turns, and return the state in which the next one begins."""
    for turn in some_turns(count):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    return {**START, "round": count + 1, "turn": count + 1, "speaker": "Piotr" if count % 2 else "Mara"}


# --- retrieve, score, prune -----------------------------------------------------------------------------------------


async def test_retrieving_stores_the_full_prompt_of_the_speaker() -> None:
    context = a_context(block_order="cempb", removable_blocks="m", dialogue_window=2)
    state = await after(with_turns(context, 3), context, retrieve_memory)
    prompt = context.store.prompt(state["prompt"])
    assert prompt.speaker == "Piotr"
    assert prompt.blocks()[1] == "current_dialogue"
    assert [unit.text for unit in prompt.units if unit.id.startswith("current_dialogue.turn")] == [
        "Piotr: Line 2.",
        "Mara: Line 3.",
    ]
    assert {unit.block for unit in prompt.units if unit.removable} == {"memory"}
    assert "Mara thought" not in str([unit.text for unit in prompt.units if unit.block == "memory"])


async def test_human_needs_hold_for_the_whole_case_and_differ_by_agent_and_seed_of_the_case() -> None:
    async def needs(turns: int, seed: int = 7) -> list[str]:
        context = a_context(human_needs="true", case_seed=seed)
        state = await after(with_turns(context, turns), context, retrieve_memory)
        return [unit.text for unit in context.store.prompt(state["prompt"]).units if unit.block == "human_needs"]

    assert await needs(0) == await needs(2) == await needs(4)
    assert await needs(1) == await needs(3)
    assert {len(await needs(0, seed)) for seed in range(8)} > {len(await needs(0))}
    mine = [[text.replace("Mara", "X").replace("Piotr", "Y") for text in await needs(0, seed)] for seed in range(8)]
    yours = [[text.replace("Piotr", "X").replace("Mara", "Y") for text in await needs(1, seed)] for seed in range(8)]
    assert mine != yours


@pytest.mark.parametrize("responses", [1, 3, 5])
async def test_scores_are_averaged_over_keyed_responses(responses: int) -> None:
    context = a_context(scoring_responses=responses)
    state = await after(START, context, retrieve_memory, score_attention)
    (asked,) = context.model.asked("generate_scored")
    assert len(asked.generators) == responses
    prompt, single = context.store.prompt(state["prompt"]), []
    for row in range(responses):
        generator = keyed_generator(7, round=1, agent="Mara", node="score_attention", row=row)
        request = utterance_request(prompt, (generator,), RehearsalTokenizer(), context.parameters)
        single.append((await RehearsalModel().generate_scored(request, ScoringOptions()))[1])
    assert set(state["scores"]) == {unit.id for unit in prompt.units}
    for unit, score in state["scores"].items():
        assert score == pytest.approx(sum(scores[unit] for scores in single) / responses)
    assert state["scored_by"] == "scripted"


async def test_only_so_many_tokens_of_a_response_are_scored() -> None:
    for tokens, length in ((0, 30), (12, 12), (50, 30)):
        context = a_context(scoring_tokens=tokens, max_utterance_tokens=30)
        await after(START, context, retrieve_memory, score_attention, prune, generate)
        (scored,), (said, *_) = context.model.asked("generate_scored"), context.model.asked("generate")
        assert [field.max_tokens for field in (scored.fields[0], said.fields[0])] == [length, 30]


async def test_a_placebo_is_drawn_anew_in_each_turn_and_by_each_speaker_and_by_the_seed() -> None:
    settings = {"removal_factor": 0.5, "removal_order": "placebo", "removable_blocks": "m"}
    removed = []
    for seed, speaker in ((7, "Mara"), (7, "Mara"), (8, "Mara"), (7, "Piotr")):
        context = a_context(seed=seed, **settings)
        state = await after({**START, "speaker": speaker}, context, retrieve_memory, score_attention, prune)
        removed.append(state["removed"])
    assert removed[0] == removed[1]
    assert len({tuple(units) for units in removed}) == 3
    of_case = []
    for seed in (7, 8):
        context = a_context(seed=seed, prompt_draws="case", **settings)
        of_case.append((await after(START, context, retrieve_memory, score_attention, prune))["removed"])
    assert of_case[0] == of_case[1]


# --- generate -------------------------------------------------------------------------------------------------------


async def test_the_utterance_is_drawn_from_the_pruned_prompt() -> None:
    context = a_context(removal_factor=0.5)
    state = await generated(context)
    (asked,) = context.model.asked("generate")
    prompt = context.store.prompt(state["prompt"])
    assert state["removed"]
    assert list(asked.prompt.token_spans) == [u.id for u in prompt.units if u.id not in state["removed"]]
    assert len(context.model.asked("generate_scored")[0].prompt.token_spans) == len(prompt.units)
    (candidate,) = context.store.candidates("k3f9", 1)
    assert candidate.attempt == state["attempt"] == 0


async def test_every_attempt_draws_from_a_generator_of_its_own() -> None:
    context = a_context(ScriptedModel(speech=lambda generator: f"I say {generator.random()}."))
    await after(await generated(context), context, roll_back, roll_back)
    keyed = [keyed_generator(7, round=1, agent="Mara", node="generate", attempt=n).random() for n in range(3)]
    assert [candidate.text for candidate in context.store.candidates("k3f9", 1)] == [
        f"I say {number}." for number in keyed
    ]


async def test_what_was_said_is_not_to_be_repeated() -> None:
    context = a_context(ScriptedModel(no_repeat_ngram=4), dialogue_window=2)
    await generated(context, with_turns(context, 3))
    (asked,) = context.model.asked("generate")
    lines = {RehearsalTokenizer().decode(line) for line in asked.no_repeat_from}
    assert {line for line in lines if "Line" in line} == {"Piotr: Line 2.", "Mara: Line 3."}
    assert any("JSON" in line for line in lines), "nor are instructions"
    assert not any("thought of" in line for line in lines), "what is remembered may be told"
    assert asked.no_repeat_ngram == 4


@pytest.mark.parametrize("speech", ["", "  \n "])
async def test_an_empty_reply_is_an_error(speech: str) -> None:
    context = a_context(ScriptedModel(speech=[speech]))
    with pytest.raises(ModelError, match="scripted returned an empty reply for Mara"):
        await generated(context)
    assert context.store.candidates("k3f9", 1) == []


async def test_line_breaks_in_a_reply_are_spaces_in_what_is_said() -> None:
    context = a_context(ScriptedModel(speech=[" Well,\n\nPiotr:  no. "]))
    await generated(context)
    assert context.store.candidates("k3f9", 1)[0].text == "Well, Piotr: no."


# --- judge ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratings", "conflict"),
    [((7, 7, 6), False), ((10, 9, 1), False), ((7, 7, 7), True), ((10, 10, 1), True), ((1, 1, 1), False)],
)
async def test_three_ratings_that_sum_to_twenty_pass(ratings: tuple[int, ...], conflict: bool) -> None:
    context = a_context(ScriptedModel(ratings=ratings, comments=["Goes against the net.", "Two.", "Three."]))
    state = await after(await generated(context), context, judge)
    assert state["conflict"] is conflict
    assert state["inconsistency"] == [sum(ratings) / 3]
    assert state["judged_by"] == "rating by scripted"
    (candidate,) = context.store.candidates("k3f9", 1)
    assert (candidate.inconsistency, candidate.inconsistency_runs) == (sum(ratings) / 3, ratings)
    assert candidate.comment == "Goes against the net."


async def test_the_judge_reads_the_removed_items_and_the_reply() -> None:
    context = a_context(ScriptedModel(speech=["I never mend nets."]), removal_factor=0.5, judge_runs=4)
    state = await after(await generated(context), context, judge)
    asked = context.model.asked("generate")[-1]
    question = RehearsalTokenizer().decode(asked.prompt.input_ids)
    items = [unit for unit in context.store.prompt(state["prompt"]).units if unit.kind == "item"]
    for unit in items:
        assert (unit.text.removeprefix("- ") in question) == (unit.id in state["removed"])
    assert "I never mend nets." in question
    assert [field.name for field in asked.fields] == ["comment", "rating"]
    assert len({generator.getstate() for generator in asked.generators}) == 4


@pytest.mark.parametrize(("with_facts", "without", "conflict"), [(-3.0, -1.0, True), (-1.0, -3.0, False)])
async def test_the_likelihood_judge_is_positive_where_the_facts_speak_against(
    with_facts: float, without: float, conflict: bool
) -> None:
    def likelihood(prompt: Any) -> float:
        return with_facts if "memory" in prompt.unit_blocks.values() else without

    context = a_context(ScriptedModel(likelihood=likelihood), judge="likelihood", removal_factor=1)
    state = await after(await generated(context), context, judge)
    assert state["inconsistency"] == [without - with_facts]
    assert state["conflict"] is conflict
    assert state["judged_by"] == "likelihood by scripted"
    assert context.store.candidates("k3f9", 1)[0].comment is None


async def test_the_baseline_reads_all_items_and_never_rolls_back() -> None:
    settings = {"removal_factor": 0, "record_scores": "true", "judge_baseline": "true"}
    context = a_context(ScriptedModel(ratings=[10, 10, 10]), **settings)
    state = await after(await generated(context, with_turns(context, 1)), context, judge, select_candidate)
    assert (state["inconsistency"], state["conflict"], state["chosen"], state["rollbacks"]) == ([10.0], False, 0, 0)
    question = RehearsalTokenizer().decode(context.model.asked("generate")[-1].prompt.input_ids)
    items = [unit for unit in context.store.prompt(state["prompt"]).units if unit.kind == "item"]
    assert {unit.block for unit in items} > {"current_dialogue", "memory"}
    assert all(unit.text.removeprefix("- ") in question for unit in items)


def test_a_judge_without_a_threshold_is_refused() -> None:
    with pytest.raises(UsageError, match="inconsistency_threshold"):
        is_conflict(1.0, None)
    assert not is_conflict(6.67, 6.67), "a figure that equals θ passes"


# --- roll back, select --------------------------------------------------------------------------------------------


async def spoken(ratings: list[int], **settings: Any) -> tuple[Context, dict[str, Any]]:
    """The utterance graph's outcome under these ratings, one run of the judge for each candidate."""
    context = a_context(ScriptedModel(ratings=ratings), judge_runs=1, **settings)
    return context, await build_utterance_graph().ainvoke(START, context=context)


@pytest.mark.parametrize(
    ("ratings", "attempts", "chosen"),
    [
        ([6], 1, 0),
        ([9, 6], 2, 1),
        ([9, 9, 9, 1], 4, 3),
        ([9, 8, 10, 8], 4, 1),  # none passes: the lowest, the earlier of two
        ([7, 8, 9, 10], 4, 0),
    ],
)
async def test_backups_are_taken_until_one_passes_or_none_is_left(
    ratings: list[int], attempts: int, chosen: int
) -> None:
    context, outcome = await spoken([*ratings, 1])
    assert (outcome["rollbacks"], outcome["chosen"]) == (attempts - 1, chosen)
    candidates = context.store.candidates("k3f9", 1)
    assert [candidate.inconsistency for candidate in candidates] == ratings


async def test_backups_on_demand_and_with_the_utterance_are_the_same() -> None:
    outcomes = []
    for backups in ("on_demand", "with_utterance"):
        context, outcome = await spoken([9, 9, 9, 9], backups=backups)
        outcomes.append((outcome, context.store.candidates("k3f9", 1), context.model.asked("generate")))
    (first, on_demand, calls), (second, with_utterance, fewer_calls) = outcomes
    assert (first, on_demand) == (second, with_utterance)
    assert len({candidate.text for candidate in on_demand}) > 1
    assert (len(calls), len(fewer_calls)) == (8, 5)


@pytest.mark.parametrize(
    ("inconsistency", "chosen"),
    [([9.0, 6.67], 1), ([9.0, 6.68], 1), ([7.0, 9.0, 7.0], 0), ([9.0, 7.5, 8.0, 7.5], 1), ([5.0], 0)],
)
def test_the_last_one_is_said_if_it_passes_else_the_lowest(inconsistency: list[float], chosen: int) -> None:
    assert choose_candidate(inconsistency, 6.67) == chosen


# --- ending, turns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("parting", "ended"), [(0.6, False), (0.61, True), (0.1, False)])
async def test_a_small_model_is_asked_what_comes_next(parting: float, ended: bool) -> None:
    settings = {"ending": "continuation", "ending_threshold": 0.6, "judge": "off"}
    context = a_context(ScriptedModel(parting=[parting], speech=["So long."]), **settings)
    state = await after(await generated(context, with_turns(context, 3)), context, select_candidate, decide_ending)
    assert state["ended"] is ended
    (asked,) = context.model.asked("probabilities")
    text = RehearsalTokenizer().decode(asked.input_ids)
    assert ": Line 3.\n" in text
    assert ": So long.\n" in text
    assert [field.name for field in context.model.asked("generate")[0].fields] == ["Piotr"]


async def test_a_turn_is_recorded_with_how_it_came_about() -> None:
    context = a_context(
        ScriptedModel(ratings=[9, 9, 9, 1, 1, 1], speech=["No.", "Maybe three words."], endings=[False] * 2)
    )
    state = await after(await generated(context), context, judge, roll_back, judge, select_candidate, decide_ending)
    state = await after({**state, "sim_time_s": 4.0}, context, record_turn)
    assert (state["sim_time_s"], state["finished"]) == (pytest.approx(4.0 + 3 / 150 * 60), False)
    record = context.store.turn_record("k3f9", 1)
    assert (record.turn.text, record.turn.sim_time_s, record.turn.ended) == ("Maybe three words.", 4.0, False)
    assert (record.chosen, record.rollbacks) == (1, 1)
    assert (record.scores, list(record.removed)) == (state["scores"], state["removed"])
    assert (record.scored_by, record.judged_by) == ("scripted", "rating by scripted")
    assert record.prompt == state["prompt"]


def test_limits_end_a_conversation() -> None:
    limits = Parameters().with_settings({"max_turns": 3, "max_minutes": 2})

    assert [limit_reached(turn, 0.0, limits) for turn in (1, 2, 3, 4)] == [None, None, "rounds", "rounds"]
    assert [limit_reached(1, seconds, limits) for seconds in (119.9, 120.0)] == [None, "minutes"]
    assert limit_reached(1, 1e9, Parameters()) is None
    assert speaking_time_s("one two  three", 90) == 2
