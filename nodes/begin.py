"""Begin an utterance: its prompt is not scored, pruned or judged yet, and its first candidate is at hand."""

from typing import cast

from langgraph.runtime import Runtime

from state.context import Context
from state.graph_state import UtteranceState, initial_outcome


async def begin_utterance(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Set what every utterance begins with, so that nothing of the turn before is left."""
    beginning = {**initial_outcome(), "attempt": 0, "set_aside": [], "inconsistency": [], "conflict": False}
    return cast(UtteranceState, beginning)
