"""The cost of a run, past or expected: calls, tokens and time, by agent, by step and by model."""

from collections.abc import Sequence

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.metrics.cost import Cost
from tertulia.state.budget import NO_PRICES, Prices
from tertulia.state.cognition import Call
from tertulia.state.text import in_words
from tertulia.views.measuring.costs import cost_table, price_of


def print_cost(console: Console, calls: Sequence[Call], timed: bool = True, prices: Prices = NO_PRICES) -> None:
    """Print the cost of calls by agent, by step and, with prices or several models, by model.

    Args:
        timed: Whether their time means anything.
        prices: Of the models with known prices.
    """
    table = cost_table(calls)
    columns = ("calls", "tokens read", "tokens written", *(("seconds",) if timed else ()))
    agents = {agent or "(the group)": cost for agent, cost in table.agents.items()}
    steps = {in_words(step): cost for step, cost in table.steps.items()}
    for heading, costs in (("agent", agents), ("step", steps)):
        rows = [Row((name, *_figures(cost, timed))) for name, cost in costs.items()]
        rows.append(Row((plain("in all", "bold"), *_figures(table.total, timed))))
        _print_table(console, heading, columns, rows)
    if prices or len(table.models) > 1:
        rows = []
        for name, cost in table.models.items():
            price = price_of(cost, prices.get(name))
            rows.append(Row((name, *_figures(cost, timed), "–" if price is None else f"{price:,.4f}")))
        _print_table(console, "model", (*columns, "price"), rows)


def _print_table(console: Console, heading: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    print_table(console, (heading, *columns), rows, right=columns)
    console.print()


def _figures(cost: Cost, timed: bool) -> list[str]:
    figures = [f"{cost.calls:,}", f"{cost.prompt_tokens:,}", f"{cost.reply_tokens:,}"]
    return [*figures, f"{cost.seconds:,.1f}"] if timed else figures
