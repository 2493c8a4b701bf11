"""`merge`: unite stores."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli.environment import print_note
from tertulia.cli.options import JsonOption, NoStoreOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import StatusLine
from tertulia.lab.experiments.experiment import agree_to_growth, joined_definitions
from tertulia.runs.files.shard_files import is_address, shown
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError
from tertulia.state.text import counted
from tertulia.storage.addresses import store_address
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.runs.files.merging import MergedSource


def merge(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE…", help="Store files, folders with *.db, patterns, or addresses such as s3://BUCKET/FOLDER."
        ),
    ],
    into: Annotated[str, typer.Option("--into", metavar="STORE", help="The store that they are merged into.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before cases or settings are added to an experiment.")
    ] = False,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Unite stores: runs of colleagues, or of workers, with all that belongs to them.

    No source is changed, and merging again changes nothing. Two different runs of one id are refused by name, as are
    unreadable runs and sources; the rest goes on, and the exit code is 1. Before a source adds cases or settings to an
    experiment of yours, they are listed, and you are asked; if nobody can be asked, it is refused without --yes.

    Example: tertulia merge mine.db from_ada.db shards/ --into all.db
    """
    from tertulia.runs.files.merging import merge_stores

    address = store_address(into)
    if isinstance(address, Path) and is_address(into):
        raise UsageError(f"--into {shown(into)} is no store that can be written; name a file, then copy it there")

    def may_grow(question: str) -> bool:
        if yes:
            print_note(question)
        return yes or StatusLine(None).confirm(question)

    show, agreed = (lambda source: None if as_json else _print(source)), partial(agree_to_growth, ask=may_grow)
    merged = merge_stores(sources, address, joined_definitions, show, agreed)
    with SqlStore.open(address, create=False) as target:
        runs = target.file.rows("SELECT count(*) AS runs FROM runs")[0]["runs"]
    if as_json:
        documents = [source.document for source in merged]
        print_json({"schema_version": SCHEMA_VERSION, "into": str(address), "sources": documents, "runs": runs})
    else:
        data().print(plain(f"{address} has {counted(runs, 'run')}"))
    if any(source.merged.refused for source in merged):
        progress().print(plain(_REFUSED.format(into=shlex.quote(str(address)))))
    if not all(source.is_whole for source in merged):
        raise typer.Exit(1)


_REFUSED = (
    "what was refused is still in its source: to have it, merge that into another store, or remove what is in its "
    "place (tertulia runs rm RUN --store {into}) and merge again"
)


def _print(source: "MergedSource") -> None:
    if source.error is not None:
        progress().print(plain(f"error: {source.source}: {source.error}"))
        return
    merged = source.merged
    done = {"added": merged.added, "continued": merged.continued, "unchanged": merged.unchanged}
    parts = [f"{len(runs)} {what}" for what, runs in done.items() if runs] or ["no runs"]
    progress().print(plain(f"{source.source}: {', '.join(parts)}"))
    for what, reason in merged.refused.items():
        progress().print(plain(f"  refused: {what}: {reason}"))
