"""Kill it anywhere: what `make soak` does two hundred times, twenty times; and that it sees what it looks for."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.forked import Forked
from support.meeting_case import a_quay, held

from benchmarks.soak import commands_of, soak
from benchmarks.store_checks import differences, faults
from state.cognition import Assessment, Finding
from state.records import Reply
from storage.store import SqliteStore

RUN = "k3f9"


def test_twenty_kills(tmp_path: Path) -> None:
    kills = soak(commands_of("rehearsal", rounds=6), 20, seed=1, folder=tmp_path, seeds=1, start=Forked)
    assert len(kills) == 20
    assert any(kill.calls for kill in kills), "no kill met a turn under way"


# --- it would see it ------------------------------------------------------------------------------------------------


def a_word_more(store: SqliteStore) -> None:
    candidate = store.candidates(RUN, 3)[0]
    store.save_candidate(RUN, 3, candidate.model_copy(update={"text": candidate.text + "!"}))


def another_step(store: SqliteStore) -> None:
    (_, agent), said = min(store.steps(RUN, "assess", Assessment).items())
    store.save_step(RUN, 1, agent, "assess", said.model_copy(update={"emotion_strength": 0.123}))


def a_step_too_many(store: SqliteStore) -> None:
    store.save_step(RUN, 2, "Ana", "one_of_her_own", Finding())


def another_reply(store: SqliteStore) -> None:
    call = store.calls(RUN)[7]
    reply = Reply(text="no", tokens=(1,), text_tokens=(0, 1), fields={})
    store.save_calls(RUN, [call.model_copy(update={"replies": (reply,)})])


def the_same_call_again(store: SqliteStore) -> None:
    store.save_calls(RUN, store.calls(RUN)[7:8])


def another_state(store: SqliteStore) -> None:
    trace = store.trace(RUN, 2)
    assert trace is not None
    store.save_trace(RUN, 2, trace.model_copy(update={"after": {**trace.after, "sim_time_s": 1.5}}))


def a_turn_less(store: SqliteStore) -> None:
    for table in ("turns", "traces"):
        store.file.write(f"DELETE FROM {table} WHERE turn = 5")


def a_text_of_nobody(store: SqliteStore) -> None:
    store.save_text("Nobody has said this.")


def still_running(store: SqliteStore) -> None:
    store.set_status(RUN, "interrupted")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (a_word_more, ["candidates of turn 3", "text"]),
        (another_step, ["step (1, 'Ana', 'assess'), emotion_strength: ", "0.123"]),
        (a_step_too_many, ["step (2, 'Ana', 'one_of_her_own'): None undisturbed"]),
        (another_reply, ["call", "replies", "'no'"]),
        (the_same_call_again, ["call: the order is another"]),
        (another_state, ["trace of turn 2, after, sim_time_s", "1.5"]),
        (a_turn_less, ["run record, turns: 5 undisturbed, 4 killed"]),
        (a_text_of_nobody, ["text", "None undisturbed"]),
        (still_running, ["run record, status", "'interrupted'"]),
    ],
)
async def test_what_differs_is_named(change: Callable[[SqliteStore], None], named: list[str]) -> None:
    with SqliteStore.open(":memory:") as first, SqliteStore.open(":memory:") as second:
        for store in (first, second):
            await held(a_quay(), store=store)
        assert differences((first, RUN), (second, RUN)) == []
        assert faults(second) == []
        change(second)
        found = "\n".join(differences((first, RUN), (second, RUN)))
        for words in named:
            assert words in found


async def test_a_call_that_was_made_twice_is_counted() -> None:
    with SqliteStore.open(":memory:") as store:
        await held(a_quay(), store=store)
        the_same_call_again(store)
        assert faults(store) == ["1 calls were journalled twice"]
