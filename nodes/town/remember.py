"""Memories of a conversation, for each of the pair: an event, a summary and a thought. Source: Park et al. 2023, §4.1.

After a crash the node runs again under the same keys: calls of models come from the journal, stored memories stay.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from langgraph.runtime import Runtime

from tertulia.nodes.shared.asking import ask_model, text_of
from tertulia.nodes.town.encounter import encounter_of, ended_s
from tertulia.nodes.town.rate_importance import importance_of
from tertulia.prompts.cognition import ask_anybody
from tertulia.prompts.town import agreement_memory, ask_summary, seen_memory, summary_memory
from tertulia.state.agreements import Entry
from tertulia.state.context import Context
from tertulia.state.graph_state import TownState
from tertulia.state.language_model import ReplyField
from tertulia.state.records import MemoryKind, Remembered
from tertulia.state.town import SEEN, Encounter, TownContext

#: Tokens of a summary, and of a thought.
_TOKENS = 48


async def remember(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Add memories of the conversation to the streams of the pair, each with its importance."""
    town = runtime.context
    encounter = encounter_of(town, state)
    context = town.context_of(encounter.run)
    round = len(context.store.turns(context.run)) + 2  # behind the conversation, and the agreement
    context.broker.seat(round, encounter.pair)
    agreed = town.diary.of(encounter.run)
    kept = await asyncio.gather(
        *(memories_of_conversation(context, encounter, name, round, agreed) for name in encounter.pair)
    )
    lengths = {}
    for name, memories in zip(encounter.pair, kept, strict=True):
        stream = context.case.participant(name).stream
        assert stream is not None
        vectors = town.embedder.embed([memory.text for memory in memories])
        town.simulations.save_memories(stream.simulation, name, stream.length, memories, vectors)
        lengths[name] = stream.length + len(memories)
    return {"lengths": lengths}


async def memories_of_conversation(
    context: Context, encounter: Encounter, name: str, round: int, agreed: Sequence[Entry] = ()
) -> list[Remembered]:
    """Return the memories of a conversation, and of the agreement in it, for one of the pair."""
    thinking, language = context.of(name, "think"), context.parameters.language
    partner = next(person for person in encounter.pair if person != name)
    question = ask_summary(name, partner, context.store.turns(context.run), language)
    fields = [ReplyField(field, "text", max_tokens=_TOKENS) for field in ("summary", "thought")]
    prompt = ask_anybody(question, thinking.layout, language)
    reply = await ask_model(thinking, round, name, "summarise", prompt, fields)
    activity = encounter.activities[encounter.pair.index(partner)]
    texts: dict[str, tuple[MemoryKind, str]] = {}
    contents: list[str] = []  # the same without date, people and place
    if activity is not None:
        texts[SEEN] = "event", seen_memory(encounter, partner, activity, language)
        contents.append(activity)
    if summary := text_of(reply, "summary"):
        texts["summary"] = "event", summary_memory(encounter, name, partner, summary, language)
        contents.append(summary)
    if thought := text_of(reply, "thought"):
        texts["thought"] = "thought", thought
        contents.append(thought)
    for entry in agreed:
        texts[f"agreed_{entry.number}"] = "event", agreement_memory(entry, name, partner, language)
        contents.append(entry.agreement.what)
    ratings = await importance_of(thinking, name, [text for _, text in texts.values()], contents, round)
    context.broker.leave(name)
    created = encounter.time + timedelta(seconds=ended_s(context))
    return [
        Remembered(id=encounter.memory_id(key), kind=kind, text=text, created=created, importance=rating)
        for (key, (kind, text)), rating in zip(texts.items(), ratings, strict=True)
    ]
