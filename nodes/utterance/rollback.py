"""Roll back to the next backup, and select the candidate that becomes the turn. Source: APP §4.1."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.drafts import draw_candidates
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState


async def roll_back(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Take the next backup; it is drawn now if it was not drawn with the utterance."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    attempts = (*state["set_aside"], state["attempt"])
    attempt = sum(candidate < parameters.drawn_max for candidate in attempts)
    if parameters.backups == "on_demand" and parameters.written_together == 1:
        await draw_candidates(state, context, range(attempt, attempt + 1))
    return {"attempt": attempt, "set_aside": [*state["set_aside"], state["attempt"]]}


async def select_candidate(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Select the candidate that becomes the turn, and count the backups that were taken."""
    inconsistency = state["inconsistency"]
    parameters = runtime.context.of(state["speaker"]).parameters
    attempts = [*state.get("set_aside", []), state["attempt"]]
    if len(inconsistency) > len(attempts):  # a user's node took the next backup, and did not write set_aside
        attempts = list(range(len(inconsistency)))
    chosen = 0
    if inconsistency and (state["removed"] or parameters.persona_check):
        chosen = attempts[choose_candidate(inconsistency, parameters.inconsistency_threshold)]
    return {"chosen": chosen, "rollbacks": sum(candidate < parameters.drawn_max for candidate in attempts[1:])}


def choose_candidate(inconsistency: Sequence[float], threshold: float | None) -> int:
    """Return the index of the candidate to say: the last if it passes θ, else the first with the lowest figure.

    Args:
        inconsistency: The figure of each candidate, in the order in which they were judged.
        threshold: θ; a figure conflicts if it exceeds it.
    """
    last = len(inconsistency) - 1
    if threshold is None or inconsistency[last] <= threshold:
        return last
    return min(range(len(inconsistency)), key=lambda attempt: inconsistency[attempt])
