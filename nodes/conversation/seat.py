"""A seat for a person in the place of an agent; no model thinks for them.

1. When they may speak, the graph is interrupted, and resumed with their answer.
2. An answer is stored like a step of an agent's cognition before the graph is resumed: after a crash they are not asked
   again, and a fork has the answers before it.
3. Once they leave for good, the agent is back from that round on.
4. In the race they are willing if they have typed words; if the floor is given, they are asked once they have it.
"""

import math
import time
from inspect import isawaitable
from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from tertulia.nodes.meeting.perceive import notice, perceive_message
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.hearing import turns_heard
from tertulia.state.context import Context
from tertulia.state.errors import HandedOverError, LeftError, TertuliaError, UsageError, failure_text
from tertulia.state.graph_state import CognitionState, DialogueState, GroupState, initial_outcome
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Hearing
from tertulia.state.records import Candidate, Reply
from tertulia.state.seat import ANSWERED, LEFT, Answer, Ask, Invitation, Left, as_utterance, is_seat_of
from tertulia.state.store import Store

#: How long before their departure somebody's first word falls at the latest, in seconds.
_A_MOMENT_S = 0.001

#: The most times that a person is asked for words they owe.
_MOST_INVITATIONS = 100

#: The outcome of an utterance that a person has typed.
BY_HAND: dict[str, Any] = {**initial_outcome(), "prompt": None, "chosen": 0, "rollbacks": 0, "ended": False}


async def attend(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Note the last message for a person and, in a race for the floor, ask whether they want to speak."""
    view = View.of(state, runtime.context)
    view.context.broker.seat(view.round, view.present)
    view.context.broker.leave(view.name)  # no model is asked for them
    perception = perceive_message(view, view.message())
    mind = notice(view, perception.model_copy(update={"noticed": perception.turn is not None}))
    if is_raced_for(view.context):
        _answer(view.context, view.name, state["round"], state["round"], state["sim_time_s"], may_pass=True)
    return {"minds": {view.name: mind}}


async def speak_by_hand(state: DialogueState | GroupState, runtime: Runtime[Context]) -> DialogueState | GroupState:
    """Take a person's words as the only candidate; without a race for the floor they are asked now."""
    context, speaker, now_s = runtime.context, state["speaker"], state["sim_time_s"]
    answer = _answer(context, speaker, state["turn"], state["round"], now_s, may_pass=False)
    write_by_hand(context.store, context.run, state["turn"], speaker, answer.words)
    if not is_raced_for(context):
        now_s += min(seconds_taken(answer, context), _longest_wait_s(context, speaker, now_s))
    return cast(DialogueState, {**BY_HAND, "sim_time_s": now_s})


def _longest_wait_s(context: Context, name: str, now_s: float) -> float:
    """Return after how many seconds a participant has to speak at the latest, so as to be there at the first word."""
    if not isinstance(context.start, Meeting):
        return math.inf
    leaves_s = context.start.offset_s(context.start.participant(name).leaves, math.inf)
    return max(0.0, leaves_s - now_s - _A_MOMENT_S)


def is_raced_for(context: Context) -> bool:
    """Whether agents race for the floor."""
    return isinstance(context.start, Meeting) and context.parameters.order == "self_driven"


def is_persons(name: str, context: Context, round: int) -> bool:
    """Whether a person has the seat of this participant in a round."""
    return is_seat_of(name, context.parameters.seat) and not has_left(context, name, round)


def has_left(context: Context, name: str, round: int) -> bool:
    """Whether a person has left their seat for good before the end of a round; a fork begins with all of its seats."""
    parent = context.store.run(context.run).parent
    return bool(context.store.steps(context.run, LEFT, Left, parent[1] if parent else 1, round, name))


def _answer(context: Context, name: str, turn: int, round: int, now_s: float, may_pass: bool) -> Answer:
    answer = answer_of(context, round, name)
    if answer is None:
        asked = {"agent": name, "turn": turn, "round": round, "sim_time_s": now_s, "may_pass": may_pass}
        # The driver stores the answer before it resumes the graph; other tools resume it with the words. LangGraph
        # keeps the answers of an interrupt for good: a bad one is followed by another interrupt, never by an error.
        words = _typed(interrupt(asked))
        while words is None or not (words or may_pass):
            words = _typed(interrupt({**asked, "again": True}))
        answer = Answer(words=words)
        save_answer(context, round, name, answer)
    return answer


def _typed(answer: Any) -> str | None:
    """Return the words with which the graph was resumed; "" without an answer, `None` if it is no text."""
    return as_utterance(answer or "") if answer is None or isinstance(answer, str) else None


def answer_of(context: Context, round: int, name: str) -> Answer | None:
    """Return a person's answer in a round; `None` if there is none (yet)."""
    return context.store.step(context.run, round, name, ANSWERED, Answer)


def save_answer(context: Context, round: int, name: str, answer: Answer) -> None:
    """Store a person's answer in a round."""
    context.store.save_step(context.run, round, name, ANSWERED, answer)


async def invite(context: Context, asked: dict[str, Any], ask: Ask) -> None:
    """Ask the person in the seat, again while they owe words, and store their answer.

    Args:
        asked: The value with which the graph was interrupted.

    Raises:
        LeftError: They leave.
        HandedOverError: They leave for good, so that the model is to speak in this very round.
        UsageError: The asking function fails, or returns something else than an answer, or never words.
    """
    invitation, seconds = invitation_of(context, asked), 0.0
    for _ in range(_MOST_INVITATIONS):
        started = time.perf_counter()
        try:
            answered = ask(invitation)
            answer = await answered if isawaitable(answered) else answered
        except TertuliaError:
            raise
        except Exception as error:
            raise UsageError(f"ask failed: {failure_text(error)}") from error
        if answer is None and has_left(context, invitation.agent, invitation.round):
            raise HandedOverError(f"the model speaks for {invitation.agent} from turn {invitation.turn} on")
        if answer is None:
            raise LeftError(f"{invitation.agent} has left in turn {invitation.turn}")
        if not isinstance(answer, Answer):
            raise UsageError(f"ask returned {answer!r:.60}; it returns an Answer(words=…), or None to leave")
        seconds += time.perf_counter() - started if answer.seconds is None else answer.seconds
        words = as_utterance(answer.words)
        if words or invitation.may_pass:
            break
        invitation = invitation.model_copy(update={"again": True})
    else:
        raise UsageError(
            f"{invitation.agent} owes words in turn {invitation.turn} and gave none, {_MOST_INVITATIONS} times asked; "
            "an answer has words, or is None to leave"
        )
    took = seconds if context.parameters.seat_clock == "runs" else None
    save_answer(context, invitation.round, invitation.agent, Answer(words=words, seconds=took))


def invitation_of(context: Context, asked: dict[str, Any]) -> Invitation:
    """Return the invitation to a person, from the value with which the graph was interrupted.

    It shows every line since they came, or, if the run's prompts do, of the whole meeting.
    """
    hearing: Hearing = "all" if context.parameters.hearing == "all" else "present"
    window = context.parameters.dialogue_window
    lines = turns_heard(context, asked["agent"], asked["turn"], window, asked["sim_time_s"], hearing).turns
    before = answer_of(context, asked["round"] - 1, asked["agent"]) if asked["may_pass"] else None
    has_spoken = bool(lines) and lines[-1].speaker == asked["agent"]
    kept = None if before is None or has_spoken else before.words or None
    return Invitation(**asked, lines=lines, kept=kept)


def seconds_taken(answer: Answer | None, context: Context) -> float:
    """Return the seconds that a person took, `silence_s` at most; 0 if their clock waits or there is no answer."""
    seconds = None if answer is None else answer.seconds
    return min(seconds or 0.0, context.parameters.silence_s)


def write_by_hand(store: Store, run: str, turn: int, speaker: str, words: str) -> None:
    """Store typed words as the only candidate of a turn."""
    reply = Reply(text=words, tokens=(), text_tokens=(0, 0), fields={speaker: words})
    store.save_candidate(run, turn, Candidate(attempt=0, text=words, reply=reply, origin="by_hand"))
