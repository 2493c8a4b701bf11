"""Records for tests of what is stored: a run, its case, prompts that mostly repeat, candidates, calls, turns."""

import random
from datetime import UTC, datetime

from tertulia.state.cognition import Assessment, Bid, Call, Character, Floor, InformationNeed, Perception
from tertulia.state.records import (
    Candidate,
    Case,
    Participant,
    Persona,
    Prompt,
    Record,
    Reply,
    RunRecord,
    Turn,
    TurnRecord,
    Unit,
)
from tertulia.state.store import Store
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

#: The steps of cognition by node; a mechanism's is a `Finding` under its name.
STEPS: dict[str, type[Record]] = {
    "prepare": Character,
    "perceive": Perception,
    "choose_mechanisms": InformationNeed,
    "assess": Assessment,
    "bid": Bid,
    "floor": Floor,
}


def stored_rows(store: SqlStore) -> set[str]:
    """Every row of every table of a store, as text."""
    return {f"{table}: {row}" for table in TABLES for row in store.file.rows(f"SELECT * FROM {table}")}


def a_run(run: str = "k3f9", **changes: object) -> RunRecord:
    known = {
        "run": run,
        "status": "running",
        "kind": "dialogue",
        "scenario": "cafe",
        "model": "m",
        "embedder": "e",
        "rehearsed": False,
    }
    return RunRecord.model_validate(
        {**known, "seed": 7, "parameters": {"removal_factor": 0.5}, "created": NOW} | changes
    )


def a_case(initiator: str = "Ana") -> Case:
    people = [
        Participant(persona=Persona(name=name, age=30), memories=(), activity="reading") for name in (initiator, "Bo")
    ]
    return Case(scenario="cafe", time=NOW, initiator=people[0], partner=people[1])


def a_prompt(turn: int = 1, memories: int = 45, others: int = 10) -> Prompt:
    """A prompt whose memories are those of every turn, and whose other units differ from turn to turn."""
    units = [
        Unit(id=f"memory.m{i}", block="memory", kind="item", text=f"Ana saw heron number {i}. " * 4, removable=True)
        for i in range(memories)
    ]
    for i in range(others):
        text = f"Bo says, at turn {turn}, his sentence {i} about the weather over the lake."
        units.append(Unit(id=f"current_dialogue.turn_{i}", block="current_dialogue", kind="item", text=text))
    return Prompt(units=tuple(units), speaker="Ana", layout="single_message")


def a_candidate(attempt: int = 0, turn: int = 1, **judged: object) -> Candidate:
    line = f"Well, in turn {turn} I would rather walk along the shore and look at the herons."
    text = f'{{"Ana": "{line}", "ended": false}}'
    fields = {"Ana": line, "ended": False}
    reply = Reply(text=text, tokens=tuple(range(1000, 1050)), text_tokens=(4, 40), fields=fields)
    return Candidate.model_validate({"attempt": attempt, "text": line, "reply": reply, **judged})


def a_reply(text: str = '{"thought": "Hm."}', **fields: str | bool | int) -> Reply:
    return Reply(text=text, tokens=(5, 6, 7), text_tokens=(1, 2), fields=fields or {"thought": "Hm."})


def a_call(agent: str = "Ana", round: int = 1, *replies: Reply, node: str = "assess", attempt: int = 0) -> Call:
    return Call(
        round=round,
        agent=agent,
        node=node,
        attempt=attempt,
        model="m",
        prompt="0" * 32,
        replies=replies or (a_reply(),),
    )


def a_turn_record(turn: int = 1, **changes: object) -> TurnRecord:
    spoken = Turn(turn=turn, round=turn, speaker="Ana", text=f"Line {turn}.", sim_time_s=turn * 3.2, ended=False)
    return TurnRecord.model_validate({"turn": spoken, **changes})


def write_turn(store: Store, run: str, turn: int) -> None:
    """Store everything that one turn of a dialogue leaves."""
    prompt = a_prompt(turn)
    drawn = random.Random(turn)
    scores = {unit.id: drawn.random() for unit in prompt.units}
    store.save_candidate(run, turn, a_candidate(0, turn))
    judged = a_candidate(0, turn, inconsistency=3.5, inconsistency_runs=(3.0, 4.0, 3.5), comment="It fits.")
    store.save_candidate(run, turn, judged)
    record = a_turn_record(turn, prompt=store.save_prompt(prompt), scores=scores, removed=("memory.m3", "memory.m1"))
    store.save_turn(run, record)


def write_turns(store: Store, run: str, first: int, last: int) -> None:
    for turn in range(first, last + 1):
        write_turn(store, run, turn)
