"""What is stored of a meeting: by its seed the same, whole after a failure, small, and every prompt and reply."""

import json
import sqlite3
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from support.dialogue_case import a_context
from support.meeting_case import a_quay, an_attendee, eager, held, with_people
from support.scripted import ScriptedModel
from support.stored import STEPS

from tertulia.nodes.mechanisms import registry
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.errors import ModelError
from tertulia.state.records import Turn
from tertulia.storage.sqlite.checkpoints import open_checkpoints
from tertulia.storage.store import SqlStore


def everything(store: SqlStore, run: str = "k3f9") -> dict[str, Any]:
    """All that is stored of a run of a group, but for what only tells of the process."""
    kinds = {**STEPS, **dict.fromkeys(registry.MECHANISMS, Finding)}
    return {
        "turns": [(store.turn_record(run, t.turn), store.candidates(run, t.turn)) for t in store.turns(run)],
        "steps": {node: store.steps(run, node, kind) for node, kind in kinds.items()},
        "calls": [call.model_copy(update={"seconds": None}) for call in store.calls(run)],
    }


# --- the same again -------------------------------------------------------------------------------------------------


async def test_the_seed_makes_the_meeting() -> None:
    (first, _), (again, _), (_other, turns) = [await held(seed=seed, max_turns=2) for seed in (7, 7, 8)]
    assert everything(first.store) == everything(again.store)
    assert [turn.text for turn in turns] != [turn.text for turn in first.store.turns("k3f9")]


async def driven(path: Path, model: ScriptedModel) -> dict[str, Any]:
    with SqlStore.open(path, create=True) as store:
        context = a_context(model, store, a_quay(), max_turns=3, removal_factor=0.5)
        async with open_checkpoints(path) as checkpointer:
            await drive(context, checkpointer)
        return everything(store)


async def test_a_meeting_goes_on_from_any_call_in_which_the_model_fails(tmp_path: Path) -> None:
    model = ScriptedModel()
    whole = await driven(tmp_path / "whole.db", model)
    for call in (1, len(model.calls) // 2, len(model.calls)):
        path, failing = tmp_path / f"{call}.db", ScriptedModel(fails_at=call)
        with pytest.raises(ModelError, match=f"in call {call}"):
            await driven(path, failing)
        going_on = ScriptedModel()
        assert await driven(path, going_on) == whole
        assert len(going_on.asked("generate_batch")) <= len(model.asked("generate_batch"))


async def test_calls_of_a_round_that_were_stored_are_not_made_again(tmp_path: Path) -> None:
    model = ScriptedModel()
    await driven(tmp_path / "whole.db", model)
    batches = [at for at, (name, _) in enumerate(model.calls, start=1) if name == "generate_batch"]
    last = batches[-1]
    with pytest.raises(ModelError):
        await driven(tmp_path / "broken.db", ScriptedModel(fails_at=last))
    again = ScriptedModel()
    await driven(tmp_path / "broken.db", again)
    assert len(again.asked("generate_batch")) == 1


# --- what is stored -------------------------------------------------------------------------------------------------


async def test_checkpoints_hold_no_text_and_storage_grows_linearly(tmp_path: Path) -> None:
    path, sizes = tmp_path / "tertulia.db", {}
    with SqlStore.open(path, create=True) as store:
        context = a_context(ScriptedModel(), store, a_quay(), max_turns=12, max_minutes=100)
        async with open_checkpoints(path) as checkpointer:

            def measure(event: Event) -> None:
                if isinstance(event, TurnFinished) and event.turn.turn % 4 == 0:
                    sizes[event.turn.turn] = bytes_of(checkpointer.conn)

            await drive(context, checkpointer, measure)
            held = b"".join(row[0] for row in checkpointer.conn.execute("SELECT checkpoint FROM checkpoints"))
            (rows,) = checkpointer.conn.execute("SELECT count(*) FROM checkpoints").fetchone()
    assert rows == 12
    for step in store_texts(path):
        assert step.encode() not in held
    rounds = [(sizes[turn] - sizes[turn - 4]) / 4 for turn in range(8, 13, 4)]
    assert rounds[-1] <= 1.2 * rounds[0]
    assert max(rounds) <= 96_000


def bytes_of(connection: sqlite3.Connection) -> int:
    (pages,), (size,), (free,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size", "freelist_count")
    )
    return int((pages - free) * size)


def store_texts(path: Path) -> list[str]:
    with SqlStore.open(path) as store:
        assessed = store.steps("k3f9", "assess", Assessment).values()
        return [assessment.thought for assessment in assessed] + [
            turn.text for turn in store.turns("k3f9") if turn.text
        ]


async def test_every_prompt_and_reply_is_readable_afterwards() -> None:
    context, turns = await held(max_turns=3, removal_factor=0.5)
    calls = context.store.calls("k3f9")
    assert {call.node for call in calls} >= {"choose_mechanisms", "assess"}
    for call in calls:
        prompt = context.store.prompt(call.prompt)
        assert prompt.units[-1].text.startswith("Answer with one JSON object")
        assert all(json.loads(reply.text) for reply in call.replies)
    spoken: Turn = next(turn for turn in turns if turn.speaker)
    record = context.store.turn_record("k3f9", spoken.turn)
    assert record.prompt is not None
    blocks = context.store.prompt(record.prompt).blocks()
    assert "situation" in blocks
    assert record.scores is not None


async def test_goals_findings_and_thought_are_blocks_of_the_utterance() -> None:
    """g and r may be removed by λ, s and c may not; r holds what the speaker's mechanisms returned."""
    context, turns = await held(
        with_people(an_attendee("Ana", **eager(goals=a_quay().participants[0].goals)), an_attendee("Bo")),
        model=ScriptedModel(endings=repeat(True)),
        max_turns=4,
        removal_factor=1,
        judge="off",
    )
    spoken = next(turn for turn in turns if turn.speaker == "Ana" and turn.turn > 1)
    record = context.store.turn_record("k3f9", spoken.turn)
    assert record.prompt is not None
    units = context.store.prompt(record.prompt).units
    removable = {unit.block for unit in units if unit.removable}
    assert {"goals", "mechanisms", "memory", "basic_info", "environment"} <= removable
    assert not removable & {"situation", "current_dialogue"}
    order = list(dict.fromkeys(unit.block for unit in units))
    assert order.index("environment") < order.index("goals") < order.index("mechanisms") < order.index("situation")
    assessment = context.store.step("k3f9", spoken.round, "Ana", "assess", Assessment)
    assert assessment is not None
    assert any(assessment.thought in unit.text for unit in units if unit.block == "situation")
    finding = context.store.step("k3f9", spoken.round, "Ana", "time_analysis", Finding)
    assert finding is not None
    assert {f"- {line}" for line in finding.lines} <= {unit.text for unit in units if unit.block == "mechanisms"}
    assert {unit.id for unit in units if unit.removable} <= set(record.removed)
