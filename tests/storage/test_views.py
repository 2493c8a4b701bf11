"""The views and the index for searching, against what the store gives out: row by row, for a dialogue and a meeting."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context, a_pier
from support.meeting_case import a_quay
from support.postgres_server import NewStore
from support.scripted import ScriptedModel
from support.stored import a_case, a_run

from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Assessment, Bid, Call, InformationNeed, Perception
from tertulia.state.meeting import Start
from tertulia.state.records import Prompt, Reply, Unit
from tertulia.storage.parts.search import Passage, search
from tertulia.storage.store import SqlStore
from tertulia.storage.values import plain_json

RUN = "k3f9"
TURNS = 6
HALF = "half an \ud83d"


@dataclass(frozen=True)
class Held:
    """A conversation that was held, in a store of its own."""

    store: SqlStore
    start: Start

    def view(self, name: str) -> list[dict[str, Any]]:
        return self.store.file.rows(f"SELECT * FROM {name}")


@pytest.fixture(scope="module", params=["dialogue", "meeting"])
def held(request: pytest.FixtureRequest) -> Iterator[Held]:
    start: Start = a_pier() if request.param == "dialogue" else a_quay()
    with SqlStore.open(":memory:") as store:
        chosen = {"removal_factor": 0.5, "max_turns": TURNS, "ending": "off"}
        context = a_context(ScriptedModel(), store, start, **chosen)
        asyncio.run(drive(context, InMemorySaver()))
        yield Held(store, start)


@pytest.fixture
def store() -> Iterator[SqlStore]:
    with SqlStore.open(":memory:") as opened:
        opened.create_run(a_run(), a_case())
        yield opened


# --- each view --------------------------------------------------------------------------------------------------------


def test_each_run(new_store: NewStore, held: Held) -> None:
    fields = {"status": "failed", "error": "no more", "parent": (RUN, 3), "rewritten": True, "rehearsed": True}
    parameters = {"removal_factor": 0.25, "order": "random"}
    with new_store() as other:
        for run in (a_run(), a_run("f0rk", kind="group_chat", parameters=parameters, **fields)):
            other.create_run(run, held.start)
        for store in (held.store, other):
            records = reversed(store.runs())
            assert store.file.rows("SELECT * FROM each_run") == [
                {
                    **run.model_dump(
                        include={
                            *("run", "status", "kind", "scenario", "model", "embedder"),
                            *("error", "ended_by", "turns", "label"),
                        }
                    ),
                    "rehearsed": int(run.rehearsed),
                    "seed": str(run.seed),
                    "removal_factor": run.parameters["removal_factor"],
                    "speaking_order": run.parameters["order"] if run.kind == "group_chat" else None,
                    "parent_run": run.parent and run.parent[0],
                    "parent_turn": run.parent and run.parent[1],
                    "rewritten": int(run.rewritten),
                    "created": run.created.isoformat(),
                    "parameters": json.dumps(run.parameters, separators=(",", ":")),
                    **dict.fromkeys(("experiment", "setting", "trial_case", "trial", "cohort")),
                }
                for run in records
            ]


def test_each_turn(held: Held) -> None:
    expected = []
    for turn in held.store.turns(RUN):
        record = held.store.turn_record(RUN, turn.turn)
        said = {candidate.attempt: candidate for candidate in held.store.candidates(RUN, turn.turn)}
        expected.append(
            {
                "run": RUN,
                **turn.model_dump(exclude={"ended"}),
                "ended": int(turn.ended),
                **record.model_dump(include={"rollbacks", "scored_by", "judged_by", "prompt", "line_scored_by"}),
                "line_scores": None if record.line_scores is None else plain_json(record.line_scores),
                "removed_units": len(record.removed),
                "inconsistency": said[record.chosen].inconsistency if turn.speaker is not None else None,
                "inherited": 0,
            }
        )
    assert held.view("each_turn") == expected
    assert len(expected) == TURNS
    spoken = [row for row in expected if row["speaker"] is not None]
    for column in ("removed_units", "inconsistency", "scored_by", "judged_by"):
        assert all(row[column] for row in spoken), column


def test_each_unit(held: Held) -> None:
    expected = []
    for turn in held.store.turns(RUN):
        record = held.store.turn_record(RUN, turn.turn)
        units = held.store.prompt(record.prompt).units if record.prompt else ()
        for position, unit in enumerate(units):
            place = 1 + record.removed.index(unit.id) if unit.id in record.removed else 0
            expected.append(
                {
                    **{"run": RUN, "turn": turn.turn, "position": position, "unit": unit.id},
                    **unit.model_dump(include={"block", "kind", "text"}),
                    "removable": int(unit.removable),
                    "score": (record.scores or {}).get(unit.id),
                    "removed": place,
                    "inherited": 0,
                }
            )
    assert held.view("each_unit") == expected
    assert {row["removed"] for row in expected} >= {0, 1, 2}
    assert all(row["score"] is not None for row in expected)


def test_each_agent_round(held: Held) -> None:
    store = held.store
    perceived, needs = store.steps(RUN, "perceive", Perception), store.steps(RUN, "choose_mechanisms", InformationNeed)
    thinking, bids = store.steps(RUN, "assess", Assessment), store.steps(RUN, "bid", Bid)
    expected = []
    for round, agent in perceived:
        key = (round, agent)
        need, bid = needs[key], bids[key]
        active = [name for name, choice in need.mechanisms.items() if choice.active]
        expected.append(
            {
                **{"run": RUN, "round": round, "agent": agent, "key_information": need.key_information},
                **perceived[key].model_dump(include={"relevance", "importance"}),
                "noticed": int(perceived[key].noticed),
                "mechanisms": active,
                **thinking[key].model_dump(include={"situation", "thought", "emotion", "emotion_strength"}),
                **bid.model_dump(include={"willingness", "similarity", "persistence", "latency_s"}),
                **bid.model_dump(include={"latency_scale_s", "latency_spread_s"}),
                **{f"{name}_part": value for name, value in bid.parts.model_dump().items()},
                **{"willing": int(bid.willing), "won": int(bid.won), "inherited": 0},
            }
        )
    found = [row | {"mechanisms": json.loads(row["mechanisms"])} for row in held.view("each_agent_round")]
    assert found == expected
    if store.run(RUN).kind == "group_chat":
        assert len(expected) == TURNS * len(held.start.names)
        assert any(row["mechanisms"] for row in expected)
        assert sum(row["won"] for row in expected) == sum(turn.speaker is not None for turn in store.turns(RUN))


def test_each_call(held: Held) -> None:
    calls = held.store.calls(RUN)
    expected = [
        {
            "run": RUN,
            **call.model_dump(include={"round", "agent", "node", "attempt", "kind", "model", "prompt"}),
            **call.model_dump(include={"prompt_tokens", "reply_tokens", "seconds"}),
            "parameters": call.parameters,
            "reply": call.replies[0].text if call.replies else None,
            "replies": len(call.replies),
            "results": [*call.values],
            "inherited": 0,
        }
        for call in calls
    ]
    found = [
        row | {name: json.loads(row[name]) for name in ("parameters", "results")} for row in held.view("each_call")
    ]
    assert found == expected
    assert {call.kind for call in calls} >= {"generate", "generate_scored"}


# --- text is data -----------------------------------------------------------------------------------------------------


def test_half_a_surrogate_pair_is_read_by_every_view(store: SqlStore) -> None:
    prompt = Prompt(units=(Unit(id=HALF, block="b", kind="item", text=HALF),), speaker=HALF, layout="l")
    reply = Reply(text=HALF, tokens=(), text_tokens=(0, 0), fields={HALF: HALF})
    call = Call(round=1, agent=HALF, node="n", model="m", prompt=store.save_prompt(prompt), replies=(reply,))
    thought = Assessment(situation=HALF, thought=HALF, emotion=HALF, emotion_strength=0, done=())
    perceived = Perception(turn=0, similarities={HALF: 0}, relevance=0, named=False, noticed=True, importance=0)
    store.save_calls("k3f9", [call.model_copy(update={"parameters": {"options": [HALF]}})])
    store.save_step("k3f9", 1, HALF, "perceive", perceived)
    store.save_step("k3f9", 1, HALF, "assess", thought)
    (made,) = store.file.rows("SELECT * FROM each_call")
    assert (made["agent"], made["reply"], json.loads(made["parameters"])) == (HALF, HALF, {"options": [HALF]})
    (mind,) = store.file.rows("SELECT * FROM each_agent_round")
    assert (mind["agent"], mind["thought"], mind["emotion"]) == (HALF, HALF, HALF)
    assert [found.text for found in search(store.file, "half an")] == ["half an ?"]


# --- passages ---------------------------------------------------------------------------------------------------------


def test_every_utterance_thought_and_memory_is_found_once(held: Held) -> None:
    people = [held.start.participant(name) for name in held.start.names]
    expected = [
        Passage(RUN, 0, person.persona.name, "memory", memory.text) for person in people for memory in person.memories
    ]
    for turn in held.store.turns(RUN):
        if turn.speaker is not None:
            expected.append(Passage(RUN, turn.turn, turn.speaker, "utterance", turn.text))
    for (round, agent), step in held.store.steps(RUN, "assess", Assessment).items():
        expected.append(Passage(RUN, round, agent, "thought", step.thought))
    assert {passage.kind for passage in expected} >= {"memory", "utterance"}

    def order(passage: Passage) -> tuple[object, ...]:
        return passage.kind, passage.turn, passage.agent, passage.text

    rows = held.store.file.rows("SELECT turn, agent, kind, text FROM passages")
    assert sorted((Passage(RUN, **row) for row in rows), key=order) == sorted(expected, key=order)
    for passage in expected:
        same = [other for other in expected if other.text == passage.text]
        found = search(held.store.file, f'"{passage.text}"', limit=1000)
        assert sorted((other for other in found if other.text == passage.text), key=order) == sorted(same, key=order)
    held.store.file.write("INSERT INTO passages_fts (passages_fts) VALUES ('integrity-check')")


def test_a_thought_that_is_thought_again_is_found_as_it_is_now(store: SqlStore) -> None:
    def think(thought: str) -> None:
        step = Assessment(situation="", thought=thought, emotion="calm", emotion_strength=0, done=())
        store.save_step("k3f9", 1, "Ana", "assess", step)

    think("the heron is asleep")
    think("the otter is awake")
    assert search(store.file, "heron") == []
    assert search(store.file, "otter") == [Passage("k3f9", 1, "Ana", "thought", "the otter is awake")]
    assert store.file.rows("SELECT rowid FROM passages_fts WHERE passages_fts MATCH 'asleep'") == []
    assert store.file.rows("SELECT count(*) AS n FROM passages WHERE kind = 'thought'") == [{"n": 1}]
    store.file.write("INSERT INTO passages_fts (passages_fts) VALUES ('integrity-check')")
