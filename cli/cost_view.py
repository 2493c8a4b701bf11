"""What a run took, or would take: calls, tokens and time, by agent and by step."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.table import Table

from cli.lines import in_words
from cli.output import plain
from metrics.cost import Cost, cost_by, total
from state.cognition import Call

#: By model, what a million tokens read, and a million written, cost.
Prices = Mapping[str, tuple[float, float]]


def cost_json(calls: Sequence[Call], timed: bool = True, prices: Prices = MappingProxyType({})) -> dict[str, Any]:
    """Return what calls took: a row per agent and step, one per model with its price, and the sum.

    Args:
        calls: The calls.
        timed: Whether their time means anything.
        prices: Of the models of which they are known.
    """
    costs = cost_by(calls, lambda call: (call.agent, call.node))
    untimed = {} if timed else {"seconds": None}
    models = cost_by(calls, lambda call: (call.model,))
    return {
        "cost": [{"agent": agent, "node": node, **asdict(cost), **untimed} for (agent, node), cost in costs.items()],
        "models": [
            {"model": name, **asdict(cost), **untimed, "price": _price(cost, prices.get(name))}
            for (name,), cost in models.items()
        ],
        "total": asdict(total(costs.values())) | untimed,
    }


def print_cost(
    console: Console, calls: Sequence[Call], timed: bool = True, prices: Prices = MappingProxyType({})
) -> None:
    """Print what calls took: a table by agent, one by step, and where it tells more one by model.

    Args:
        console: Where to.
        calls: The calls.
        timed: Whether their time means anything.
        prices: Of the models of which they are known.
    """
    agents = cost_by(calls, lambda call: (call.agent or "(the group)",))
    steps = cost_by(calls, lambda call: (in_words(call.node),))
    for heading, costs in (("agent", agents), ("step", steps)):
        table = Table(box=None, pad_edge=False)
        table.add_column(heading)
        for name in ("calls", "tokens read", "tokens written", *(("seconds",) if timed else ())):
            table.add_column(name, justify="right")
        for (name,), cost in costs.items():
            table.add_row(plain(name), *_figures(cost, timed))
        table.add_row(plain("in all", "bold"), *_figures(total(costs.values()), timed))
        console.print(table)
        console.print()
    models = cost_by(calls, lambda call: (call.model,))
    if prices or len(models) > 1:
        table = Table(box=None, pad_edge=False)
        table.add_column("model")
        for name in ("calls", "tokens read", "tokens written", *(("seconds",) if timed else ()), "price"):
            table.add_column(name, justify="right")
        for (name,), cost in models.items():
            price = _price(cost, prices.get(name))
            table.add_row(plain(name), *_figures(cost, timed), "–" if price is None else f"{price:,.4f}")
        console.print(table)
        console.print()


def _price(cost: Cost, million: tuple[float, float] | None) -> float | None:
    """Return what tokens cost, in the currency of the price for a million read and a million written."""
    return None if million is None else (cost.prompt_tokens * million[0] + cost.reply_tokens * million[1]) / 1e6


def _figures(cost: Cost, timed: bool) -> list[str]:
    figures = [f"{cost.calls:,}", f"{cost.prompt_tokens:,}", f"{cost.reply_tokens:,}"]
    return [*figures, f"{cost.seconds:,.1f}"] if timed else figures
