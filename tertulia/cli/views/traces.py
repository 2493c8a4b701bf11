"""The state before and after every node of a turn."""

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from tertulia.cli.terminal.output import plain
from tertulia.state.cognition import Visit
from tertulia.views.reading.traces import changes_of


def print_visits(console: Console, visits: Iterable[tuple[int, Visit]]) -> None:
    """Print the state before each execution, and its changes."""
    for turn, visit in visits:
        whose = f" · {visit.agent}" if visit.agent else ""
        console.print(plain(f"turn {turn} · {visit.node}{whose}", "bold"))
        table = Table.grid(padding=(0, 2))
        for overflow in ("ellipsis", "fold", "fold"):
            table.add_column(overflow=overflow)
        for key, before, after in changes_of(visit):
            table.add_row(plain(key, "dim"), plain(before, "dim"), plain("" if after is None else f"→ {after}"))
        console.print(Padding(table, (0, 0, 1, 2)))
