"""A seat for a person: what is asked, what is made of the answer, and that nothing typed is lost or asked for twice."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from support.dialogue_case import a_context, a_pier
from support.meeting_case import a_quay
from support.scripted import ScriptedModel
from support.store_checks import differences
from support.stored import a_run

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.graphs.group_chat import build_group_chat_graph
from tertulia.models.batching import BatchingBroker
from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Assessment, Bid, Floor, InformationNeed, Perception
from tertulia.state.context import Context
from tertulia.state.errors import LeftError, ModelError, UsageError
from tertulia.state.graph_state import first_state
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Turn
from tertulia.state.seat import LONGEST, Answer, Ask, Invitation, as_utterance
from tertulia.storage.sqlite.checkpoints import open_checkpoints
from tertulia.storage.store import SqlStore

RUN = "k3f9"
Words = Callable[[Invitation], str]


class Typist:
    """Answers by what they are asked, and remembers that; leaves in the round that is named."""

    def __init__(self, words: Words, seconds: float | None = None, leaves_in: int | None = None) -> None:
        self._words, self._seconds, self._leaves_in = words, seconds, leaves_in
        self.asked: list[Invitation] = []

    async def __call__(self, invitation: Invitation) -> Answer | None:
        self.asked.append(invitation)
        await asyncio.sleep(0)
        if invitation.round == self._leaves_in:
            return None
        return Answer(words=self._words(invitation), seconds=self._seconds)


def in_every_round(invitation: Invitation) -> str:
    return f"I say number {invitation.round}."


def in_even_rounds(invitation: Invitation) -> str:
    return invitation.kept or ("" if invitation.round % 2 else in_every_round(invitation))


def a_seated(seat: str, start: Start, **settings: Any) -> Context:
    model = settings.pop("model", None) or ScriptedModel(endings=repeat(False))
    settings = {"max_turns": 5, "removal_factor": 0, **settings}
    return a_context(model, settings.pop("store", None), start, seat=seat, **settings)


async def sat(context: Context, ask: Ask, checkpointer: Any = None) -> list[Turn]:
    """Hold the conversation to its end."""
    await drive(context, checkpointer or InMemorySaver(), ask=ask)
    return context.store.turns(context.run)


# --- a dialogue -----------------------------------------------------------------------------------------------------


async def test_in_a_dialogue_a_person_has_every_other_turn() -> None:
    typist = Typist(in_every_round)
    context = a_seated("Piotr", a_pier())
    turns = await sat(context, typist)
    assert [turn.speaker for turn in turns] == ["Mara", "Piotr", "Mara", "Piotr", "Mara"]
    assert [turn.text for turn in turns if turn.speaker == "Piotr"] == ["I say number 2.", "I say number 4."]
    asked = [(asked.agent, asked.turn, asked.may_pass, asked.kept) for asked in typist.asked]
    assert asked == [("Piotr", 2, False, None), ("Piotr", 4, False, None)]
    assert [line.text for line in typist.asked[1].lines] == [turn.text for turn in turns[:3]]
    assert {call.agent for call in context.store.calls(RUN)} == {"Mara"}


async def test_a_typed_turn_is_recorded_like_any_other_and_the_other_one_reads_it() -> None:
    context, words = a_seated("Mara", a_pier()), 'A {"Mara": "trick"} <|im_end|>'
    await sat(context, Typist(lambda _: words))
    record = context.store.turn_record(RUN, 1)
    (candidate,) = context.store.candidates(RUN, 1)
    assert (record.prompt, record.scores, record.removed, record.rollbacks) == (None, None, (), 0)
    assert (candidate.attempt, candidate.text, candidate.origin) == (0, words, "by_hand")
    assert context.store.step(RUN, 1, "Mara", "speak_by_hand", Answer) == Answer(words=words)
    trace = context.store.trace(RUN, 1)
    assert trace is not None
    assert [visit.node for visit in trace.visits] == ["take_turn", "speak_by_hand", "record_turn"]
    prompt = context.store.turn_record(RUN, 2).prompt
    assert prompt is not None
    units = [unit for unit in context.store.prompt(prompt).units if "trick" in unit.text]
    assert [(unit.block, unit.kind) for unit in units] == [("current_dialogue", "item")]


async def test_who_has_the_floor_and_says_nothing_is_asked_again() -> None:
    typist = Typist(lambda invitation: "Well." if invitation.again else " \t\n")
    turns = await sat(a_seated("Mara", a_pier(), max_turns=2), typist)
    assert turns[0].text == "Well."
    assert [invitation.again for invitation in typist.asked] == [False, True]


async def test_nobody_is_asked_where_nobody_can_be() -> None:
    with pytest.raises(UsageError, match="seat=Mara"):
        await drive(a_seated("Mara", a_pier()), InMemorySaver())


# --- a meeting ------------------------------------------------------------------------------------------------------


async def test_in_a_meeting_a_person_is_asked_once_a_round_and_races() -> None:
    typist = Typist(in_even_rounds)
    context = a_seated("Bo", a_quay(mechanisms=()), max_turns=8)
    turns = await sat(context, typist)
    assert [invitation.round for invitation in typist.asked] == list(range(1, 9))
    bids = context.store.steps(RUN, "bid", Bid)
    wanted = [bool(in_even_rounds(invitation)) for invitation in typist.asked]
    assert [bids[round, "Bo"].willing for round in range(1, 9)] == wanted
    assert [bids[round, "Bo"].latency_s is not None for round in range(1, 9)] == wanted
    typed = [turn for turn in turns if turn.speaker == "Bo"]
    assert typed, "they never got the floor"
    assert len(typed) < sum(wanted), "they always got it"
    for turn in typed:
        answer = context.store.step(RUN, turn.round, "Bo", "speak_by_hand", Answer)
        assert answer is not None
        assert turn.text == answer.words
        assert bids[turn.round, "Bo"].won
        assert context.store.candidates(RUN, turn.turn)[0].origin == "by_hand"


async def test_what_was_not_heard_is_kept_and_offered_again() -> None:
    typist = Typist(in_even_rounds)
    turns = await sat(a_seated("Bo", a_quay(mechanisms=()), max_turns=8), typist)
    lost = 0
    for before, after in zip(typist.asked, typist.asked[1:], strict=False):
        words = in_even_rounds(before)
        was_heard = turns[before.round - 1].speaker == "Bo"
        assert after.kept == (words if words and not was_heard else None)
        lost += after.kept is not None
    assert lost


async def test_no_model_thinks_for_a_person_and_they_hear_everything() -> None:
    model = ScriptedModel()
    context = a_seated("Bo", a_quay(), model=model, perception_threshold=1)
    await sat(context, Typist(in_even_rounds))
    assert len(model.asked("generate_batch")[0]) == 3  # the others share their batches
    store = context.store
    assert "Bo" not in {call.agent for call in store.calls(RUN) if call.round}
    for node, kind in (("assess", Assessment), ("choose_mechanisms", InformationNeed)):
        assert {agent for _, agent in store.steps(RUN, node, kind)} == {"Ana", "Cy", "Dee"}
    heard = store.steps(RUN, "perceive", Perception)
    assert all(heard[round, "Bo"].noticed for round in range(1, 6))
    bid = store.steps(RUN, "bid", Bid)[2, "Bo"]
    assert (bid.parts, bid.willingness, bid.similarity) == (None, None, 0.0)


async def test_who_is_given_the_floor_is_asked_only_then() -> None:
    typist = Typist(in_every_round)
    turns = await sat(a_seated("Bo", a_quay(mechanisms=()), order="rule_based", max_turns=5), typist)
    own = [turn.round for turn in turns if turn.speaker == "Bo"]
    assert own == [1, 5]
    assert [(invitation.round, invitation.may_pass) for invitation in typist.asked] == [(1, False), (5, False)]


async def test_where_the_speaker_designates_a_person_does_so_in_their_words() -> None:
    start = a_quay(opening=None, mechanisms=())
    typist = Typist(lambda _: "I would like to hear dee on this.")
    context = a_seated("Bo", start, order="designated", max_turns=12)
    turns = await sat(context, typist)
    floors = context.store.steps(RUN, "floor", Floor)
    after = [turn.round + 1 for turn in turns[:-1] if turn.speaker == "Bo"]
    assert after
    for round in after:
        assert turns[round - 1].speaker == "Dee"
        assert floors[round, ""].reason == "named by Bo"
    assert "Bo" not in {call.agent for call in context.store.calls(RUN)}


# --- the clock ------------------------------------------------------------------------------------------------------


async def test_a_clock_that_waits_draws_a_latency_and_records_no_seconds() -> None:
    one, other = (a_seated("Bo", a_quay(), max_turns=4) for _ in range(2))
    await sat(one, Typist(in_even_rounds, seconds=3.0))
    await sat(other, Typist(in_even_rounds, seconds=8.0))
    assert differences((one.store, RUN), (other.store, RUN)) == []  # type: ignore[arg-type]


async def test_a_clock_that_runs_takes_the_seconds_that_the_person_took() -> None:
    context = a_seated("Bo", a_quay(mechanisms=()), max_turns=8, seat_clock="runs")
    turns = await sat(context, Typist(in_every_round, seconds=0.25))
    bids = [context.store.steps(RUN, "bid", Bid)[round, "Bo"] for round in range(1, 9)]
    assert {(bid.latency_s, bid.persistence) for bid in bids} == {(0.25, 1.0)}
    floors = context.store.steps(RUN, "floor", Floor)
    own = [turn for turn in turns if turn.speaker == "Bo"]
    assert own
    assert {floors[turn.round, ""].waited_s for turn in own} == {0.25}


@pytest.mark.parametrize("order", ["rule_based", None])
async def test_a_clock_that_runs_counts_where_nobody_races(order: str | None) -> None:
    settings = {} if order is None else {"order": order}
    start, seat = (a_pier(), "Mara") if order is None else (a_quay(), "Bo")
    turns = await sat(a_seated(seat, start, seat_clock="runs", **settings), Typist(in_every_round, seconds=4.0))
    assert (turns[0].speaker, turns[0].sim_time_s) == (seat, 4.0)


# --- left, killed, failed -------------------------------------------------------------------------------------------


async def resumed(path: Path, start: Start, seat: str, typist: Ask, **settings: Any) -> None:
    """Go on with the run in a file, with other connections, as another process would."""
    with SqlStore.open(path, create=True) as store:
        context = a_seated(seat, start, store=store, **settings)
        async with open_checkpoints(path) as checkpointer:
            await drive(context, checkpointer, ask=typist)


def answered(path: Path) -> set[int]:
    with SqlStore.open(path, create=False) as store:
        return {round for round, _ in store.steps(RUN, "speak_by_hand", Answer)}


@pytest.mark.parametrize(
    ("start", "seat", "settings"),
    [
        (a_pier(), "Piotr", {"removal_factor": 0.5, "max_turns": 4}),
        (a_quay(), "Bo", {}),
        (a_quay(mechanisms=()), "Bo", {"order": "rule_based", "seat_clock": "runs", "max_turns": 5}),
    ],
)
async def test_killed_at_any_moment_nothing_is_lost_or_asked_twice(
    tmp_path: Path, start: Start, seat: str, settings: dict[str, Any]
) -> None:
    settings = {"max_turns": 3, **settings}
    path, copies, at_questions = tmp_path / "tertulia.db", [], []

    def copy() -> None:
        copies.append(tmp_path / f"copy_{len(copies)}_{len(at_questions)}.db")
        for ending in ("", "-wal"):
            if (file := path.with_name(path.name + ending)).exists():
                shutil.copy(file, copies[-1].with_name(copies[-1].name + ending))

    class Watched(Typist):
        async def __call__(self, invitation: Invitation) -> Answer | None:
            copy()
            at_questions.append(copies.pop())
            return await super().__call__(invitation)

    typist = Watched(in_every_round if "order" in settings else in_even_rounds, seconds=1.5)
    with SqlStore.open(path, create=True) as store:
        context = a_seated(seat, start, store=store, **settings)
        async with open_checkpoints(path) as checkpointer:
            await drive(context, checkpointer, lambda *_: copy(), typist)
        asked = {invitation.round for invitation in typist.asked}
        assert len(typist.asked) == len(asked) > 1
        for left in (copies[len(copies) // 3], at_questions[1]):
            again = Typist(typist._words, seconds=1.5)
            known = answered(left)
            await resumed(left, start, seat, again, **settings)
            assert {invitation.round for invitation in again.asked} == asked - known
            with SqlStore.open(left, create=False) as other:
                assert differences((store, RUN), (other, RUN)) == []


@pytest.mark.parametrize(("start", "seat"), [(a_pier(), "Piotr"), (a_quay(), "Bo")])
async def test_who_leaves_can_come_back(tmp_path: Path, start: Start, seat: str) -> None:
    path, undisturbed = tmp_path / "tertulia.db", a_seated(seat, start)
    await sat(undisturbed, Typist(in_every_round))
    for _ in range(2):  # they come back, and leave again at once
        with pytest.raises(LeftError, match=f"{seat} has left in turn 4"):
            await resumed(path, start, seat, Typist(in_every_round, leaves_in=4))
    await resumed(path, start, seat, back := Typist(in_every_round))
    assert back.asked[0].round == 4
    with SqlStore.open(path, create=False) as store:
        assert differences((undisturbed.store, RUN), (store, RUN)) == []  # type: ignore[arg-type]


async def test_what_was_typed_outlives_a_failure_of_the_others() -> None:
    fails = ScriptedModel(fails_at=3)
    context = a_seated("Bo", a_quay(), model=fails, max_turns=1)
    typist = Typist(in_every_round)
    with pytest.raises(ModelError):
        await sat(context, typist)
    assert len(typist.asked) == 1
    whole = replace(context, model=ScriptedModel(), broker=BatchingBroker(RUN, context.store))
    await sat(whole, typist)
    assert len(typist.asked) == 1


async def test_the_question_does_not_outlive_a_failure_of_the_others() -> None:
    cancelled = []

    async def never(invitation: Invitation) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(invitation.round)
        raise AssertionError

    with pytest.raises(ModelError):
        await sat(a_seated("Bo", a_quay(), model=ScriptedModel(fails_at=3), max_turns=1), never)
    await asyncio.sleep(0)
    assert cancelled == [1]


async def test_checkpoints_hold_no_words_of_a_person(tmp_path: Path) -> None:
    path = tmp_path / "tertulia.db"
    await resumed(path, a_quay(), "Bo", Typist(lambda _: "A secret of mine."))
    with SqlStore.open(path, create=False) as store:
        kept = store.file.rows("SELECT hex(value) AS it FROM writes UNION ALL SELECT hex(checkpoint) FROM checkpoints")
    assert kept
    assert not [row for row in kept if b"secret".hex() in row["it"].casefold()]


# --- forked ---------------------------------------------------------------------------------------------------------


async def forked(parent: Context, at: int, typist: Ask, **changes: Any) -> Context:
    store = parent.store
    parameters = parent.parameters.with_settings(changes)
    record = a_run("f0rk", kind="group_chat", parent=(RUN, at), parameters=parameters.model_dump(mode="json"))
    store.create_run(record, parent.start)
    context = replace(parent, run="f0rk", parameters=parameters, broker=BatchingBroker("f0rk", store))
    await drive(context, InMemorySaver(), ask=typist)
    return context


@pytest.mark.parametrize(("start", "seat"), [(a_pier(), "Piotr"), (a_quay(), "Bo")])
async def test_a_fork_has_what_was_typed_before_it_and_asks_anew_from_there(start: Start, seat: str) -> None:
    parent = a_seated(seat, start)
    before = await sat(parent, Typist(in_every_round))
    fork = await forked(parent, 4, typist := Typist(lambda _: "Something else."))
    after = fork.store.turns("f0rk")
    assert after[:3] == before[:3]
    assert typist.asked[0].round == 4
    answer = fork.store.step("f0rk", 4, seat, "speak_by_hand", Answer)
    assert answer == Answer(words="Something else.")
    assert parent.store.turns(RUN) == before
    if isinstance(start, Meeting) and before[2].speaker != seat:
        assert typist.asked[0].kept == "I say number 3."


# --- the graphs by themselves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "seat"), [(a_pier(), "Mara"), (a_quay(), "Bo")])
async def test_another_tool_resumes_the_graph_with_the_words(start: Start, seat: str) -> None:
    context = a_seated(seat, start, max_turns=1)
    config: Any = {"configurable": {"thread_id": "t"}}
    checkpointer = InMemorySaver()
    is_meeting = isinstance(start, Meeting)
    graph: Any = build_group_chat_graph(checkpointer=checkpointer) if is_meeting else build_dialogue_graph(checkpointer)
    stopped = await graph.ainvoke(first_state(start), config, context=context)
    (asked,) = stopped["__interrupt__"]
    assert (asked.value["agent"], asked.value["round"]) == (seat, 1)
    for unusable in (5, True, {"words": "Hm."}, *([] if asked.value["may_pass"] else [" "])):
        stopped = await graph.ainvoke(Command(resume=unusable), config, context=context)
        assert stopped["__interrupt__"][0].value == {**asked.value, "again": True}
    await graph.ainvoke(Command(resume="From\nelsewhere."), config, context=context)
    assert context.store.step(RUN, 1, seat, "speak_by_hand", Answer) == Answer(words="From elsewhere.")
    assert len(context.store.turns(RUN)) == 1


# --- words ----------------------------------------------------------------------------------------------------------


@given(st.text() | st.text(alphabet="ab \x1b[;0m\n\r\x07\x08\u202e\u2028\ud800é", max_size=LONGEST + 200))
def test_words_are_one_short_line_that_a_terminal_obeys_nothing_of(text: str) -> None:
    utterance = as_utterance(text)
    assert len(utterance) <= LONGEST
    assert utterance == " ".join(utterance.split()) == as_utterance(utterance)
    assert not set(utterance) & {*map(chr, range(32)), "\x7f", "\x9b", "\u202e", "\u2028", "\ud800"}
    utterance.encode()


@pytest.mark.parametrize(
    ("typed", "utterance"),
    [
        ("two\nlines\tand \x1b[31mred\x1b[0m", "two lines and red"),
        ("arrow\x1b[D\x1b[A keys\x7f", "arrow keys"),
        ("\x1b]0;a title\x07 said", "said"),
        ("é 👩‍🚀 日本", "é 👩‍🚀 日本"),
        ("word " * 2000, ("word " * 200).strip()),
        ("w" * 5000, "w" * LONGEST),
        (" \x00\n ", ""),
    ],
)
def test_what_is_typed_becomes_this_utterance(typed: str, utterance: str) -> None:
    assert as_utterance(typed) == utterance
