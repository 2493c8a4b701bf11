"""`gc`: drop checkpoints that finished runs no longer need."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.text import counted
from tertulia.views.reading.listing import checkpoints_of

_LOST = (
    "LangGraph's own tools can then no longer step through these runs (get_state_history, langgraph dev). show, "
    "replay, diff, export and fork need no checkpoint: the state before and after every node stays."
)


def gc(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Ids of finished runs; all of them if none is given."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would be done.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the inner checkpoints of finished runs, and give their space back.

    Example: tertulia gc --yes
    """
    with open_existing(store) as opened:
        dropped, kept = checkpoints_of(opened, run or [])
        if yes and dropped:
            opened.drop_checkpoints(dropped)
    if as_json:
        rows = [{"run": name, "bytes": size} for name, size in dropped.items()]
        print_json({"schema_version": SCHEMA_VERSION, "runs": rows, "done": yes, "kept": kept})
        return
    console = data()
    for name, status in kept.items():
        console.print(plain(f"{name} is {status}, and keeps its checkpoints: it goes on from them"))
    if not dropped:
        console.print(plain("no finished run has checkpoints; nothing to do"))
        return
    verb = "dropped" if yes else "would drop"
    size = f"{sum(dropped.values()) / 1e6:.1f} MB"
    console.print(plain(f"{verb} the checkpoints of {counted(len(dropped), 'finished run')}, {size}"))
    console.print(plain(_LOST, "dim"))
    if not yes:
        console.print(plain("to do it: tertulia gc --yes"))
