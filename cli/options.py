"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="The store; POLYLOGUE_STORE, else polylogue.db in this folder."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
