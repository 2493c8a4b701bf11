"""`restore`: put a backup in the place of a store."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.state.documents import SCHEMA_VERSION


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup, or any other store; it is not changed.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a backup, and put a copy of it in the place of the store; that is kept under another name.

    Example: tertulia restore monday.db
    """
    from tertulia.runs.files.backups import restore as restore_store

    restored = restore_store(backup, store_path(store))
    before = None if restored.before is None else str(restored.before)
    made = {"store": str(store_path(store)), "backup": str(backup), "runs": restored.runs, "before": before}
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **made})
    else:
        kept = "" if before is None else f"; the former store is {before}"
        data().print(plain("{store} is {backup} again; runs: {runs}".format(**made) + kept))
