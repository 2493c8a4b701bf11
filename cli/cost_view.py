"""What a run took, or would take: calls, tokens and time, by agent and by step."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from cli.lines import in_words
from cli.output import plain
from metrics.cost import Cost, cost_by, total
from state.cognition import Call


def cost_json(calls: Sequence[Call], timed: bool = True) -> dict[str, Any]:
    """Return what calls took: a row per agent and step, and the sum; `timed`: whether their time means anything."""
    costs = cost_by(calls, lambda call: (call.agent, call.node))
    untimed = {} if timed else {"seconds": None}
    return {
        "cost": [{"agent": agent, "node": node, **asdict(cost), **untimed} for (agent, node), cost in costs.items()],
        "total": asdict(total(costs.values())) | untimed,
    }


def print_cost(console: Console, calls: Sequence[Call], timed: bool = True) -> None:
    """Print what calls took: a table by agent, and one by step.

    Args:
        console: Where to.
        calls: The calls.
        timed: Whether their time means anything.
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


def _figures(cost: Cost, timed: bool) -> list[str]:
    figures = [f"{cost.calls:,}", f"{cost.prompt_tokens:,}", f"{cost.reply_tokens:,}"]
    return [*figures, f"{cost.seconds:,.1f}"] if timed else figures
