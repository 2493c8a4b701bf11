"""Begin an utterance: its prompt is not scored, pruned or judged yet; λ and its first candidate are at hand."""

from typing import cast

from langgraph.runtime import Runtime

from tertulia.nodes.shared.removal_factor import find_removal_factor
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, initial_outcome


async def begin_utterance(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Set the state that every utterance begins with, so that nothing of the turn before is left."""
    factor = find_removal_factor(state, runtime.context.of(state["speaker"]))
    beginning = {
        **initial_outcome(),
        "removal_factor": factor,
        "attempt": 0,
        "set_aside": [],
        "inconsistency": [],
        "conflict": False,
    }
    return cast(UtteranceState, beginning)
