"""The heading of a model's statements about stored runs."""

from collections.abc import Sequence

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.state.records import RunRecord


def print_heading(console: Console, runs: Sequence[RunRecord], how: str, rehearsed: bool) -> None:
    """Print which runs were annotated and how, and a warning if a stand-in spoke or answered."""
    names = ", ".join(f"{run.run} ({run.scenario}, {run.turns} turns)" for run in runs)
    console.print(plain(f"{names}, {how}", "bold"))
    mark_rehearsed(console, rehearsed)
    console.print()


def mark_rehearsed(console: Console, rehearsed: bool) -> None:
    """Print what is to be known of a stand-in's figures, if that is what they are."""
    if rehearsed:
        console.print(plain("rehearsed: the figures mean nothing", "dim"))
