"""Score every prompt unit by its length: λ then removes that share of the removable text. Needs no attention."""

from langgraph.runtime import Runtime

from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState


async def score_length(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Score each unit by its number of tokens."""
    context = runtime.context.of(state["speaker"])
    tokenizer = context.model.tokenizer
    units = context.store.prompt(state["prompt"]).units
    scores = {unit.id: float(len(tokenizer.encode(unit.text))) for unit in units}
    return {"scores": scores, "scored_by": f"length in tokens of {context.model.id}"}
