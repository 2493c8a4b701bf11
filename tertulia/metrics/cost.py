"""Sum the cost of a run: calls of models, tokens and time, by any key such as agent and step."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tertulia.state.cognition import Call


@dataclass(frozen=True)
class Cost:
    """The cost of some calls: known tokens, and wall-clock time, of which calls of a batch have equal shares."""

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
    """Return the cost of calls by a key, such as agent and node, in the order in which the keys first occur."""
    return costs_by(calls, [key])[0]


def costs_by(
    calls: Iterable[Call], keys: Sequence[Callable[[Call], tuple[str, ...]]]
) -> list[dict[tuple[str, ...], Cost]]:
    """Return the cost of calls by each of several keys; the calls are gone through once."""
    found: list[dict[tuple[str, ...], Cost]] = [{} for _ in keys]
    for call in calls:
        cost = Cost(1, call.prompt_tokens or 0, call.reply_tokens or 0, call.seconds or 0.0)
        for key_of, costs in zip(keys, found, strict=True):
            key = key_of(call)
            costs[key] = costs[key] + cost if key in costs else cost
    return found


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum."""
    return sum(costs, Cost())
