"""`fork`: a run that has its parent's turns up to a point, and goes on with something changed."""

from functools import partial
from typing import Annotated

import typer

from cli.environment import store_path
from cli.live_run import drive_shown
from cli.options import (
    ExtensionOption,
    JsonOption,
    LabelOption,
    SeatOption,
    SettingsOption,
    StoreOption,
    ThoughtsOption,
)
from cli.settings import read_pair, read_seed, read_settings
from cli.terminal.commands import add
from storage.store import SqliteStore


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add(app, fork)


def fork(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    at: Annotated[int, typer.Option("--at", metavar="N", help="Keep turns 1 to N-1, and go on from there.")],
    settings: SettingsOption = None,
    removal_factor: Annotated[float | None, typer.Option("--lambda", help="λ in [0, 1] from here on.")] = None,
    rounds: Annotated[int | None, typer.Option(help="At most so many rounds in all.")] = None,
    order: Annotated[str | None, typer.Option(help="Another speaking order.")] = None,
    model: Annotated[str | None, typer.Option(help="Another model.")] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            metavar="NAME.FIELD=VALUE",
            help="Change a field of somebody, under its name in scenario files; may be repeated.",
        ),
    ] = None,
    remember: Annotated[
        list[str] | None, typer.Option("--remember", metavar="NAME=TEXT", help="Give somebody a memory.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", metavar="NAME=ID", help="Take a memory from somebody.")
    ] = None,
    mechanisms: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="What agents of a group may switch on from here on.")
    ] = None,
    say: Annotated[
        str | None, typer.Option("--say", metavar="TEXT", help="Let the speaker of turn N say this, then go on.")
    ] = None,
    label: LabelOption = None,
    seat: SeatOption = None,
    extension: ExtensionOption = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on from a turn of a run as a run of its own, with something changed or nothing.

    The parent stays as it is; its turns before N are shared, not copied.

    Example: tertulia fork @last --at 3 --lambda 0.8
    """
    from tertulia.forking import StartChanges, plan_fork
    from tertulia.starting import Additions, begin

    chosen = read_settings(settings, removal_factor=removal_factor, max_turns=rounds, order=order)
    changes = StartChanges(
        person=[read_pair("--person", given, "'NAME.emotion=annoyed'") for given in person or []],
        remember=[read_pair("--remember", given, "'NAME=The key is under the mat.'") for given in remember or []],
        forget=[read_pair("--forget", given, "NAME=memory_3") for given in forget or []],
        mechanisms=None if mechanisms is None else [name.strip() for name in mechanisms.split(",") if name.strip()],
    )
    with SqliteStore.open(store_path(store), create=False) as opened:
        parent = opened.run(run)
        seed = read_seed(chosen, parent.seed)
        plan = plan_fork(
            opened,
            parent,
            at,
            chosen,
            changes=changes,
            model=model,
            seed=seed,
            say=say,
            seat=seat,
            additions=Additions(extension or ()),
            label=label,
        )
        drive_shown(opened, plan.model, partial(begin, opened, plan), as_json, thoughts)
