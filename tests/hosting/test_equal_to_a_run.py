"""The same seed and people say the same lines in a graph of a user's own as in a run."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.hosted import HELLO, PEOPLE, graph_of, thread

import tertulia as tt
import tertulia.langgraph

CY = {"name": "Cy", "goals": ["buy the boat"]}
ROUNDS = 6


def lines_of_host(node: Any) -> list[tuple[str, str]]:
    """Invoke a graph once a round, and return the lines that it has said up to the end of the conversation."""
    graph = graph_of(node, InMemorySaver())
    for _ in range(ROUNDS):
        state = graph.invoke(HELLO, thread())
        if (state.get("utterance") or {}).get("ended"):
            break
    return [(message.name, message.content) for message in state["messages"]]


def lines_of_run(start: Any, folder: Path, seed: int, **settings: Any) -> list[tuple[str, str]]:
    run = tt.run(
        start, seed=seed, rounds=ROUNDS, rehearse=True, removal_factor=0.5, settings=settings,
        store=folder / "run.db", progress=False,
    )  # fmt: skip
    return [(turn.speaker, turn.text) for turn in run.turns if turn.speaker is not None]


SEEDS = [1, 5, pytest.param(range(1, 21), marks=pytest.mark.full)]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_dialogue(tmp_path: Path, seeds: int | range) -> None:
    case = tt.Case(
        "langgraph", [tt.Person(**person) for person in PEOPLE], time="2026-05-06 15:00", description=HELLO["topic"]
    )
    for seed in [seeds] if isinstance(seeds, int) else seeds:
        speak = tertulia.langgraph.utterance(
            PEOPLE, model="rehearsal", removal_factor=0.5, seed=seed, store=str(tmp_path / "host.db")
        )
        assert lines_of_host(speak) == lines_of_run(case, tmp_path, seed)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_meeting_with_its_minds_in_the_state(tmp_path: Path, seeds: int | range) -> None:
    people = [*PEOPLE, CY]
    meeting = tt.Meeting(
        HELLO["topic"], [tt.Person(**person) for person in people], time="2026-05-06 15:00",
        description="Ana, Bo and Cy talk.",
    )  # fmt: skip
    for seed in [seeds] if isinstance(seeds, int) else seeds:
        talk = tertulia.langgraph.group_chat(
            people, model="rehearsal", removal_factor=0.5, seed=seed, store=str(tmp_path / "host.db")
        )
        # A graph of a user's own has no half hour after which it ends.
        assert lines_of_host(talk) == lines_of_run(meeting, tmp_path, seed, max_minutes=None)
