"""Seating in the broker: agents that think in the same round wait for each other's calls, to run as one batch.

An agent waits from the first step of their cognition, and nobody waits for them after the last, whoever's node is
there. The cognition graph wraps these two steps; nodes need not know of it.
"""

from functools import wraps
from typing import TYPE_CHECKING, Any

from tertulia.nodes.machinery.node import NodeFunction
from tertulia.state.context import Context

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


def first_step(node: NodeFunction) -> NodeFunction:
    """Return the node with the round's agents seated before it runs."""

    @wraps(node)
    async def run(state: Any, runtime: "Runtime[Context]") -> Any:
        runtime.context.broker.seat(state["round"], state["present"])
        return await node(state, runtime)

    return run


def last_step(node: NodeFunction) -> NodeFunction:
    """Return the node with its agent leaving after it has run: they make no more calls in this round."""

    @wraps(node)
    async def run(state: Any, runtime: "Runtime[Context]") -> Any:
        update = await node(state, runtime)
        runtime.context.broker.leave(state["agent"])
        return update

    return run


def unseated(node: NodeFunction) -> NodeFunction:
    """Return the node with nobody seated after it has run: agents that may pause by themselves can't be waited for."""

    @wraps(node)
    async def run(state: Any, runtime: "Runtime[Context]") -> Any:
        update = await node(state, runtime)
        runtime.context.broker.clear()
        return update

    return run
