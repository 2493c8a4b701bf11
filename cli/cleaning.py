"""`gc`: drop what finished runs no longer need."""

from typing import Annotated

import typer

from cli.environment import store_path
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, plain, print_json
from storage.store import SqliteStore

_LOST = (
    "LangGraph's own tools can then no longer step through these runs (get_state_history, langgraph dev). show, "
    "replay, diff, export and fork need no checkpoint: the state before and after every node stays."
)


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(gc)


def gc(
    run: Annotated[list[str] | None, typer.Argument(help="Ids of finished runs; all of them if none is given.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would be done.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the inner checkpoints of finished runs, and give their space back.

    Example: tertulia gc --yes
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        named = {opened.run(one).run for one in run or []}
        sizes = {one: size for one, size in opened.checkpoint_sizes().items() if not named or one in named}
        kept = {one.run: one.status for one in opened.runs() if one.status != "finished" and one.run in sizes}
        dropped = {one: size for one, size in sizes.items() if one not in kept}
        if yes and dropped:
            opened.drop_checkpoints(dropped)
    if as_json:
        document = {"runs": [{"run": one, "bytes": size} for one, size in dropped.items()], "done": yes, "kept": kept}
        print_json({"schema_version": SCHEMA_VERSION, **document})
        return
    console = data()
    for one, status in kept.items():
        console.print(plain(f"{one} is {status}, and keeps its checkpoints: it goes on from them"))
    if not dropped:
        console.print(plain("no finished run has checkpoints; nothing to do"))
        return
    count = "1 finished run" if len(dropped) == 1 else f"{len(dropped)} finished runs"
    verb = "dropped" if yes else "would drop"
    console.print(plain(f"{verb} the checkpoints of {count}, {sum(dropped.values()) / 1e6:.1f} MB"))
    console.print(plain(_LOST, "dim"))
    if not yes:
        console.print(plain("to do it: tertulia gc --yes"))
