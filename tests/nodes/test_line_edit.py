"""A pause before a line: it is held, let pass without a changed digit, or rewritten; a crash loses nothing."""

import asyncio
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context, a_pier
from support.meeting_case import a_quay
from support.scripted import ScriptedModel
from support.store_checks import differences

from tertulia.nodes.conversation.line_edit import pause_is_due, put_words
from tertulia.runs.driving import held_line
from tertulia.runs.driving.conversation import drive
from tertulia.state.context import Context
from tertulia.state.errors import LeftError
from tertulia.state.line_edit import EDITED, EDITED_ATTEMPT, HELD, PAUSED, HeldLine, LineEdit, Pause
from tertulia.state.meeting import Start
from tertulia.state.records import Candidate, Reply, Turn
from tertulia.storage.store import SqlStore

RUN = "k3f9"
STARTS = [pytest.param(a_pier(), id="dialogue"), pytest.param(a_quay(), id="meeting")]


def a_run_of(start: Start, **settings: Any) -> Context:
    return a_context(
        ScriptedModel(endings=repeat(False)), settings.pop("store", None), start, **{"max_turns": 4, **settings}
    )


def pause(context: Context, round: int, wanted: bool = True) -> None:
    context.store.save_step(RUN, round, "", PAUSED, Pause(wanted=wanted))


async def held(context: Context) -> HeldLine:
    """The line that is held, once there is one."""
    for _ in range(400):
        waiting = [
            line
            for (round, _), line in context.store.steps(RUN, HELD, HeldLine).items()
            if context.store.step(RUN, round, "", EDITED, LineEdit) is None
        ]
        if waiting:
            return waiting[0]
        await asyncio.sleep(0.02)
    raise AssertionError("no line was held")


async def driven(context: Context, *words: str | None) -> list[Turn]:
    """Hold the conversation to its end, and give these words to the lines that are held."""

    async def answer() -> None:
        for said in words:
            line = await held(context)
            context.store.save_step(RUN, line.round, "", EDITED, LineEdit(words=said))

    await asyncio.gather(drive(context, InMemorySaver()), answer())
    return context.store.turns(RUN)


def first_spoken(turns: list[Turn], after: int = 0) -> Turn:
    return next(turn for turn in turns if turn.speaker and turn.turn > after)


@pytest.mark.parametrize("start", STARTS)
async def test_a_line_that_is_let_pass_changes_no_digit(start: Start) -> None:
    plain, paused = a_run_of(start), a_run_of(start)
    pause(paused, 1)
    assert await driven(paused, None) == await driven(plain)
    found = differences((plain.store, RUN), (paused.store, RUN))  # type: ignore[arg-type]
    of_the_pause = tuple(f"'{node}'" for node in (PAUSED, HELD, EDITED))
    assert [line for line in found if not any(node in line for node in of_the_pause)] == []


@pytest.mark.parametrize("start", STARTS)
async def test_a_rewritten_line_is_said_and_recorded_with_what_it_replaced(start: Start) -> None:
    plain, paused = a_run_of(start), a_run_of(start)
    was = first_spoken(await driven(plain))
    pause(paused, 1)
    turns = await driven(paused, "I have changed my mind.")
    now = first_spoken(turns)
    assert (now.turn, now.speaker, now.sim_time_s) == (was.turn, was.speaker, was.sim_time_s)
    assert (now.text, now.ended) == ("I have changed my mind.", False)
    *made, written = paused.store.candidates(RUN, now.turn)
    assert (written.attempt, written.origin) == (EDITED_ATTEMPT, "by_hand")
    assert written.remark == f"written by a person in the place of candidate {len(made)}"
    assert was.text in {candidate.text for candidate in paused.store.candidates(RUN, now.turn)}
    record = paused.store.turn_record(RUN, now.turn)
    before = plain.store.turn_record(RUN, was.turn)
    assert (record.chosen, record.prompt, record.scores) == (EDITED_ATTEMPT, before.prompt, before.scores)
    assert paused.store.summaries(RUN)[now.turn].edited  # type: ignore[attr-defined]
    assert not paused.store.summaries(RUN)[now.turn].by_hand  # type: ignore[attr-defined]
    assert not plain.store.summaries(RUN)[was.turn].edited  # type: ignore[attr-defined]


def test_the_replaced_candidate_is_counted_by_its_place_as_everywhere() -> None:
    """A rewritten one has an attempt beyond all that may be drawn, and a draft that made no sense counts nowhere."""
    context = a_run_of(a_pier())
    reply = Reply(text="Hm.", tokens=(), text_tokens=(0, 0), fields={})
    for attempt, origin in ((0, "drawn"), (1, "backup"), (6, "rewritten"), (1000, "vetoed")):
        context.store.save_candidate(RUN, 1, Candidate(attempt=attempt, text="Hm.", reply=reply, origin=origin))
    state = {"turn": 1, "speaker": "Ana", "chosen": 6}
    for words in ("Go home.", "Go home now."):
        state |= put_words(state, context, words)
        *_, written = context.store.candidates(RUN, 1)
        assert (written.text, written.remark) == (words, "written by a person in the place of candidate 3")


async def test_one_pause_holds_one_line_and_what_is_taken_back_none() -> None:
    context = a_run_of(a_pier())
    pause(context, 2)
    turns = await driven(context, "Only this.")
    assert [turn.text == "Only this." for turn in turns] == [False, True, False, False]
    taken_back = a_run_of(a_pier())
    pause(taken_back, 1, wanted=False)
    assert len(await driven(taken_back)) == 4


async def test_a_process_that_ends_while_a_line_is_held_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = a_run_of(a_pier())
    pause(undisturbed, 2)
    await driven(undisturbed, "Said after all.")
    context = a_run_of(a_pier(), store=SqlStore.open(tmp_path / "t.db", create=True))
    pause(context, 2)
    checkpointer = InMemorySaver()
    monkeypatch.setattr(held_line.wait_for_edit, "__defaults__", (0.1,))
    with pytest.raises(LeftError, match=r"turn 2 was held, and nobody has let it pass"):
        await drive(context, checkpointer)
    assert context.store.run(RUN).turns == 1
    assert (await held(context)).turn == 2
    context.store.save_step(RUN, 2, "", EDITED, LineEdit(words="Said after all."))
    await drive(context, checkpointer)
    assert differences((undisturbed.store, RUN), (context.store, RUN)) == []  # type: ignore[arg-type]


async def test_a_fork_takes_over_no_pause() -> None:
    context = a_run_of(a_pier())
    await driven(context)
    pause(context, 2)
    assert pause_is_due(context.store, RUN, 3)
    store = context.store
    fork = store.run(RUN).model_copy(update={"run": "n2p4", "parent": (RUN, 4), "turns": 0})
    store.create_run(fork, store.start(RUN))
    assert not pause_is_due(store, "n2p4", 4)
