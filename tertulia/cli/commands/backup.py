"""`backup`: copy a store to a file that needs nothing beside it."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.state.documents import SCHEMA_VERSION


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; only you can read it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the store as it is at this moment, also while runs go on, to a file that needs no log.

    Example: tertulia backup monday.db
    """
    from tertulia.runs.files.backups import back_up

    made = {"store": str(store_path(store)), "backup": str(file), "runs": back_up(store_path(store), file, force)}
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **made})
    else:
        data().print(plain("{backup} has all of {store}; runs: {runs}".format(**made)))
