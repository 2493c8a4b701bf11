"""Score every prompt unit at random: the baseline for all other scorers. Needs no attention."""

from langgraph.runtime import Runtime

from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.randomness import keyed_generator


async def score_random(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Score each unit by a uniform draw from [0, 1)."""
    context = runtime.context
    step = step_of(state, "random_score")
    generator = keyed_generator(context.seed, round=state["turn"], agent=state["speaker"], node=step)
    units = context.store.prompt(state["prompt"]).units
    return {"scores": {unit.id: generator.random() for unit in units}, "scored_by": "random"}
