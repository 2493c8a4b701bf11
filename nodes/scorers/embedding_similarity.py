"""Score every prompt unit by the similarity of its text to the last lines. Needs no attention and no model call."""

from collections.abc import Sequence

import numpy as np
from langgraph.runtime import Runtime

from tertulia.nodes.shared.hearing import turns_heard
from tertulia.state.album import Population
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.language_model import Embedder
from tertulia.state.records import Unit

#: The number of last lines that units are compared with, as in memory retrieval.
LATEST_LINES = 4


async def score_similarity(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Score each unit by the cosine of its text with the last lines; below 0 counts as 0.

    Before anybody has spoken, units are compared with the names of the people present and the place; in an album chat
    with the request to the speaker.
    """
    context = runtime.context
    units = context.store.prompt(state["prompt"]).units
    if isinstance(context.start, Population):
        lines = "\n".join(unit.text for unit in units if unit.block == "current_dialogue")
    else:
        turns = turns_heard(context, state["speaker"], state["turn"], LATEST_LINES, state["sim_time_s"]).turns
        lines = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns if turn.speaker is not None)
    target = lines or ". ".join([*state["present"], context.start.place or ""])
    return {
        "scores": similarity_scores(context.embedder, target, units),
        "scored_by": f"embedding_similarity by {context.embedder.id}",
    }


def similarity_scores(embedder: Embedder, target: str, units: Sequence[Unit]) -> dict[str, float]:
    """Return the cosine of each unit's text with a target, in [0, 1]: below 0 counts as 0."""
    vectors = np.array(embedder.embed([target, *(unit.text for unit in units)]))
    cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
    return {unit.id: float(cosine) for unit, cosine in zip(units, cosines, strict=True)}
