"""What a run took, or would take: calls, tokens and time, by agent, by step and by model."""

from collections.abc import Sequence
from types import MappingProxyType

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.measuring.costs import Prices, cost_table, price_of
from tertulia.metrics.cost import Cost
from tertulia.state.cognition import Call
from tertulia.state.text import in_words

_GROUP = "(the group)"


def print_cost(
    console: Console, calls: Sequence[Call], timed: bool = True, prices: Prices = MappingProxyType({})
) -> None:
    """Print what calls took: a table by agent, one by step, and where it says more one by model.

    Args:
        timed: Whether their time means anything.
        prices: Of the models of which they are known.
    """
    table = cost_table(calls)
    agents = {agent or _GROUP: cost for agent, cost in table.agents.items()}
    steps = {in_words(step): cost for step, cost in table.steps.items()}
    for heading, costs in (("agent", agents), ("step", steps)):
        rows = [Row((name, *_figures(cost, timed))) for name, cost in costs.items()]
        rows.append(Row((plain("in all", "bold"), *_figures(table.total, timed))))
        _print_table(console, heading, _columns(timed), rows)
    if prices or len(table.models) > 1:
        rows = [
            Row((name, *_figures(cost, timed), _amount(price_of(cost, prices.get(name)))))
            for name, cost in table.models.items()
        ]
        _print_table(console, "model", (*_columns(timed), "price"), rows)


def _print_table(console: Console, heading: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    print_table(console, (heading, *columns), rows, right=columns)
    console.print()


def _amount(price: float | None) -> str:
    return "–" if price is None else f"{price:,.4f}"


def _columns(timed: bool) -> tuple[str, ...]:
    return "calls", "tokens read", "tokens written", *(("seconds",) if timed else ())


def _figures(cost: Cost, timed: bool) -> list[str]:
    figures = [f"{cost.calls:,}", f"{cost.prompt_tokens:,}", f"{cost.reply_tokens:,}"]
    return [*figures, f"{cost.seconds:,.1f}"] if timed else figures
