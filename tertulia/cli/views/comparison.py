"""Two runs beside each other: their settings, the point at which they part, and every turn that differs."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import has_room
from tertulia.state.garbage import without_collection
from tertulia.state.text import number, told_apart
from tertulia.views.reading.comparing import RunComparison, contract_path, settings_that_differ
from tertulia.views.reading.differences import Difference, TurnComparison
from tertulia.views.wording.comparison_phrases import parting_line
from tertulia.views.wording.phrases import made_with, people_line
from tertulia.views.wording.turn_lines import turn_lines

#: Characters of a text, and of any other value, that a table shows.
_SHOWN = 160
_SHOWN_OF_VALUES = 40

_STYLES = {"A": "red", "B": "green"}


@without_collection()
def print_comparison(console: Console, compared: RunComparison, figures: dict[str, Any]) -> None:
    """Print how two runs differ, with figures of diversity if there are any; of a single turn, every difference."""
    _print_heading(console, compared)
    if made := settings_that_differ(compared):
        console.print(plain("what they were made with", "bold"))
        _print_paths(console, made)
        console.print()
    parting = compared.first_divergence
    console.print(plain(parting_line(parting) if parting else "the conversations are identical", "bold"))
    same: list[int] = []
    for turn in compared.comparison.turns:
        if turn.is_same:
            same += [turn.turn] if turn.turn else []
            continue
        _print_same(console, same)
        _print_turn(console, turn, compared)
        same = []
    _print_same(console, same)
    if figures:
        _print_figures(console, figures)


def _print_heading(console: Console, compared: RunComparison) -> None:
    for name, run, start in zip("AB", compared.runs, compared.starts, strict=True):
        made = [run.scenario, people_line(start), *made_with(run)]
        parent = [f"forked from {run.parent[0]} at turn {run.parent[1]}"] if run.parent else []
        line = " · ".join([run.run, *made, *parent, f"{run.turns} turns"])
        console.print(Text.assemble((f"{name}  ", _STYLES[name]), plain(line)))
    console.print()


def _print_same(console: Console, turns: Sequence[int]) -> None:
    """Print which turns between two that differ are the same."""
    if turns:
        which = f"turns {turns[0]} to {turns[-1]} are" if len(turns) > 1 else f"turn {turns[0]} is"
        console.print(plain(f"{which} the same", "dim"))
        console.print()


def _print_turn(console: Console, turn: TurnComparison, compared: RunComparison) -> None:
    text = "\n".join(turn_lines(turn, compared))
    if console.is_terminal:
        console.print(Text(text))
    else:  # rich takes a millisecond for it
        print(text, file=console.file, flush=True)
    if turn.a is not None and turn.b is not None and compared.turn is not None:
        _print_paths(console, turn.differences)
    console.print()


def _print_paths(console: Console, differences: Iterable[Difference]) -> None:
    """Print differences as a table or, if that is too wide, with the two values under their path."""
    rows = [
        (plain(".".join(contract_path(of))), _value(of.a, of.b, console), _value(of.b, of.a, console))
        for of in differences
    ]
    if rows and not has_room(console, rows):
        for path, a, b in rows:
            console.print(path, style="dim")
            for name, value in (("A", a), ("B", b)):
                line = Text.assemble((f"{name}  ", _STYLES[name]), value)
                console.print(Padding(line, (0, 0, 0, 2), expand=False))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, style in (("", "dim"), ("A", _STYLES["A"]), ("B", _STYLES["B"])):
        table.add_column(heading, style=style, overflow="fold", no_wrap=not heading)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _value(value: Any, other: Any, console: Console) -> Text:
    """Return a value on one line, shortened on a terminal, but not so that it looks like the other."""
    if value is None:
        return Text("–")
    if isinstance(value, float):
        return Text(told_apart(value, other))
    is_text = isinstance(value, str)
    shown = plain(value if is_text else json.dumps(value, ensure_ascii=False))
    if console.is_terminal:
        shown.truncate(_SHOWN if is_text else _SHOWN_OF_VALUES, overflow="ellipsis")
    return shown


def _print_figures(console: Console, figures: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "A", "B"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in figures["a"]:
        table.add_row(name, *(number(figures[run][name]) for run in "ab"))
    console.print(table)
