"""What agents recall and thought in a long meeting: as the definitions have it, from what is kept or read anew."""

import itertools
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from support.dialogue_case import a_context, a_memory
from support.meeting_case import a_quay, an_attendee
from support.stored import a_run

from tertulia.nodes.meeting.past import Thoughts, recall_in_meeting
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.memory import retrieve_memories
from tertulia.prompts.cognition import line_of
from tertulia.state.cognition import Assessment, Perception
from tertulia.state.context import Context, RunCache
from tertulia.state.graph_state import cognition_of, first_state
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import Memory, Turn, TurnRecord

QUERIES = ("the crane", "a boat at the quay", "who pays", "nothing of the kind")
LINES = ("The crane is broken.", "Who pays for it?", "My boat leaks.", "Is it about the quay?", "Bo is idle", "Hm.")

#: Memories with a text that stands twice, one that is also said, and one that nobody recalls.
MEMORIES = (
    a_memory(1, "The crane cost nine thousand.", 9),
    a_memory(2, "Ana: Hm.", 8),
    a_memory(3, "The crane cost nine thousand.", 7, importance=8),
    a_memory(4, "Ana is idle", 6),
    a_memory(5, "Gulls sleep on one leg.", 5, importance=1),
)


def a_long_quay() -> Meeting:
    ana = an_attendee("Ana", memories=MEMORIES)
    return a_quay(participants=(ana, an_attendee("Bo", memories=()), an_attendee("Cy")))


def write_rounds(context: Context, first: int, last: int, seed: int, run: str = "k3f9") -> None:
    """Store what rounds leave: a turn, and what everybody perceived and thought; drawn, texts and times repeat."""
    for round in range(first, last + 1):
        drawn = random.Random(f"{seed} {round}")
        for name in context.meeting.names:
            noticed = drawn.random() < 0.7
            importance = drawn.choice((2.0, 5.0, 5.0, 10 * drawn.random()))
            perception = Perception(
                turn=round - 1, similarities={}, relevance=0.5, named=False, noticed=noticed, importance=importance
            )
            context.store.save_step(run, round, name, "perceive", perception)
            thought = drawn.choice((*LINES, f"I count {drawn.randrange(50)} boats."))
            assessment = Assessment(situation="", thought=thought, emotion="calm", emotion_strength=0.5, done=())
            context.store.save_step(run, round, name, "assess", assessment)
        speaker = drawn.choice((*context.meeting.names, None))
        text = "" if speaker is None else drawn.choice((*LINES, f"The {round % 7}th boat, number {round}."))
        seconds = 8.0 * (round - round % 2) + 1 / 3  # two at the same moment
        turn = Turn(turn=round, round=round, speaker=speaker, text=text, sim_time_s=seconds, ended=False)
        context.store.save_turn(run, TurnRecord(turn=turn))


def a_view(context: Context, name: str, round: int, **mind: Any) -> View:
    start: Any = first_state(context.meeting)
    minds = {agent: {**start["minds"][agent], **(mind if agent == name else {})} for agent in context.meeting.names}
    return View.of(cognition_of({**start, "round": round, "sim_time_s": 8.0 * round, "minds": minds}, name), context)


def noticed_before(view: View) -> list[Memory]:
    """The definition: turns that the agent noticed and no longer has in working memory, all read anew."""
    store, run = view.context.store, view.context.run
    importance = {
        perception.turn: perception.importance
        for (round, agent), perception in store.steps(run, "perceive", Perception).items()
        if agent == view.name and perception.noticed and round <= view.round
    }
    return [
        Memory(
            id=f"turn_{turn.turn}",
            kind="event",
            text=line_of(turn),
            created=view.meeting.time + timedelta(seconds=turn.sim_time_s),
            importance=importance[turn.turn],
        )
        for turn in store.turns(run, 1, view.round - 1)
        if turn.speaker is not None and turn.turn in importance and turn.turn not in view.mind["noticed"]
    ]


def defined(view: View, query: str, parameters: Parameters) -> list[Memory]:
    stream = [*view.agent.memories, *noticed_before(view)]
    return retrieve_memories(stream, [query], view.now, view.context.embedder, parameters)


@pytest.mark.parametrize("seed", [1, 4])
def test_what_is_recalled_is_what_retrieval_from_the_whole_stream_recalls(seed: int) -> None:
    context, drawn = a_context(start=a_long_quay()), random.Random(seed)
    parameters = context.parameters.model_copy(
        update={"memory_items_min": 3, "memory_items_max": drawn.choice((1, 3, 9))}
    )
    write_rounds(context, 1, 100, seed)
    found = 0
    for round in sorted(drawn.sample(range(1, 101), 25)):
        name, query = drawn.choice(context.meeting.names), drawn.choice(QUERIES)
        noticed = sorted(drawn.sample(range(round), min(round, drawn.randrange(9))))
        view = a_view(context, name, round, noticed=noticed)
        expected = defined(view, query, parameters)
        assert recall_in_meeting(view, query, parameters) == expected
        elsewhere = replace(context, kept=RunCache())  # as a run that goes on in another process
        assert recall_in_meeting(a_view(elsewhere, name, round, noticed=noticed), query, parameters) == expected
        found += sum(memory.id.startswith("turn_") for memory in expected)
    assert found > 10
    early = a_view(context, "Bo", 3)
    assert recall_in_meeting(early, "the crane", parameters) == defined(early, "the crane", parameters)


def test_a_fork_recalls_what_its_parent_noticed_until_then() -> None:
    parent = a_context(start=a_long_quay())
    write_rounds(parent, 1, 50, seed=1)
    record = a_run(run="f0rk", parent=("k3f9", 31))
    parent.store.create_run(record, parent.start)
    fork = replace(parent, run="f0rk", kept=RunCache())
    write_rounds(fork, 31, 50, seed=2, run="f0rk")
    for context, round, query in itertools.product((fork, parent), (20, 31, 40, 50), QUERIES):
        view = a_view(context, "Ana", round, noticed=[round - 1])
        assert recall_in_meeting(view, query, context.parameters) == defined(view, query, context.parameters)


def test_thoughts_are_the_same_read_round_by_round_and_at_once() -> None:
    context = a_context(start=a_long_quay())
    write_rounds(context, 1, 60, seed=3)
    for round in range(1, 61):
        spoke = max((end for end in (20, 21, 45) if end < round), default=0)
        steps = (context.store.step("k3f9", at, "Bo", "assess", Assessment) for at in range(spoke + 1, round + 1))
        expected = context.embedder.embed([step.thought for step in steps if step is not None])
        found = Thoughts.of(a_view(context, "Bo", round, spoke=spoke))
        assert found.tolist() == expected
        assert np.array_equal(found, Thoughts.of(a_view(replace(context, kept=RunCache()), "Bo", round, spoke=spoke)))
