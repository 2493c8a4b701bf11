"""Reflect after enough important memories: questions, then insights with evidence. Source: Park et al. 2023, §4.2."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from langgraph.runtime import Runtime

from tertulia.nodes.shared.asking import ask_model, text_of
from tertulia.nodes.shared.memory import recall
from tertulia.nodes.town.encounter import encounter_of, ended_s
from tertulia.nodes.town.rate_importance import importance_of
from tertulia.prompts.cognition import ask_anybody
from tertulia.prompts.town import EVIDENCE, QUESTIONS, ask_insight, ask_questions
from tertulia.state.context import Context
from tertulia.state.graph_state import TownState
from tertulia.state.language_model import ReplyField
from tertulia.state.records import Memory, Remembered, Stream
from tertulia.state.town import FORMED, INSIGHT, Encounter, TownContext

#: The summed importance from which an agent reflects if none is set: every third conversation or so.
_THRESHOLD = 40.0
#: Memories that are recalled for each question.
_RECALLED = 15
#: Tokens of a question, and of an insight.
_TOKENS = 40


async def reflect(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Let each of the pair reflect that has reached the threshold of importance; their counter restarts at zero."""
    town = runtime.context
    encounter = encounter_of(town, state)
    context = town.context_of(encounter.run)
    threshold = context.parameters.reflection_threshold or _THRESHOLD
    ready = [name for name in encounter.pair if gathered(town, name, state["lengths"][name], threshold) >= threshold]
    round = len(context.store.turns(context.run)) + 3  # behind the memories
    context.broker.seat(round, ready)
    streams = [
        # As it was before this reflection, in case it is repeated after a crash.
        town.simulations.stream(town.simulation, name).model_copy(update={"length": state["lengths"][name]})
        for name in ready
    ]
    found = await asyncio.gather(*(insights(context, encounter, stream, round) for stream in streams))
    for stream, memories in zip(streams, found, strict=True):
        vectors = town.embedder.embed([memory.text for memory in memories])
        town.simulations.save_memories(stream.simulation, stream.agent, stream.length, memories, vectors)
    return {}


def gathered(town: TownContext, name: str, length: int, threshold: float) -> float:
    """Return the importance of the memories of a resident's conversations since they last reflected, summed.

    It follows from the stream, so no checkpoint holds it of everybody: a conversation with which the sum reached the
    threshold was followed by a reflection.

    Args:
        length: How many memories of the stream count; the last are those of the latest conversation.
    """
    known, total = town.gathered.get(name, (0, 0.0))
    if known < length:
        stream = town.simulations.stream(town.simulation, name).model_copy(update={"length": length})
        memories = town.store.remembered(stream, range(known + 1, length + 1) if known else None)
        left = [memory for memory in memories if memory.id.startswith(FORMED) and f"_{INSIGHT}" not in memory.id]
        for _, of_conversation in groupby(left, key=lambda memory: memory.id.split("_")[:3]):
            total = (total if total < threshold else 0.0) + sum(memory.importance for memory in of_conversation)
        town.gathered[name] = length, total
    return total


async def insights(context: Context, encounter: Encounter, stream: Stream, round: int) -> list[Remembered]:
    """Return the insights that an agent draws from their memories after the conversation of this context."""
    name = stream.agent
    thinking = context.of(name, "think")
    parameters = thinking.parameters.model_copy(update={"memory_items_min": _RECALLED, "memory_items_max": _RECALLED})
    now = encounter.time + timedelta(seconds=ended_s(context))
    participant = context.case.participant(name).model_copy(update={"stream": stream})
    insights: dict[str, tuple[str, tuple[str, ...]]] = {}
    for question in await _questions(thinking, stream, round):
        later = now + timedelta(seconds=1)
        known = recall(participant, [question], later, thinking.embedder, thinking.store, parameters)
        insight, evidence = await _insight(thinking, name, question, known, round)
        if insight:
            insights[insight] = encounter.memory_id(f"{INSIGHT}{len(insights) + 1}"), evidence
    ratings = await importance_of(thinking, name, list(insights), list(insights), round)
    context.broker.leave(name)
    return [
        Remembered(id=id, kind="thought", text=text, created=now, importance=rating, evidence=evidence)
        for (text, (id, evidence)), rating in zip(insights.items(), ratings, strict=True)
    ]


async def _questions(context: Context, stream: Stream, round: int) -> list[str]:
    """Return questions about an agent's last days, that is, about as many memories as a prompt shows."""
    _, count = context.parameters.memory_items
    numbers = range(max(1, stream.length - 2 * count), stream.length + 1)
    latest = [memory for memory in context.store.remembered(stream, numbers) if memory.kind != "chat"][-count:]
    fields = [ReplyField(field, "text", max_tokens=_TOKENS) for field in QUESTIONS]
    language = context.parameters.language
    question = ask_questions(stream.agent, [memory.text for memory in latest], language)
    prompt = ask_anybody(question, context.layout, language)
    reply = await ask_model(context, round, stream.agent, "reflect", prompt, fields)
    return list(dict.fromkeys(filter(None, (text_of(reply, field) for field in QUESTIONS))))


async def _insight(
    context: Context, name: str, question: str, memories: Sequence[Memory], round: int
) -> tuple[str, tuple[str, ...]]:
    fields = [ReplyField("insight", "text", max_tokens=_TOKENS)]
    fields += [ReplyField(field, "integer", minimum=1, maximum=len(memories)) for field in EVIDENCE]
    language = context.parameters.language
    asked = ask_insight(name, question, [memory.text for memory in memories], language)
    prompt = ask_anybody(asked, context.layout, language)
    reply = await ask_model(context, round, name, "reflect", prompt, fields)
    numbers = dict.fromkeys(int(reply.fields[field]) for field in EVIDENCE)
    return text_of(reply, "insight"), tuple(memories[number - 1].id for number in numbers)
