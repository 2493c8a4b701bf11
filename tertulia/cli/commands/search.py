"""`search`: find utterances, thoughts and memories by their words."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.storage.parts.search import KINDS
from tertulia.storage.parts.search import search as search_passages
from tertulia.views.reading.shared_turns import as_it_was
from tertulia.views.wording.phrases import REHEARSED

_VERBS = {"utterance": "says", "thought": "thinks", "memory": "remembers"}


def search(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help='Words that must all be there; "several words"; the beginn* of a word.'),
    ],
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Only this run, with the turns it shares with its parent."),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="utterance, thought or memory; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find utterances, thoughts and the memories that a run begins with, in all runs or in one; not a town's memories.

    Example: tertulia search 'team day' --kind thought
    """
    if unknown := next((name for name in kind or [] if name not in KINDS), None):
        raise UsageError(f"--kind {unknown}: unknown{nearest_hint(unknown, KINDS)}")
    if not query.strip(' "*'):
        raise UsageError("nothing to search for; give a word")
    with open_existing(store) as opened:
        of_run = None if run is None else opened.run(run).run
        kinds = tuple(name for name in KINDS if kind is None or name in kind)
        passages = search_passages(opened.file, query, of_run, kinds, limit + 1)
        of_towns = "; a town's memories: tertulia days SIM --agent NAME" if opened.simulations.all() else ""
        rehearsed = {of.run for of in passages if as_it_was(opened, opened.run(of.run), of.turn).rehearsed}
    if len(passages) > limit:
        passages = passages[:limit]
        progress().print(f"there is more than these {limit}; --limit shows it")
    if as_json:
        found = [{**vars(passage), "rehearsed": passage.run in rehearsed} for passage in passages]
        print_json({"schema_version": SCHEMA_VERSION, "query": query, "passages": found})
        return
    console, before = data(), ""
    for passage in passages:
        if passage.run != before:
            marked = f", {REHEARSED}" if passage.run in rehearsed else ""
            console.print(plain(passage.run, "bold"), plain(marked, "dim"), sep="")
            before = passage.run
        where = f"turn {passage.turn}" if passage.turn else "before it began"
        who = plain(f"{where} · {passage.agent} {_VERBS[passage.kind]}:", "dim")
        console.print("  ", who, " ", plain(passage.text), sep="")
    if not passages:
        console.print(plain(f"nothing found{of_towns}", "dim"))
