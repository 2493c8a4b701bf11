"""A meeting of five people who think at length, round by round, to measure what is stored of it."""

import itertools
import json
import random

from support.stored import write_turn

from tertulia.state.cognition import (
    Assessment,
    Bid,
    Call,
    Finding,
    InformationNeed,
    MechanismChoice,
    Perception,
    WillingnessParts,
)
from tertulia.state.records import Prompt, Record, Reply, Unit
from tertulia.state.store import Store

AGENTS = ("Alice", "Bob", "Carol", "David", "Emma")

PROSE = """we should look at the budget before anyone walks home because list of places near lake is longer than last
year and nobody has asked what weather does to a boat that holds nine people who would rather cook outside"""

MECHANISMS = ("memory_retrieval", "goal_summary", "topic_analysis", "time_analysis", "speech_frequency")

#: Phases of a round in which each agent calls the model, with how many words it replies.
PHASES = {"choose_mechanisms": 90, "topic_analysis": 30, "assess": 60}


def write_group_round(store: Store, run: str, round: int) -> None:
    """Store what a round of five agents leaves: each thinks in five steps and asks the model three times."""
    drawn = random.Random(round)
    for agent in AGENTS:
        _write_steps(store, run, round, agent, drawn)
    for node, length in PHASES.items():
        store.save_calls(run, [_a_long_call(store, round, agent, node, length, drawn) for agent in AGENTS])
    write_turn(store, run, round)


def _words(drawn: random.Random, count: int) -> str:
    return " ".join(drawn.choices(PROSE.split(), k=count))


def _write_steps(store: Store, run: str, round: int, agent: str, drawn: random.Random) -> None:
    near = {name: drawn.random() for name in ("profile", "background", "emotion")}
    parts = WillingnessParts(
        topic=drawn.random(), goal=drawn.random(), emotion=drawn.random(), personality=drawn.random()
    )
    records: dict[str, Record] = {
        "perceive": Perception(
            turn=round - 1, similarities=near, relevance=drawn.random(), named=False, noticed=True, importance=4.2
        ),
        "choose_mechanisms": InformationNeed(
            key_information=_words(drawn, 12),
            mechanisms={name: MechanismChoice(active=True, reason=_words(drawn, 8)) for name in MECHANISMS},
        ),
        "topic_analysis": Finding(
            lines=(_words(drawn, 10), _words(drawn, 10)),
            data={state: [_words(drawn, 3) for _ in range(4)] for state in ("open", "discussed", "paused")},
        ),
        "assess": Assessment(
            situation=_words(drawn, 30), thought=_words(drawn, 20), emotion="eager", emotion_strength=0.5,
            done=(True, False, False),
        ),
        "bid": Bid(
            parts=parts, willingness=drawn.random(), willing=True, similarity=drawn.random(),
            similarity_max=drawn.random(), latency_scale_s=1 + drawn.random(), latency_spread_s=1 + drawn.random(),
            persistence=1.0, latency_s=drawn.random(), won=False,
        ),
    }  # fmt: skip
    for node, record in records.items():
        store.save_step(run, round, agent, node, record)


def _a_long_call(store: Store, round: int, agent: str, node: str, length: int, drawn: random.Random) -> Call:
    kept = [f"{agent} holds fact {i}, which is true at any moment of the meeting." for i in range(25)]
    recent = [
        f"In round {r} somebody said something about the boat, the lake and the list." for r in range(round, round + 10)
    ]
    new = [_words(drawn, 12) for _ in range(5)]
    units = tuple(
        Unit(id=f"{node}.{i}", block="question", kind="item", text=text)
        for i, text in enumerate(itertools.chain(kept, recent, new))
    )
    thought = _words(drawn, length)
    fields = {"thought": thought, "active": True}
    # Of a real vocabulary; about 1.5 tokens a word, as names and markup take more than one.
    tokens = tuple(drawn.randrange(49_152) for _ in range(length * 3 // 2))
    reply = Reply(text=json.dumps(fields), tokens=tokens, text_tokens=(4, len(tokens) - 6), fields=fields)
    prompt = store.save_prompt(Prompt(units=units, speaker=agent, layout="single_message"))
    return Call(round=round, agent=agent, node=node, model="m", prompt=prompt, replies=(reply,))
