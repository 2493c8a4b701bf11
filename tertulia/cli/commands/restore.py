"""`restore`: put a backup in the place of a store."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.text import counted


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup, or any other store; it is not changed.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a backup, and put a copy of it in the place of the store.

    The former store and its log are kept under another name, which is printed. No program may have the store open.

    Example: tertulia restore monday.db
    """
    from tertulia.runs.files.backups import restore as restore_store

    path = store_path(store)
    restored = restore_store(backup, path)
    before = None if restored.before is None else str(restored.before)
    if as_json:
        document = {"store": str(path), "backup": str(backup), "runs": restored.runs, "before": before}
        print_json({"schema_version": SCHEMA_VERSION, **document})
        return
    data().print(plain(f"{path} is {backup} again, with {counted(restored.runs, 'run')}"))
    if before is not None:
        data().print(plain(f"the former store is {before}"))
