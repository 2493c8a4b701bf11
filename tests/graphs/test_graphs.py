"""The paths of the two graphs, where a conversation ends, and that it goes on from anywhere as if nothing had been."""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from support.dialogue_case import BEGINNING, a_context, a_pier
from support.scripted import ScriptedModel
from support.store_content import content
from support.stored import a_run

from tertulia.graphs.album_chat import build_album_chat_graph, build_exchange_graph
from tertulia.graphs.cognition import build_cognition_graph
from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.graphs.group_chat import build_group_chat_graph
from tertulia.graphs.town import build_town_graph
from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.batching import BatchingBroker
from tertulia.runs.catalog.drawing import GRAPHS, draw_graph
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.events import Event, StepStarted, TurnFinished
from tertulia.state.cognition import Trace
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, StorageError
from tertulia.state.graph_state import UtteranceOutput
from tertulia.state.records import Candidate, TurnRecord
from tertulia.storage.sqlite.checkpoints import open_checkpoints
from tertulia.storage.store import SqlStore

GRAPHS_PAGE = Path(__file__).parents[2] / "docs" / "graphs.md"
START = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
#: With a threshold at which the stand-in's draws are seldom all consistent, so that there are rollbacks.
SETTINGS = {"removal_factor": 0.5, "max_turns": 4, "inconsistency_threshold": 5}

Steps = list[tuple[str, int]]
Conversation = list[tuple[TurnRecord, list[Candidate]]]


def going_on(**script: Any) -> ScriptedModel:
    """A model whose replies never end the conversation."""
    return ScriptedModel(endings=repeat(False), **script)


def conversation(store: SqlStore) -> Conversation:
    """All that is stored of the turns of the run."""
    numbers = [turn.turn for turn in store.turns("k3f9")]
    return [(store.turn_record("k3f9", number), store.candidates("k3f9", number)) for number in numbers]


def note(steps: Steps, event: Event) -> None:
    """Add a step that begins, or a turn that is stored, with its turn."""
    match event:
        case StepStarted():
            steps.append((event.step, event.turn))
        case TurnFinished():
            steps.append(("turn_done", event.turn.turn))


async def driven(path: Path, context: Context) -> Steps:
    """Drive a run with checkpoints in a file, and return the steps that were told."""
    steps: Steps = []
    async with open_checkpoints(path) as checkpointer:
        await drive(context, checkpointer, lambda event: note(steps, event))
    return steps


async def driven_anew(path: Path, **given: Any) -> tuple[Conversation, Steps]:
    """Drive the run in a file with another model and other connections, as another process would."""
    with SqlStore.open(path, create=True) as store:
        context = a_context(given.pop("model", going_on()), store, **{**SETTINGS, **given})
        steps = await driven(path, context)
        return conversation(store), steps


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "ratings", "path"),
    [
        ({"removal_factor": 0}, [], "retrieve_memory generate sense"),
        ({"removal_factor": 0, "record_scores": "true"}, [], "retrieve_memory score prune generate sense"),
        ({"removal_factor": 0, "judge_baseline": "true"}, [10], "retrieve_memory generate sense judge"),
        ({"judge": "off"}, [], "retrieve_memory score prune generate sense"),
        ({"removal_factor": 0, "judge_baseline": "true", "record_scores": "true"}, [10],
         "retrieve_memory score prune generate sense judge"),
        ({"removal_factor": 0.00001}, [10], "retrieve_memory score prune generate sense"),
        ({"removal_factor": 0.00001, "judge_baseline": "true"}, [10], "retrieve_memory score prune generate sense"),
        ({}, [6], "retrieve_memory score prune generate sense judge"),
        ({}, [7, 6], "retrieve_memory score prune generate sense judge roll_back sense judge"),
        ({"max_rollbacks": 16}, [9] * 20,
         "retrieve_memory score prune generate sense judge" + " roll_back sense judge" * 16),
        ({"max_rollbacks": 0}, [9], "retrieve_memory score prune generate sense judge"),
    ],
)  # fmt: skip
async def test_an_utterance_takes_this_path(settings: dict[str, Any], ratings: list[int], path: str) -> None:
    context = a_context(going_on(ratings=ratings), judge_runs=1, **settings)
    events = build_utterance_graph().astream(START, context=context, stream_mode="tasks", version="v2")
    steps = [event["data"]["name"] async for event in events if "input" in event["data"]]
    assert steps == ["begin_utterance", *path.split(), "select_candidate", "score_line", "decide_ending"]


async def test_an_utterance_gives_what_a_turn_keeps_and_no_more() -> None:
    outcome = await build_utterance_graph().ainvoke(START, context=a_context())
    assert set(outcome) == set(UtteranceOutput.__annotations__)


async def test_nothing_of_the_turn_before_stays_in_the_next_one() -> None:
    context = a_context(going_on(ratings=[9, 9, 9, 9, 1]), judge_runs=1, max_turns=2)
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    (first, backups), (second, only) = conversation(context.store)
    assert (first.rollbacks, first.chosen, len(backups)) == (3, 0, 4)
    assert (second.rollbacks, second.chosen, len(only)) == (0, 0, 1)


# --- where a dialogue ends ------------------------------------------------------------------------------------------


async def outcome(model: ScriptedModel, **settings: Any) -> list[tuple[str | None, bool]]:
    context = a_context(model, **settings)
    async with open_checkpoints(":memory:") as checkpointer:
        await drive(context, checkpointer)
    return [(turn.speaker, turn.ended) for turn in context.store.turns("k3f9")]


async def test_a_dialogue_alternates_until_the_longest_there_is() -> None:
    assert await outcome(going_on(), max_turns=3) == [("Mara", False), ("Piotr", False), ("Mara", False)]
    assert len(await outcome(going_on(), removal_factor=0)) == 16


@pytest.mark.parametrize("last", [1, 3])
async def test_a_dialogue_stops_when_somebody_ends_it(last: int) -> None:
    endings = [False] * (last - 1) + [True]
    model = ScriptedModel(endings=endings)
    assert [ended for _, ended in await outcome(model, judge="off")] == endings
    assert model.asked("probabilities") == []


# --- what is stored -------------------------------------------------------------------------------------------------


def bytes_in(connection: sqlite3.Connection) -> int:
    """The bytes of all values in all tables (a file grows by pages: too coarse to compare a few turns)."""
    total = 0
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [
            f'ifnull(length(CAST("{column[1]}" AS BLOB)), 0)'
            for column in connection.execute(f"PRAGMA table_info({table})")
        ]
        total += connection.execute(f"SELECT total({' + '.join(columns)}) FROM {table}").fetchone()[0]
    return total


async def test_a_turn_leaves_one_checkpoint_and_storage_grows_linearly(tmp_path: Path) -> None:
    path, sizes = tmp_path / "tertulia.db", {}
    with SqlStore.open(path, create=True) as store:
        # Without rollbacks turns store about as much as one another.
        context = a_context(going_on(), store, a_pier(memories=20), max_turns=16, max_rollbacks=0)
        async with open_checkpoints(path) as checkpointer:

            def measure(event: Event) -> None:
                if isinstance(event, TurnFinished):
                    turn = event.turn.turn
                    if turn % 4 == 0:
                        sizes[turn] = bytes_in(checkpointer.conn)
                    (checkpoints,) = checkpointer.conn.execute("SELECT count(*) FROM checkpoints").fetchone()
                    assert checkpoints == turn

            await drive(context, checkpointer, measure)
            named = checkpointer.conn.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints").fetchall()
            (largest,) = checkpointer.conn.execute("SELECT max(length(checkpoint)) FROM checkpoints").fetchone()
    assert named == [("",)]
    assert largest < 12_000
    early, later, last = (sizes[turn] - sizes[turn - 4] for turn in (8, 12, 16))
    assert 0 < later <= 1.2 * early
    assert last <= 1.2 * later


async def test_checkpoints_hold_no_text(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    said, _ = await driven_anew(path)
    async with open_checkpoints(path) as checkpointer:
        held = b"".join(row[0] for row in checkpointer.conn.execute("SELECT checkpoint FROM checkpoints"))
    for record, _ in said:
        assert record.turn.text.encode() not in held
    assert b"thought of the" not in held


# --- interrupted and resumed ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    transcript, steps = asyncio.run(driven_anew(tmp_path_factory.mktemp("uninterrupted") / "tertulia.db"))
    for step in ("take_turn", "generate", "record_turn", "turn_done"):
        assert [turn for name, turn in steps if name == step] == [1, 2, 3, 4]
    assert [record.turn.round for record, _ in transcript] == [1, 2, 3, 4]
    assert any(record.rollbacks for record, _ in transcript)
    return transcript


async def test_a_run_goes_on_from_any_call_in_which_the_model_fails(
    tmp_path: Path, uninterrupted: Conversation
) -> None:
    model = going_on()
    await driven_anew(tmp_path / "counted.db", model=model)
    for call in (1, *range(5, len(model.calls), 12), len(model.calls)):
        path = tmp_path / f"{call}.db"
        with pytest.raises(ModelError, match=f"in call {call}"):
            await driven_anew(path, model=going_on(fails_at=call))
        with SqlStore.open(path) as store:
            whole = len(store.turns("k3f9"))
        transcript, steps = await driven_anew(path)
        assert transcript == uninterrupted
        assert [turn for step, turn in steps if step == "turn_done"] == list(range(whole + 1, 5))
        assert {turn for _, turn in steps} == set(range(whole + 1, 5))


class CopiedStore(SqlStore):
    """Calls back when something was written, so that a test can see what a kill at that moment would leave."""

    on_write: Callable[[], None] = staticmethod(lambda: None)

    def save_candidate(self, run: str, turn: int, candidate: Candidate, part: str = "") -> None:
        super().save_candidate(run, turn, candidate, part)
        self.on_write()

    def save_turn(self, run: str, record: TurnRecord, parts: Mapping[str, TurnRecord] | None = None) -> None:
        super().save_turn(run, record, parts)
        self.on_write()


async def test_a_run_goes_on_from_whatever_moment_it_was_killed(tmp_path: Path, uninterrupted: Conversation) -> None:
    path, copies = tmp_path / "tertulia.db", []

    def copy() -> None:
        copies.append(tmp_path / f"copy_{len(copies)}.db")
        for ending in ("", "-wal"):
            if (file := path.with_name(path.name + ending)).exists():
                shutil.copy(file, copies[-1].with_name(copies[-1].name + ending))

    with CopiedStore.open(path, create=True) as store:
        store.on_write = copy
        context = a_context(going_on(), store, **SETTINGS)
        async with open_checkpoints(path) as checkpointer:
            await drive(context, checkpointer, lambda _: copy())
        assert conversation(store) == uninterrupted
    assert len(copies) > 40
    for left in copies[1::11]:  # of each turn, and of each kind of moment
        transcript, _ = await driven_anew(left)
        assert transcript == uninterrupted


class FailingStore(SqlStore):
    """Can't store the trace of a turn."""

    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        if turn == 2:
            raise StorageError("the disk is full")
        super().save_trace(run, turn, trace)


async def test_a_turn_is_stored_with_its_trace_or_not_at_all(tmp_path: Path, uninterrupted: Conversation) -> None:
    path = tmp_path / "tertulia.db"
    with FailingStore.open(path, create=True) as store:
        context = a_context(going_on(), store, **SETTINGS)
        async with open_checkpoints(path) as checkpointer:
            with pytest.raises(StorageError, match="the disk is full"):
                await drive(context, checkpointer)
        assert len(store.turns("k3f9")) == 1
        assert store.trace("k3f9", 1) is not None
    transcript, _ = await driven_anew(path)
    assert transcript == uninterrupted


async def test_driving_a_finished_run_does_nothing(tmp_path: Path) -> None:
    path, model = tmp_path / "tertulia.db", going_on()
    transcript, _ = await driven_anew(path)
    before = content(path)
    assert await driven_anew(path, model=model) == (transcript, [])
    assert model.calls == []
    assert content(path) == before


async def test_runs_in_one_store_do_not_meet(tmp_path: Path, uninterrupted: Conversation) -> None:
    path = tmp_path / "tertulia.db"
    with SqlStore.open(path, create=True) as store:
        context = a_context(going_on(), store, **SETTINGS)
        store.create_run(a_run("m2aa"), context.start)
        other = replace(context, run="m2aa", seed=8, broker=BatchingBroker("m2aa", store))
        await driven(path, other)
        await driven(path, context)
        assert conversation(store) == uninterrupted


# --- drawings -------------------------------------------------------------------------------------------------------


DRAWN: dict[str, Any] = {
    "Utterance": build_utterance_graph,
    "Dialogue": build_dialogue_graph,
    "Cognition": build_cognition_graph,
    "Group-chat": build_group_chat_graph,
    "Town": build_town_graph,
    "Exchange": build_exchange_graph,
    "Album-chat": build_album_chat_graph,
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_page_on_the_graphs_shows_them_as_they_are(name: str) -> None:
    graph = DRAWN[name]()
    page = GRAPHS_PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {name} graph\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", section, re.DOTALL)
    drawn = name.lower().replace("-", "_")
    xray = name not in ("Exchange", "Album-chat")
    assert drawing == (draw_graph(drawn, xray=xray).mermaid if drawn in GRAPHS else graph.get_graph().draw_mermaid())
    for node in graph.builder.nodes:
        assert f"`{node}`" in section
