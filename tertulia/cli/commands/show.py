"""`show`: look into a conversation, one of its turns, an agent, a node, or its cost.

No model is asked, unless `--check` has it read a line.
"""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, PriceOption, RunArgument, StoreOption
from tertulia.cli.terminal.checking import check_line
from tertulia.cli.terminal.lines import print_turn
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.views.album import print_diary, print_exchange_making, print_journey
from tertulia.cli.views.annotated import mark_rehearsed
from tertulia.cli.views.cognition import print_calls, print_round
from tertulia.cli.views.conversation import print_opening, print_run
from tertulia.cli.views.costs import print_cost
from tertulia.cli.views.timeline import print_timeline
from tertulia.cli.views.traces import print_visits
from tertulia.cli.views.turn import print_making
from tertulia.state.album import Population
from tertulia.state.budget import Prices
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.costs import calls_paid, cost_document, read_prices
from tertulia.views.reading.documents import (
    agent_in_run_document,
    conversation_document,
    opening_document,
    turn_document,
)
from tertulia.views.reading.exchanges import read_exchanges, read_journey
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.reading.rounds import find_agent
from tertulia.views.reading.shared_turns import as_it_was
from tertulia.views.reading.timeline import read_timeline
from tertulia.views.reading.traces import read_visits, visits_document
from tertulia.views.reading.turns import TurnDetails, read_turn
from tertulia.views.reading.why import why_turn

TurnOption = Annotated[
    int | None,
    typer.Option(
        "--turn",
        "--round",
        metavar="N",
        help="Look into this turn: what was thought, attended, removed, judged; 0: how a meeting began.",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One agent alone; with --turn, every prompt and reply of theirs too."),
]
PictureOption = Annotated[
    str | None,
    typer.Option(metavar="PICTURE", help="In an album chat: the journey of a picture, by its id or its caption."),
]
NodeOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The state before and after this node; `all` for every node.")
]
CostOption = Annotated[bool, typer.Option("--cost", help="Calls of models, tokens and time, by agent and by step.")]
WhatIfOption = Annotated[
    float | None, typer.Option("--lambda", metavar="X", help="With --turn: what would be removed at this λ.")
]

CheckOption = Annotated[
    bool,
    typer.Option(
        "--check",
        help="With --turn: measure what the line loses without units, and in a meeting the thought; kept.",
    ),
]
ReaderOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="With --check: the model that reads the line; the run's own if it is not given."),
]
CallsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=8, help="With --check: readings of a line, at most.  [default: 64]"),
]


def show(
    run: RunArgument,
    turn: TurnOption = None,
    agent: AgentOption = None,
    picture: PictureOption = None,
    node: NodeOption = None,
    cost: CostOption = False,
    price: PriceOption = None,
    removal_factor: WhatIfOption = None,
    check: CheckOption = False,
    reader: ReaderOption = None,
    calls: CallsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation, or how one of its turns came about.

    Example: tertulia show @last --turn 3 --check
    """
    _refuse_mixed(turn, picture, removal_factor, check, is_other=node is not None or cost)
    if picture is not None and (agent is not None or node is not None or cost):
        raise UsageError("--picture shows a picture's journey; leave out --turn, --agent, --node and --cost")
    if price and not cost:
        raise UsageError("--price says what tokens cost; give --cost with it")
    if (reader is not None or calls is not None) and not check:
        raise UsageError("--reader and --calls say how a line is checked; give --check with them")
    with open_existing(store) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        agent = find_agent(agent, start, record.run) if agent is not None else None
        is_opening = turn == 0 and isinstance(start, Meeting)
        if turn is not None and not is_opening:
            opened.turn_record(record.run, turn)  # raises NotFoundError if there is none
        if picture is not None:
            _show_journey(opened, record, start, picture, as_json)
        elif cost:
            _show_cost(opened, record, turn, agent, read_prices(price), as_json)
        elif node is not None:
            visits = read_visits(opened, record, turn, None if node == "all" else node, agent)
            if as_json:
                print_json(visits_document(record, visits))
            else:
                print_visits(data(), visits)
        elif turn is None:
            _show_conversation(opened, record, start, agent, as_json)
        elif isinstance(start, Meeting) and is_opening and removal_factor is None:
            if as_json:
                print_json(opening_document(opened, record, start, agent))
            else:
                print_opening(data(), opened, record, start, agent)
        else:
            if check:
                check_line(opened, record, start, turn, reader, calls, agent)
            _show_turn(opened, start, read_turn(opened, record, start, turn, agent, removal_factor, reader), as_json)


def _refuse_mixed(
    turn: int | None, picture: str | None, removal_factor: float | None, check: bool, *, is_other: bool
) -> None:
    """Refuse an option about a turn without a turn, or beside a view of something else."""
    if removal_factor is not None and turn is None:
        raise UsageError("--lambda asks what would be removed in a turn; name it with --turn N")
    if removal_factor is not None and is_other:
        raise UsageError("--lambda asks what would be removed; leave out --node and --cost")
    if check and not turn:
        raise UsageError("--check measures what a line leaned on; name its turn with --turn N, from 1")
    if check and is_other:
        raise UsageError("--check measures what a line leaned on; leave out --node and --cost")
    if picture is not None and turn is not None:
        raise UsageError("--picture shows a picture's journey; leave out --turn, --agent, --node and --cost")


def _show_journey(store: SqlStore, run: RunRecord, start: Start, picture: str, as_json: bool) -> None:
    journey = read_journey(store, run, start, picture)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "run": run.run, **journey.document()})
    else:
        print_journey(data(), run, journey)


def _show_cost(
    store: SqlStore, run: RunRecord, turn: int | None, agent: str | None, prices: Prices, as_json: bool
) -> None:
    calls, was = calls_paid(store, run, turn, agent), as_it_was(store, run, run.turns + 1 if turn is None else turn)
    if as_json:
        costs = cost_document(calls, not was.rehearsed, prices)
        print_json({"schema_version": SCHEMA_VERSION, "run": run.run, **costs})
        return
    console = data()
    mark_rehearsed(console, was.rehearsed)
    if run.parent and turn is None:
        shared = f"since the fork at turn {run.parent[1]}; what came before was paid by {run.parent[0]}"
        console.print(plain(shared, "dim"))
    print_cost(console, calls, not was.rehearsed, prices)


def _show_conversation(store: SqlStore, run: RunRecord, start: Start, agent: str | None, as_json: bool) -> None:
    if as_json:
        print_json(
            conversation_document(store, run, start)
            if agent is None
            else agent_in_run_document(store, run, start, agent)
        )
    elif agent is None:
        print_run(data(), store, run, start)
    elif isinstance(start, Meeting):
        print_timeline(data(), run, start, read_timeline(store, run.run, start, [agent]))
    elif isinstance(start, Population):
        exchanges = [met for met in read_exchanges(store, run.run, start) if met.concerns(agent)]
        print_diary(data(), run, agent, exchanges, start)
    else:
        turns = store.turns(run.run)
        edited = rewritten_turns(store, run.run, turns)
        for turn in turns:
            if turn.speaker == agent:
                print_turn(data(), turn, start, is_edited=turn.turn in edited)


def _show_turn(store: SqlStore, start: Start, details: TurnDetails, as_json: bool) -> None:
    if as_json:
        print_json(turn_document(store, details))
        return
    console, parameters = data(), Parameters.model_validate(details.run.parameters)
    console.print(plain(why_turn(details), "bold"))
    if isinstance(start, Population):
        print_exchange_making(console, details, start)
        print_calls(console, details.calls, store)
        return
    turn = details.record.turn
    print_turn(console, turn, start, parameters.silence_s, None, bool(rewritten_turns(store, details.run.run, [turn])))
    console.print()
    if details.round is not None:
        print_round(console, details, details.round, parameters)
    print_calls(console, details.calls, store)
    if details.record.turn.speaker is not None and details.agent is None:
        print_making(console, details)
