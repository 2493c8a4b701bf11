"""What a run took, or would take: calls, tokens and time, by agent, by step and by model."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.console import Console
from rich.table import Table

from cli.terminal.output import plain
from metrics.cost import Cost
from state.cognition import Call
from tertulia.costs import Prices, cost_table, price_of
from tertulia.phrases import in_words

_GROUP = "(the group)"


def print_cost(
    console: Console, calls: Sequence[Call], timed: bool = True, prices: Prices = MappingProxyType({})
) -> None:
    """Print what calls took: a table by agent, one by step, and where it says more one by model.

    Args:
        console: Where to.
        calls: The calls.
        timed: Whether their time means anything.
        prices: Of the models of which they are known.
    """
    table = cost_table(calls)
    agents = {agent or _GROUP: cost for agent, cost in table.agents.items()}
    steps = {in_words(step): cost for step, cost in table.steps.items()}
    for heading, costs in (("agent", agents), ("step", steps)):
        printed = _table(heading, costs, timed)
        printed.add_row(plain("in all", "bold"), *_figures(table.total, timed))
        console.print(printed)
        console.print()
    if prices or len(table.models) > 1:
        console.print(_table("model", table.models, timed, prices))
        console.print()


def _table(heading: str, costs: Mapping[str, Cost], timed: bool, prices: Prices | None = None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(heading)
    price = () if prices is None else ("price",)
    for name in ("calls", "tokens read", "tokens written", *(("seconds",) if timed else ()), *price):
        table.add_column(name, justify="right")
    for name, cost in costs.items():
        amount = price_of(cost, prices.get(name)) if prices is not None else None
        cells = () if prices is None else ("–" if amount is None else f"{amount:,.4f}",)
        table.add_row(plain(name), *_figures(cost, timed), *cells)
    return table


def _figures(cost: Cost, timed: bool) -> list[str]:
    figures = [f"{cost.calls:,}", f"{cost.prompt_tokens:,}", f"{cost.reply_tokens:,}"]
    return [*figures, f"{cost.seconds:,.1f}"] if timed else figures
