"""Retrieve memory and assemble the full prompt. Source: Park et al. 2023, §4.1 (retrieval); APP §2."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray

from nodes.view import character_of
from prompts.assemble import InnerLife, UtteranceMaterial, assemble_prompt
from prompts.cognition import clock
from prompts.names import listed
from state.cognition import Assessment, Finding, InformationNeed
from state.contracts import Context, Embedder, Start
from state.graph_state import UtteranceState
from state.parameters import Parameters
from state.randomness import keyed_generator
from state.records import Case, HumanNeeds, Memory, Turn
from worlds.human_needs import draw_human_needs

#: The lines of the current dialogue that say what to remember (Park et al.'s conversations use the last four).
_LATEST_LINES = 4


async def retrieve_memory(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Recall what bears on the moment, and store the full prompt for the speaker."""
    context = runtime.context.of(state["speaker"])
    parameters, start, speaker = context.parameters, context.start, state["speaker"]
    listeners = [name for name in state["present"] if name != speaker]
    turns = latest_turns(context, state["turn"], parameters.dialogue_window)
    inner_life = None if isinstance(start, Case) else _inner_life(state, context)
    points = focal_points(start, speaker, listeners, turns)
    if inner_life is not None:
        points.append(inner_life.assessment.thought)
    memories = retrieve_memories(start.participant(speaker).memories, points, start.time, context.embedder, parameters)
    material = UtteranceMaterial(
        start=start,
        speaker=speaker,
        listeners=listeners,
        memories=memories,
        turns=turns,
        human_needs=_human_needs(context, speaker) if parameters.human_needs else None,
        previous_dialogues_max=parameters.previous_dialogues_max,
        asks_ending=parameters.ending == "reply",
        inner_life=inner_life,
    )
    prompt = assemble_prompt(material, context.layout, parameters.blocks, parameters.removable_blocks)
    return {
        "prompt": context.store.save_prompt(prompt),
        "scores": None,
        "scored_by": None,
        "removed": [],
        "scoring_wanted": parameters.removal_factor > 0 or parameters.record_scores,
    }


def latest_turns(context: Context, turn: int, window: int) -> list[Turn]:
    """Return the last turns before a turn, oldest first, how a meeting opened among them."""
    turns = context.store.turns(context.run, max(1, turn - window), turn - 1)
    opening = None if isinstance(context.start, Case) else context.start.opening_turn
    return [opening, *turns] if opening is not None and turn <= window else turns


def focal_points(start: Start, speaker: str, listeners: Sequence[str], turns: Sequence[Turn]) -> list[str]:
    """Return what memories are looked up for: the others, the situation, and what was said last."""
    if isinstance(start, Case):
        other = start.other(speaker)
        situation = [f"{speaker} meets {other.persona.name}", start.place, other.activity]
    else:
        situation = [start.title, start.place, start.description]
    points = [f"{speaker} and {listed(listeners)}", ". ".join(part for part in situation if part)]
    said = [turn for turn in turns if turn.speaker is not None]
    if said:
        points.append("\n".join(f"{turn.speaker}: {turn.text}" for turn in said[-_LATEST_LINES:]))
    return points


def _inner_life(state: UtteranceState, context: Context) -> InnerLife:
    """Return what the speaker has made of the round (stored by the steps of their cognition)."""
    store, run, round, speaker = context.store, context.run, state["round"], state["speaker"]
    need = store.step(run, round, speaker, "choose_mechanisms", InformationNeed)
    assessment = store.step(run, round, speaker, "assess", Assessment)
    assert need is not None
    assert assessment is not None
    findings = {
        name: store.step(run, round, speaker, name, Finding)
        for name, choice in need.mechanisms.items()
        if choice.active
    }
    return InnerLife(
        character=character_of(context, speaker),
        done=assessment.done,
        findings=[(name, line) for name, finding in findings.items() if finding for line in finding.lines],
        assessment=assessment,
        clock=clock(context.start.time + timedelta(seconds=state["sim_time_s"])),
    )


def retrieve_memories(
    memories: Sequence[Memory], points: Sequence[str], now: datetime, embedder: Embedder, parameters: Parameters
) -> list[Memory]:
    """Return the memories that bear on the focal points, oldest first.

    Each memory has a score for each focal point: relevance (cosine), recency (decay per hour) and importance, each
    scaled to [0, 1] over the stream, weighted and summed. Every focal point brings its best memories in equal parts,
    up to `memory_items_max` together; if they overlap so much that fewer than `memory_items_min` are left, the next
    best fill up. Chats stand in a block of their own, and of memories with the same text only the latest counts.

    Args:
        memories: The stream; what is not from before `now` is left out.
        points: Focal points, at least one.
        now: The present moment.
        embedder: For relevance.
        parameters: Weights, decay and limits.
    """
    eligible = (m for m in memories if m.created < now and m.kind != "chat" and not m.text.endswith(" is idle"))
    stream = list({memory.text: memory for memory in sorted(eligible, key=lambda memory: memory.created)}.values())
    if not stream:
        return []
    ages_h = np.array([(now - memory.created).total_seconds() / 3600 for memory in stream])
    recency = _scaled(parameters.recency_decay**ages_h)
    importance = _scaled(np.array([memory.importance for memory in stream]))
    vectors = np.array(embedder.embed([memory.text for memory in stream]))
    rankings = []
    for point in np.array(embedder.embed(list(points))):
        score = (
            parameters.retrieval_relevance * _scaled(vectors @ point)
            + parameters.retrieval_recency * recency
            + parameters.retrieval_importance * importance
        )
        rankings.append([int(i) for i in np.argsort(-score, kind="stable")])
    share = max(1, parameters.memory_items_max // len(rankings))
    chosen = dict.fromkeys(i for ranking in rankings for i in ranking[:share])
    by_rank = (ranking[place] for place in range(share, len(stream)) for ranking in rankings)
    for index in by_rank:
        if len(chosen) >= parameters.memory_items_min:
            break
        chosen.setdefault(index)
    return [stream[i] for i in sorted(list(chosen)[: parameters.memory_items_max])]


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = values.min(), values.max()
    return np.zeros_like(values) if high == low else (values - low) / (high - low)


def _human_needs(context: Context, speaker: str) -> HumanNeeds:
    generator = keyed_generator(context.seed, agent=speaker, node="human_needs")
    return draw_human_needs(generator)
