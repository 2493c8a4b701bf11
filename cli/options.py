"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="The store; TERTULIA_STORE, else tertulia.db in this folder."),
]
#: `--store` follows any command, so that it can stand in an alias; some have nothing to look up there.
NoStoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Accepted by every command; not needed by this one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any parameter; may be repeated.")
]
ExtensionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--extension",
        metavar="FILE",
        help="Nodes and mechanisms of your own: a file (.py), or an entry point; may be repeated.",
    ),
]
SeatOption = Annotated[
    str | None,
    typer.Option("--seat", metavar="NAME", help="Type as one of the participants; /leave leaves, and keeps the run."),
]
ThoughtsOption = Annotated[
    bool, typer.Option("--thoughts", help="In a group: under every turn, what each agent thought, and the race.")
]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="TEXT", help="What you call the run in `runs`.")]
