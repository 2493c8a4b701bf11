"""Routers of the graphs: questions about the state, answered in the event loop of the graph."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any


def answered_in_loop(question: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Return a router as a coroutine function, with its name and types.

    LangGraph hands every other function to a thread: with hundreds of conversations at once, waking threads takes
    longer than the answers.
    """

    @wraps(question)
    async def answer(*args: Any, **kwargs: Any) -> Any:
        return question(*args, **kwargs)

    return answer


def is_finished(state: Mapping[str, Any]) -> bool:
    """Whether the conversation, or the last day of a town, is over."""
    return bool(state["finished"])
