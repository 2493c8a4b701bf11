"""Score every prompt unit by how near its text is to what was said last. Needs no attention, and no call of a model."""

import numpy as np
from langgraph.runtime import Runtime

from nodes.retrieve import latest_turns
from state.context import Context
from state.graph_state import UtteranceState

#: The last lines of the conversation that units are compared with, as in memory retrieval.
_LATEST_LINES = 4


async def score_similarity(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Take the cosine of each unit's text with the last lines; below 0 counts as 0.

    Before anybody has spoken, units are compared with the names of those who are there and the place.
    """
    context = runtime.context
    units = context.store.prompt(state["prompt"]).units
    turns = latest_turns(context, state["turn"], _LATEST_LINES)
    said = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns if turn.speaker is not None)
    around = said or ". ".join([*state["present"], context.start.place or ""])
    vectors = np.array(context.embedder.embed([around, *(unit.text for unit in units)]))
    cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
    scores = {unit.id: float(cosine) for unit, cosine in zip(units, cosines, strict=True)}
    return {"scores": scores, "scored_by": f"embedding_similarity by {context.embedder.id}"}
