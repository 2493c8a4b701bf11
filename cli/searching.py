"""`search`: what was said, thought and remembered, by its words."""

from typing import Annotated

import typer

from cli.environment import store_path
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, plain, print_json
from state.errors import UsageError, nearest_hint
from storage.search import KINDS
from storage.search import search as search_passages
from storage.store import SqliteStore


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(search)


def search(
    query: Annotated[str, typer.Argument(help='Words that must all be there; "several words"; the beginn* of one.')],
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Only this run, its parent's turns among its own.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="utterance, thought or memory; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what was said, thought or remembered, in all runs or in one.

    Example: tertulia search 'team day' --kind thought
    """
    for one in kind or []:
        if one not in KINDS:
            raise UsageError(f"--kind {one}: unknown{nearest_hint(one, KINDS)}")
    if not query.strip(' "*'):
        raise UsageError("nothing to search for; give a word")
    with SqliteStore.open(store_path(store), create=False) as opened:
        of_run = None if run is None else opened.run(run).run
        kinds = tuple(one for one in KINDS if kind is None or one in kind)
        found = search_passages(opened.file, query, of_run, kinds, limit)
    if as_json:
        passages = [vars(passage) for passage in found]
        print_json({"schema_version": SCHEMA_VERSION, "query": query, "passages": passages})
        return
    console = data()
    before = None
    for passage in found:
        if passage.run != before:
            console.print(plain(passage.run, "bold"))
            before = passage.run
        where = f"turn {passage.turn}" if passage.turn else "before it began"
        who = plain(f"{where} · {passage.agent} {_VERBS[passage.kind]}:", "dim")
        console.print("  ", who, " ", plain(passage.text), sep="")
    if not found:
        console.print(plain("nothing found", "dim"))


_VERBS = {"utterance": "says", "thought": "thinks", "memory": "remembers"}
