"""`gc`: drop checkpoints that finished runs, and threads of a user's own graphs, no longer need."""

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

_LOST_OF_THREADS = "They go on as before; their time travel (get_state_history) begins at the last checkpoint."


def gc(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Ids of finished runs; all of them if none is given."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would be done.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the inner checkpoints of finished runs, and the superseded ones of your graphs' threads; free the space.

    Example: tertulia gc --yes
    """
    with open_existing(store) as opened:
        dropped, kept = checkpoints_of(opened, run or [])
        threads = {} if run else opened.superseded_checkpoints()
        freed = opened.drop_checkpoints(dropped, threads) if yes else opened.file.unused_bytes()
    if as_json:
        rows = [{"run": name, "bytes": size} for name, size in dropped.items()]
        old = [{"thread": name, "bytes": size} for name, size in threads.items()]
        print_json({"schema_version": SCHEMA_VERSION, "runs": rows, "threads": old, "done": yes, "kept": kept})
        return
    console = data()
    for name, status in kept.items():
        console.print(plain(f"{name} is {status}, and keeps its checkpoints: it goes on from them"))
    verb = "dropped" if yes else "would drop"
    if dropped:
        of = counted(len(dropped), "finished run")
        console.print(plain(f"{verb} the checkpoints of {of}, {_megabytes(dropped)}"))
        console.print(plain(_LOST, "dim"))
    if threads:
        of = counted(len(threads), "thread")
        console.print(plain(f"{verb} the superseded checkpoints of {of} of your graphs, {_megabytes(threads)}"))
        console.print(plain(_LOST_OF_THREADS, "dim"))
    if freed > 0:
        console.print(plain(f"{'freed' if yes else 'would free'} {freed / 1e6:.1f} MB that nothing in the file uses"))
    if not (dropped or threads or freed):
        console.print(plain("no finished run has checkpoints, and no thread superseded ones; nothing to do"))
    elif not yes:
        console.print(plain("to do it: tertulia gc --yes"))


def _megabytes(sizes: dict[str, int]) -> str:
    return f"{sum(sizes.values()) / 1e6:.1f} MB"
