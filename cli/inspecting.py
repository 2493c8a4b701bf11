"""`runs`, `show` and `timeline`: look into what is stored; no model is asked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from cli.cognition_view import agent_json, calls_json, print_calls, print_character, print_round
from cli.cost_view import Prices, cost_json, print_cost
from cli.documents import meeting_json, parent_json, round_json, run_json
from cli.environment import store_path
from cli.lines import in_words, meeting_heading, order_of, people_line, print_turn, settings
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, grouped, plain, print_columns, print_json
from cli.rounds import calls_of, find_agent, read_characters, read_round
from cli.settings import read_prices
from cli.timeline_view import print_timeline, read_timeline, timeline_json
from cli.trace_view import print_visits, read_visits, visits_json
from cli.turn_view import print_making, removed_at, turn_json
from state.errors import NotFoundError, UsageError
from state.meeting import Meeting, Start
from state.parameters import Parameters
from state.records import RunRecord
from state.town import Simulation
from storage.store import SqliteStore


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(runs)
    app.command()(show)
    app.command()(timeline)


def runs(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List all runs, newest first; forks stand under what they were forked from, a simulation's conversations as one.

    Example: tertulia runs --json
    """
    path = store_path(store)
    known: list[RunRecord] = []
    simulations: list[Simulation] = []
    conversations: dict[str, str] = {}
    if path.exists():
        with SqliteStore.open(path, create=False) as opened:
            known, simulations = opened.runs(), opened.simulations.known()
            conversations = opened.simulations.conversations()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "runs": [_run_row(run, conversations) for run in known]})
        return
    if not known:
        data().print(plain(f"no runs in {path}; begin with: tertulia run tidewell"))
        return
    headings = ("run", "status", "scenario", "order", "λ", "seed", "turns", "model", "from")
    held = Counter(conversations.values())
    tree = _tree([*_folded(known, simulations, conversations)], conversations)
    rows = [_cells(run, depth, held[run.run]) for run, depth in tree]
    print_columns(headings, rows, right=("λ", "seed", "turns"))
    if conversations:
        data().print(plain("the conversations of a simulation: tertulia days SIM --encounters", "dim"))


def show(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    turn: Annotated[
        int | None,
        typer.Option(
            "--turn",
            "--round",
            help="Look into this turn: what was thought, attended, removed, judged; 0: how a meeting began.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="One agent alone; with --turn, every prompt and reply of theirs too."),
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="The state before and after this node; `all` for every node.")
    ] = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="Calls of models, tokens and time, by agent and by step.")
    ] = False,
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            metavar="MODEL=READ,WRITTEN",
            help="With --cost: what a million tokens read, and written, cost of this model; may be repeated.",
        ),
    ] = None,
    removal_factor: Annotated[
        float | None, typer.Option("--lambda", help="With --turn: what would be removed at this λ.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation, or how one of its turns came about.

    Example: tertulia show @last --turn 3 --lambda 0.8
    """
    if removal_factor is not None and turn is None:
        raise UsageError("--lambda asks what would be removed in a turn; name it with --turn N")
    if removal_factor is not None and (node is not None or cost):
        raise UsageError("--lambda asks what would be removed; leave out --node and --cost")
    if price and not cost:
        raise UsageError("--price says what tokens cost; give --cost with it")
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        if agent is not None:
            agent = find_agent(agent, start, record.run)
        if turn is not None and not (turn == 0 and isinstance(start, Meeting)):
            opened.turn_record(record.run, turn)  # complains where there is none
        if cost:
            _show_cost(opened, record, turn, agent, read_prices(price), as_json)
        elif node is not None:
            visits = read_visits(opened, record, turn, None if node == "all" else node, agent)
            if as_json:
                print_json({"schema_version": SCHEMA_VERSION, "run": record.run, "visits": visits_json(visits)})
            else:
                print_visits(data(), visits)
        elif turn is None and agent is None:
            _show_run(opened, record, start, as_json)
        elif turn is None:
            _show_agent(opened, record, start, agent or "", as_json)
        elif turn == 0 and isinstance(start, Meeting) and removal_factor is None:
            _show_beginning(opened, record, start, agent, as_json)
        else:
            _show_turn(opened, record, start, turn, agent, removal_factor, as_json)


def timeline(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the thoughts of this agent, all of them; may be repeated."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation along the simulated clock, with the thoughts of who spoke and of who wanted to.

    Example: tertulia timeline @last --agent Eva
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        chosen = [find_agent(name, start, record.run) for name in agent or []]
        moments = read_timeline(opened, record.run, start, chosen)
    if as_json:
        print_json(timeline_json(record, start, moments))
    else:
        print_timeline(data(), record, start, moments)


def _show_cost(
    store: SqliteStore, run: RunRecord, turn: int | None, agent: str | None, prices: Prices, as_json: bool
) -> None:
    """Show what the run itself took; what its parents took before the fork is theirs."""
    calls = [call for call in store.calls(run.run, turn, own=turn is None) if agent in (None, call.agent)]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "run": run.run, **cost_json(calls, not run.rehearsed, prices)})
        return
    console = data()
    if run.parent and turn is None:
        shared = f"since the fork at turn {run.parent[1]}; what came before was paid by {run.parent[0]}"
        console.print(plain(shared, "dim"))
    print_cost(console, calls, not run.rehearsed, prices)


def _show_agent(store: SqliteStore, run: RunRecord, start: Start, agent: str, as_json: bool) -> None:
    """Show one agent through the whole run: what they thought and bid, or what they said."""
    said = [turn for turn in store.turns(run.run) if turn.speaker == agent]
    if isinstance(start, Meeting):
        rounds = [read_round(store, run.run, number, start) for number in range(1, run.turns + 1)]
        own = [(one.round, mind) for one in rounds for mind in one.agents if mind.agent == agent]
        if not as_json:
            print_timeline(data(), run, start, read_timeline(store, run.run, start, [agent]))
            return
        minds = [{"round": number, **agent_json(mind)} for number, mind in own]
    else:
        minds = []
        if not as_json:
            for turn in said:
                print_turn(data(), turn, start)
            return
    turns = [turn.model_dump(mode="json") for turn in said]
    print_json({"schema_version": SCHEMA_VERSION, "run": run.run, "agent": agent, "turns": turns, "cognition": minds})


def _cells(run: RunRecord, depth: int, held: int) -> tuple[str, ...]:
    """Return a run as a line of the table, or a simulation that has `held` conversations."""
    order = order_of(run)
    origin = f"{run.parent[0]} turn {run.parent[1]}" if run.parent else ""
    return (
        f"{'  ' * (depth - 1)}└ {run.run}" if depth else run.run,
        run.status,
        run.scenario,
        in_words(order) if order else "–",
        f"{run.parameters.get('removal_factor', 0):g}",
        str(run.seed),
        str(run.turns),
        run.model,
        (f"{held} conversations" if held > 1 else "1 conversation") if held else origin,
    )


def _folded(
    runs: Sequence[RunRecord], simulations: Sequence[Simulation], conversations: Mapping[str, str]
) -> Iterator[RunRecord]:
    """Yield runs in their order, and in the place of a simulation's newest conversation one that stands for all."""
    turns: Counter[str] = Counter()
    for run in runs:
        turns[conversations.get(run.run, "")] += run.turns
    left = {one.simulation: one for one in simulations}
    for run in runs:
        if run.run not in conversations:
            yield run
        elif simulation := left.pop(conversations[run.run], None):
            name = simulation.simulation
            own = {"run": name, "status": simulation.status, "seed": simulation.seed, "turns": turns[name]}
            yield run.model_copy(update=own)


def _tree(runs: Sequence[RunRecord], conversations: Mapping[str, str]) -> Iterator[tuple[RunRecord, int]]:
    """Yield runs with their depth in the tree of forks, each before its forks, else in the order given.

    Forks of a simulation's conversation stand under the simulation.
    """
    forks: dict[str, list[RunRecord]] = {}
    for run in runs:
        parent = run.parent[0] if run.parent else ""
        forks.setdefault(conversations.get(parent, parent), []).append(run)
    stack = [(run, 0) for run in reversed(forks.get("", []))]
    while stack:
        run, depth = stack.pop()
        yield run, depth
        stack += [(fork, depth + 1) for fork in reversed(forks.get(run.run, []))]


def _run_row(run: RunRecord, conversations: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": run.run,
        "status": run.status,
        "scenario": run.scenario,
        "order": order_of(run),
        "model": run.model,
        "seed": run.seed,
        "turns": run.turns,
        "parent": parent_json(run),
        "simulation": conversations.get(run.run),
        "removal_factor": run.parameters.get("removal_factor"),
        "rehearsed": run.rehearsed,
        "created": run.created.isoformat(),
        "error": run.error,
    }


def _show_run(store: SqliteStore, run: RunRecord, start: Start, as_json: bool) -> None:
    turns = store.turns(run.run)
    opening = start.opening_turn if isinstance(start, Meeting) else None
    if as_json:
        print_json(run_json(run, start) | {"turns": [turn.model_dump(mode="json") for turn in turns]})
        return
    console = data()
    state = [run.status, *settings(run), *(["rehearsed"] if run.rehearsed else [])]
    if isinstance(start, Meeting):
        console.print(plain(f"{run.run} · {run.scenario}", "bold"))
        console.print(meeting_heading(start))
        console.print(plain(people_line(start)))
    else:
        place = f" · {start.place}" if start.place else ""
        console.print(plain(f"{run.run} · {run.scenario} · {start.time:%Y-%m-%d %H:%M}{place}", "bold"))
    console.print(plain(" · ".join(state), "dim"))
    if run.error:
        console.print(plain(f"stopped by: {run.error}", "red"))
    for note in grouped(start.withheld, start.names):
        console.print(plain(f"left out: {note}", "dim"))
    console.print()
    silence_s = Parameters.model_validate(run.parameters).silence_s
    for turn in [opening, *turns] if opening else turns:
        print_turn(console, turn, start, silence_s)


def _show_turn(
    store: SqliteStore,
    run: RunRecord,
    start: Start,
    number: int,
    agent: str | None,
    what_if: float | None,
    as_json: bool,
) -> None:
    record = store.turn_record(run.run, number)
    candidates = store.candidates(run.run, number)
    prompt = store.prompt(record.prompt) if record.prompt else None
    removed = set(record.removed)
    if what_if is not None:
        removed = set(removed_at(run, record, prompt, what_if))
    round = read_round(store, run.run, record.turn.round, start) if isinstance(start, Meeting) else None
    if round is not None and agent is not None and agent not in [one.agent for one in round.agents]:
        raise NotFoundError(f"{agent} was not there in turn {number} of run {run.run}; see tertulia show {run.run}")
    calls = calls_of(store, run.run, record.turn.round, agent) if agent is not None else []
    if as_json:
        document = turn_json(run, record, prompt, candidates, removed, what_if)
        if round is not None:
            document |= round_json(store, run.run, round, agent)
        if agent is not None:
            document["calls"] = calls_json(calls, store)
        print_json(document)
        return
    console, parameters = data(), Parameters.model_validate(run.parameters)
    print_turn(console, record.turn, start, parameters.silence_s)
    console.print()
    if round is not None:
        print_round(console, round, parameters, agent)
    print_calls(console, calls, store)
    if record.turn.speaker is not None and agent is None:
        print_making(console, run, record, prompt, candidates, removed, what_if)


def _show_beginning(store: SqliteStore, run: RunRecord, meeting: Meeting, agent: str | None, as_json: bool) -> None:
    """Show how a meeting opened, and who came to it."""
    opening = meeting.opening_turn
    characters = {name: one for name, one in read_characters(store, run.run).items() if agent in (None, name)}
    calls = calls_of(store, run.run, 0, agent) if agent is not None else []
    if as_json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "run": run.run,
            **meeting_json(meeting),
            "characters": [{"agent": name, **one.model_dump(mode="json")} for name, one in characters.items()],
        }
        print_json(document | ({"calls": calls_json(calls, store)} if agent is not None else {}))
        return
    console = data()
    console.print(meeting_heading(meeting))
    console.print(plain(meeting.description))
    if opening is not None:
        print_turn(console, opening, meeting)
    console.print()
    for name, character in characters.items():
        print_character(console, name, character)
    print_calls(console, calls, store)
