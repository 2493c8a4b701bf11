"""Sum what a run cost: calls of models, tokens and time, by any key such as agent and step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tertulia.state.cognition import Call


@dataclass(frozen=True)
class Cost:
    """The cost of some calls.

    Attributes:
        calls: Their number.
        prompt_tokens, reply_tokens: Tokens read and written, of the calls of which they are known.
        seconds: Wall-clock time; calls of a batch have equal shares of it.
    """

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            self.seconds + other.seconds,
        )


def cost_by(calls: Iterable[Call], key: Callable[[Call], tuple[str, ...]]) -> dict[tuple[str, ...], Cost]:
    """Return the cost of calls by a key, in the order in which the keys first occur.

    Args:
        calls: The calls, at most each once.
        key: Such as agent and node.
    """
    costs: dict[tuple[str, ...], Cost] = {}
    for call in calls:
        cost = Cost(1, call.prompt_tokens or 0, call.reply_tokens or 0, call.seconds or 0.0)
        costs[key(call)] = costs.get(key(call), Cost()) + cost
    return costs


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum."""
    return sum(costs, Cost())
