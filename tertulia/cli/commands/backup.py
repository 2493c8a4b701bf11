"""`backup`: copy a store to a file that needs nothing beside it."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.text import counted


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; only you can read it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the store as it is at this moment, also while runs go on.

    Unlike a copy by hand, the file has the changes that are still in the store's log, and no log of the store fits it.

    Example: tertulia backup monday.db
    """
    from tertulia.runs.files.backups import back_up, check_has_file

    check_has_file(store_path(store))
    with open_existing(store) as opened:
        runs = back_up(opened, file, force)
        path = str(opened.path)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "store": path, "backup": str(file), "runs": runs})
    else:
        data().print(plain(f"{file} has {counted(runs, 'run')}"))
