"""Roll back to the next backup, and settle on what is said. Source: APP §4.1."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from nodes.generate import draw_candidates
from state.contracts import Context
from state.graph_state import UtteranceState


async def roll_back(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Take the next backup, drawing it now if it was not drawn with the utterance."""
    attempt = state["attempt"] + 1
    context = runtime.context.of(state["speaker"])
    if context.parameters.backups == "on_demand":
        await draw_candidates(state, context, range(attempt, attempt + 1))
    return {"attempt": attempt}


async def settle(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Settle on the candidate that is said."""
    inconsistency = state["inconsistency"]
    threshold = runtime.context.of(state["speaker"]).parameters.inconsistency_threshold
    chosen = choose_candidate(inconsistency, threshold) if state["removed"] and inconsistency else 0
    return {"chosen": chosen, "rollbacks": state["attempt"]}


def choose_candidate(inconsistency: Sequence[float], threshold: float | None) -> int:
    """Return the attempt that is said: the last one if it passes θ, else the one with the lowest figure, the earliest.

    Args:
        inconsistency: The figure of each attempt, in the order in which they were judged.
        threshold: θ; a figure conflicts if it exceeds it.
    """
    last = len(inconsistency) - 1
    if threshold is None or inconsistency[last] <= threshold:
        return last
    return min(range(len(inconsistency)), key=lambda attempt: inconsistency[attempt])
