"""A mechanism and a node as a user writes them: `--extension benchmarks/campaigns/user_extension.py` (`make soak`)."""

from typing import Any

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding
from tertulia.state.randomness import keyed_generator


async def count_lines(view: View) -> Finding:
    """Count what was heard, and how often this was asked for before."""
    before = view.finding("line_count")
    times = int(before.data["times"]) + 1 if before is not None and before.data else 1
    return Finding(lines=(f"{len(view.lines())} lines were heard.",), data={"times": times})


async def score_at_random(state: Any, runtime: Any) -> dict[str, Any]:
    """Score units by a keyed draw."""
    context = runtime.context
    drawn = keyed_generator(context.seed, round=state["turn"], node="drawn_scores")
    units = context.store.prompt(state["prompt"]).units
    return {"scores": {unit.id: drawn.random() for unit in units}, "scored_by": "drawn_scores"}


MECHANISMS = (
    Mechanism(
        name="line_count",
        title="Line Count",
        description="count the lines that were heard",
        example=(True, "It has been a long talk."),
        run=count_lines,
    ),
)
NODES = (
    Node(
        name="drawn_scores",
        place="score",
        description="a draw for every unit",
        run=score_at_random,
        reads=("prompt", "turn"),
        writes=("scores", "scored_by"),
    ),
)
