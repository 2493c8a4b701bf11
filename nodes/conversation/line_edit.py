"""A pause before a line enters the conversation, in which a person may rewrite it.

1. Whoever watches a dialogue or a meeting asks for it (`Pause`); the next line that a model has written is held.
2. The graph is interrupted, and resumed once the decision on the line is stored (`LineEdit`).
3. A turn that starts over after a crash computes the same line, and takes the stored decision.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from langgraph.types import interrupt

from tertulia.state.context import Context
from tertulia.state.graph_state import DialogueState, GroupState
from tertulia.state.line_edit import EDITED, EDITED_ATTEMPT, HELD, LineEdit, pause_is_due
from tertulia.state.records import Candidate, Reply
from tertulia.state.seat import as_utterance

SpokenState = TypeVar("SpokenState", DialogueState, GroupState)


def as_edited(state: SpokenState, context: Context) -> SpokenState:
    """Return the state with the line that is said: a person's if a pause was asked for and they have rewritten it.

    Raises:
        GraphInterrupt: The line is held, and no decision on it is stored.
    """
    if state["prompt"] is None or not pause_is_due(context.store, context.run, state["round"]):
        return state
    edit = context.store.step(context.run, state["round"], "", EDITED, LineEdit)
    if edit is None:
        # The driver stores it before it resumes the graph; other tools resume it with the words, or with none.
        line = {"turn": state["turn"], "round": state["round"], "speaker": state["speaker"], "ended": state["ended"]}
        line |= {"attempt": state["chosen"]}
        words = as_utterance(str(interrupt({HELD: line})))
        edit = LineEdit(words=words or None)
        context.store.save_step(context.run, state["round"], "", EDITED, edit)
    if edit.words is None:
        return state
    return {**state, **put_words(state, context, edit.words)}


def put_words(state: Mapping[str, Any], context: Context, words: str) -> Any:
    """Store a person's words in the place of the chosen candidate, and return what changes; nothing has read them."""
    candidates = [made for made in context.store.candidates(context.run, state["turn"]) if made.origin != "vetoed"]
    chosen = [candidate.attempt for candidate in candidates].index(state["chosen"])
    is_again = state["chosen"] == EDITED_ATTEMPT
    written = Candidate(
        attempt=EDITED_ATTEMPT,
        text=words,
        reply=Reply(text=words, tokens=(), text_tokens=(0, 0), fields={state["speaker"]: words}),
        origin="by_hand",
        remark=candidates[chosen].remark if is_again else f"written by a person in the place of candidate {chosen + 1}",
    )
    context.store.save_candidate(context.run, state["turn"], written)
    return {"chosen": EDITED_ATTEMPT, "ended": False, "line_scores": None, "line_scored_by": None}
