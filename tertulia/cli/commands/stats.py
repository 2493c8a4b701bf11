"""`stats`: participation, as in ChatAgents' Table II, or in the exchanges of an album chat."""

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, PaperOption, RunArgument, StoreOption
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.views.album import print_album_stats
from tertulia.cli.views.annotated import mark_rehearsed
from tertulia.cli.views.participation import print_participation
from tertulia.state.album import Population
from tertulia.views.measuring.participation import participation_document, published_participation, read_participation
from tertulia.views.reading.documents import album_document
from tertulia.views.reading.exchanges import read_album


def stats(run: RunArgument, paper: PaperOption = False, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Count each person's turns, wishes to speak, and the mechanisms they thought with (ChatAgents, Table II).

    Of an album chat: how many people each has met, and how many have seen which picture by the end of which round.

    Example: tertulia stats @last --json
    """
    with open_existing(store) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        mark_rehearsed(data(), record.rehearsed and not as_json)
        published = published_participation(record, start) if paper else None
        if isinstance(start, Population):
            totals, journeys = read_album(opened, record, start)
            if as_json:
                print_json(album_document(record, totals, journeys))
            else:
                print_album_stats(data(), totals, journeys)
            return
        figures = read_participation(opened, record, start)
    if as_json:
        print_json(participation_document(record, figures, published))
    else:
        print_participation(data(), start, figures, published)
