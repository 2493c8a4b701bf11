"""`timeline`: a conversation along the simulated clock."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, RunArgument, StoreOption
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.views.timeline import print_timeline
from tertulia.views.reading.rounds import find_agent
from tertulia.views.reading.timeline import read_timeline, timeline_document


def timeline(
    run: RunArgument,
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the thoughts of this agent, all of them; may be repeated."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation along the simulated clock, with the thoughts of speakers and of agents that wanted to speak.

    Example: tertulia timeline @last --agent Eva
    """
    with open_existing(store) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        chosen = [find_agent(name, start, record.run) for name in agent or []]
        turns = read_timeline(opened, record.run, start, chosen)
    if as_json:
        print_json(timeline_document(record, start, turns))
    else:
        print_timeline(data(), record, start, turns)
