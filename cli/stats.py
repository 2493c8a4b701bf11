"""`stats`: who took part how much, as in ChatAgents' Table II."""

from cli.environment import store_path
from cli.options import JsonOption, PaperOption, RunArgument, StoreOption
from cli.terminal.output import data, print_json
from cli.views.participation import print_participation
from storage.store import SqliteStore
from tertulia.participation import participation_document, published_participation, read_participation


def stats(run: RunArgument, paper: PaperOption = False, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Count who spoke, who wanted to, and what they thought with (ChatAgents, Table II).

    Example: tertulia stats @last --json
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        figures = read_participation(opened, record, start)
    published = published_participation(record, start) if paper else None
    if as_json:
        print_json(participation_document(record, figures, published))
    else:
        print_participation(data(), start, figures, published)
