"""`simulate` and `days`: days of a town, conversation after conversation, and what becomes of them."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.driving import Engines, context_of, in_one_line, open_engines, reopen_engines, store_hint
from cli.environment import store_path
from cli.interrupting import interruptible, run_or_abandon
from cli.opening import open_embedding_model
from cli.options import JsonOption, SettingsOption, StoreOption
from cli.output import SCHEMA_VERSION, data, number, plain, print_columns, print_json, progress, progress_line, waiting
from cli.settings import read_seed, read_settings
from state.contracts import Context
from state.errors import ModelError, NotFoundError, PolylogueError, StorageError, UsageError, nearest_hint
from state.parameters import Parameters
from state.records import RunRecord, RunStatus
from state.town import FORMED, Encounter, Simulation, TownContext
from storage.store import SqliteStore

if TYPE_CHECKING:
    from metrics.diversity import Dialogue, DiversityFigures
    from state.graph_state import TownState

_ENCOUNTERS_PER_DAY = 4
#: Figures of diversity by heading: their names, and the places that are shown.
_FIGURES = {
    "sim": ("sim", 3),
    "dist-1": ("dist1", 3),
    "dist-2": ("dist2", 3),
    "dist-3": ("dist3", 3),
    "len": ("len", 1),
}
#: A hundred years: what is longer is a slip of the keyboard.
_LONGEST = 36_525


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(simulate)
    app.command()(days)


# --- simulate -------------------------------------------------------------------------------------------------------


def simulate(
    town: Annotated[str | None, typer.Argument(help="A shipped town (tidewell), or ga:FOLDER.")] = None,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=_LONGEST, help="How many days: 1 if it is not given. With --resume, how many in all."),
    ] = None,
    encounters_per_day: Annotated[
        int | None,
        typer.Option(min=1, max=390, help=f"How many are drawn for a day; {_ENCOUNTERS_PER_DAY} if not given."),
    ] = None,
    from_log: Annotated[bool, typer.Option("--from-log", help="Let people meet when the town's log says so.")] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="SIM", help="Go on with a simulation, by its id, or @last.")
    ] = None,
    removal_factor: Annotated[
        float | None, typer.Option("--lambda", help="λ in [0, 1]: how much of the attended information to remove.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all draws: 1 if it is not given.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="smollm2 (embedded, if nothing is given), a folder, a Hugging Face id, openai:NAME, or "
            "http://SERVER/v1#NAME."
        ),
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use a stand-in without weights.")] = False,
    settings: SettingsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let days pass in a town: people meet, talk, remember and reflect. Every conversation is a run of its own.

    Example: polylogue simulate tidewell --days 3 --rehearse
    """
    chosen = read_settings(settings, removal_factor=removal_factor)
    if resume is not None:
        given = {
            "TOWN": town is not None,
            "--encounters-per-day": encounters_per_day is not None,
            "--from-log": from_log,
            "--lambda or --set": bool(chosen),
            "--seed": seed is not None,
            "--model": model is not None,
            "--rehearse": rehearse,
        }
        if wrong := next((name for name, is_given in given.items() if is_given), None):
            raise UsageError(f"--resume {resume} goes on with what the simulation was begun with; leave out {wrong}")
        with SqliteStore.open(store_path(store), create=False) as opened:
            _resume(opened, opened.simulations.get(resume), days, as_json)
        return
    if town is None:
        raise UsageError("no town; name one (tidewell, or ga:FOLDER), or give --resume SIM")
    if from_log and encounters_per_day is not None:
        raise UsageError("--from-log has the encounters of the log; leave out --encounters-per-day")
    from prompts.renaming import check_known
    from worlds.town import open_town

    seed = read_seed(chosen, 1 if seed is None else seed)
    parameters = Parameters().with_settings(chosen)
    if parameters.seat is not None:
        raise UsageError(f"seat={parameters.seat}: nobody is asked while days pass; fork a conversation and sit there")
    found = open_town(town, from_log)
    check_known([one.persona.name for one in found.town.residents], parameters.names)
    with SqliteStore.open(store_path(store), create=True) as opened:
        engines = open_engines("rehearsal" if rehearse else model or "smollm2", None, parameters)
        resolved = engines.resolved(parameters)
        simulation = Simulation.model_validate(
            {
                "simulation": opened.new_run_id(),
                "status": "running",
                "town": town,
                "seed": seed,
                "days": days or 1,
                "encounters_per_day": None if from_log else encounters_per_day or _ENCOUNTERS_PER_DAY,
                "created": datetime.now(UTC),
                **{name: value for name, value in resolved.items() if name != "voices"},
            }
        )
        with waiting("reading memories"):
            streams = {
                who: (memories, engines.embedder.embed([one.text for one in memories]))
                for who, memories in found.memories.items()
            }
        opened.simulations.create(simulation, found.town, streams)
        _drive(opened, simulation, engines, as_json)


def _resume(store: SqliteStore, simulation: Simulation, days: int | None, as_json: bool) -> None:
    """Go on with a simulation; with more days than it had, a finished one too."""
    if days is not None and days < simulation.days:
        raise UsageError(f"--days {days}: simulation {simulation.simulation} has {simulation.days} already")
    if days in (None, simulation.days) and simulation.status == "finished":
        more = f"polylogue simulate --resume {simulation.simulation} --days {simulation.days + 1}"
        progress().print(plain(f"simulation {simulation.simulation} is finished; for more days: {more}"))
        if as_json:
            _print_end(store, simulation, "finished")
        return
    engines = reopen_engines(_run_of(simulation, "", 0))
    if days is not None:
        store.simulations.update(simulation.simulation, days=days)
    _drive(store, store.simulations.get(simulation.simulation), engines, as_json)


def _drive(store: SqliteStore, simulation: Simulation, engines: Engines, as_json: bool) -> None:
    """Let the days pass to the last; whatever stops them, what they left is kept and the way on is told.

    Raises:
        StorageError: Another process drives the simulation; nothing of it is touched.
        PolylogueError: It failed.
    """
    name = simulation.simulation
    progress().print(f"simulation {name}")
    with store.drive_lock(name), interruptible():
        status: RunStatus = "failed"
        try:
            store.simulations.set_status(name, "running")
            if not as_json:
                _tell_heading(simulation)
            _pass_days(store, simulation, engines, as_json)
            store.simulations.set_status(name, "finished")
            status = "finished"
        except (KeyboardInterrupt, SystemExit):
            status = "interrupted"
            _note(store, name, status)
            raise typer.Exit(130) from None
        except Exception as error:
            problem = error if isinstance(error, PolylogueError) else ModelError(in_one_line(error))
            _note(store, name, status, str(problem))
            raise problem from error
        finally:
            if status != "finished":
                progress().print(plain(f"to go on: polylogue simulate --resume {name}{store_hint(store)}"))
            if as_json:
                _print_end(store, simulation, status)


def _pass_days(store: SqliteStore, simulation: Simulation, engines: Engines, as_json: bool) -> None:
    from graphs.driving import drive, drive_town
    from nodes.extensions import load
    from storage.checkpoints import open_checkpoints

    registry = load([])
    town = store.simulations.town(simulation.simulation)

    def context_of_run(run: str) -> Context:
        return context_of(store, store.run(run), engines, registry)

    with progress_line() as (show, pause):

        def on_encounter(state: "TownState") -> None:
            encounter = store.simulations.encounter(simulation.simulation, state["day"], state["number"])
            if encounter is not None and not as_json:
                with pause():
                    _tell(encounter, store.run(encounter.run).turns)

        async def pass_them() -> None:
            async with open_checkpoints(store.path) as checkpointer:

                async def hold(context: Context) -> None:
                    def on_step(step: str, turn: int, agent: str) -> None:
                        show(f"{' and '.join(context.case.names)}: turn {turn}")

                    if store.run(context.run).status == "finished":
                        return
                    with store.drive_lock(context.run):
                        store.set_status(context.run, "running")
                        await drive(context, checkpointer, on_step)
                        store.set_status(context.run, "finished")

                context = TownContext(
                    simulation=simulation,
                    town=town,
                    store=store,
                    simulations=store.simulations,
                    embedder=engines.embedder,
                    record_of=lambda run, seed: _run_of(simulation, run, seed),
                    context_of=context_of_run,
                    hold=hold,
                )
                await drive_town(context, checkpointer, on_encounter)

        run_or_abandon(pass_them())


def _run_of(simulation: Simulation, run: str, seed: int) -> RunRecord:
    """Return the record of a run that is one of a simulation's conversations."""
    return RunRecord(
        run=run,
        status="running",
        kind="dialogue",
        scenario=simulation.town,
        model=simulation.model,
        embedder=simulation.embedder,
        rehearsed=simulation.rehearsed,
        seed=seed,
        parameters=simulation.parameters,
        created=simulation.created,  # begun again, it is the same
    )


def _note(store: SqliteStore, simulation: str, status: RunStatus, error: str | None = None) -> None:
    """Note how a simulation stands, and the conversation that it was at, as far as the store still takes it."""
    with suppress(StorageError):
        store.simulations.set_status(simulation, status, error)
        for encounter in store.simulations.encounters(simulation)[-1:]:
            if store.run(encounter.run).status == "running":
                store.set_status(encounter.run, status, error)


def _print_end(store: SqliteStore, simulation: Simulation, status: RunStatus) -> None:
    held = store.simulations.encounters(simulation.simulation)
    turns = sum(store.run(one.run).turns for one in held)
    days = len({one.day for one in held})
    print_json(
        {
            "simulation": simulation.simulation,
            "status": status,
            "days": days,
            "encounters": len(held),
            "turns": turns,
        }
    )


def _tell_heading(simulation: Simulation) -> None:
    console = data()
    schedule = (
        "by its log" if simulation.encounters_per_day is None else f"{simulation.encounters_per_day} encounters a day"
    )
    length = "1 day" if simulation.days == 1 else f"{simulation.days} days"
    console.print(plain(f"{simulation.town}: {length}, {schedule}", "bold"))
    console.print(plain(", ".join(_made_with(simulation)), "dim"))
    console.print()


def _made_with(simulation: Simulation) -> list[str]:
    rehearsed = ["rehearsed: a stand-in speaks, not a model"] if simulation.rehearsed else []
    factor = simulation.parameters["removal_factor"]
    return [f"λ = {factor:g}", simulation.model, f"seed {simulation.seed}", *rehearsed]


def _tell(encounter: Encounter, turns: int) -> None:
    place = f", {encounter.place}" if encounter.place else ""
    count = "1 turn" if turns == 1 else f"{turns} turns"
    line = f"day {encounter.day} {encounter.time:%H:%M} {' and '.join(encounter.pair)}{place}: {count}"
    data().print(plain(line), plain(f"({encounter.run})", "dim"))


# --- days -----------------------------------------------------------------------------------------------------------


def days(
    simulation: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIM...]",
            help="The id of a simulation, or @last. Several: how their conversations at the same encounter differ. "
            "None: all are listed.",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="What one resident remembers of these days, and why.")
    ] = None,
    encounters: Annotated[
        bool, typer.Option("--encounters", help="Who met, when and where, and the run that is their conversation.")
    ] = False,
    embedder: Annotated[
        str | None, typer.Option(help="What similarity is measured with; the simulation's own if it is not given.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the days of a town: how varied its conversations are, what was remembered, and what it took.

    Example: polylogue days @last --json
    """
    if agent is not None and encounters:
        raise UsageError("--agent tells what one remembers, --encounters who met; leave out one of them")
    about_one = "--agent" if agent is not None else "--encounters" if encounters else None
    if about_one and len(simulation or ()) != 1:
        raise UsageError(f"{about_one} is about one simulation; name one, or @last")
    with SqliteStore.open(store_path(store), create=False) as opened:
        chosen = list({one.simulation: one for one in map(opened.simulations.get, simulation or ())}.values())
        if not chosen:
            _list(opened.simulations.known(), as_json)
        elif len(chosen) > 1:
            _show_trials(opened, chosen, embedder, as_json)
        elif agent is not None:
            _show_memories(opened, chosen[0], agent, as_json)
        elif encounters:
            _show_encounters(opened, chosen[0], as_json)
        else:
            _show_days(opened, chosen[0], embedder, as_json)


def _show_days(store: SqliteStore, simulation: Simulation, embedder: str | None, as_json: bool) -> None:
    rows = _rows(store, simulation, embedder)
    if as_json:
        document = simulation.model_dump(mode="json", exclude={"days", "created"})
        print_json({"schema_version": SCHEMA_VERSION, **document, "days": rows})
        return
    _tell_heading(simulation)
    console = data()
    if simulation.status != "finished":
        stopped = f"{simulation.status}: {simulation.error}" if simulation.error else simulation.status
        console.print(plain(f"{stopped}; to go on: polylogue simulate --resume {simulation.simulation}"))
        console.print()
    if not rows:
        console.print(plain("nobody has met yet"))
        return
    before = {"day": "day", "date": "date", "met": "encounters", "turns": "turns"}
    behind = {"memories": "memories", "reflected": "reflections", "calls": "calls"}
    cells = [
        [*(str(row[name]) for name in before.values()), *_figures(row), *(str(row[name]) for name in behind.values())]
        for row in rows
    ]
    headings = (*before, *_FIGURES, *behind)
    print_columns(headings, cells, right=[heading for heading in headings if heading != "date"])
    tokens = sum(row["prompt_tokens"] for row in rows), sum(row["reply_tokens"] for row in rows)
    seconds = sum(row["seconds"] for row in rows)
    console.print()
    console.print(plain(f"{tokens[0]} tokens read, {tokens[1]} written, {seconds:.0f} s in the model", "dim"))
    note = "sim, dist-n and len are of all conversations of a day together; compare days with as many of them"
    console.print(plain(note, "dim"))


def _list(known: Sequence[Simulation], as_json: bool) -> None:
    if as_json:
        rows = [one.model_dump(mode="json", exclude={"parameters", "created"}) for one in known]
        print_json({"schema_version": SCHEMA_VERSION, "simulations": rows})
    elif not known:
        data().print(plain("no simulations; begin with: polylogue simulate tidewell --rehearse"))
    else:
        cells = [
            (
                one.simulation,
                one.status,
                one.town,
                f"{one.parameters['removal_factor']:g}",
                str(one.seed),
                str(one.days),
                one.model,
            )
            for one in known
        ]
        print_columns(
            ("simulation", "status", "town", "λ", "seed", "days", "model"), cells, right=("λ", "seed", "days")
        )


def _rows(store: SqliteStore, simulation: Simulation, embedder: str | None) -> list[dict[str, Any]]:
    """Return what is told of each day that has begun."""
    from metrics.diversity import metrics_of_cases

    simulations, name = store.simulations, simulation.simulation
    held: dict[int, list[Encounter]] = {}
    for one in simulations.encounters(name):
        held.setdefault(one.day, []).append(one)
    dialogues: dict[str, list[Dialogue]] = {}
    for day, encounters in held.items():
        spoken = [_lines(store, one) for one in encounters]
        dialogues[str(day)] = [lines for lines in spoken if lines]
    compared = open_embedding_model(embedder or simulation.embedder)
    with waiting("comparing conversations"):
        figures: dict[str, DiversityFigures] = metrics_of_cases(dialogues, compared)
    costs, kept, begins = simulations.costs(name), simulations.kept(name), simulations.town(name).begins
    nothing = {"calls": 0, "prompt_tokens": 0, "reply_tokens": 0, "seconds": 0.0}
    rows = []
    for day, encounters in held.items():
        date = (begins + timedelta(days=day - 1)).date()
        memories, reflections = kept.get(day, (0, 0))
        rows.append(
            {
                "day": day,
                "date": date.isoformat(),
                "encounters": len(encounters),
                "turns": sum(len(lines) for lines in dialogues[str(day)]),
                **figures[str(day)].model_dump(),
                "memories": memories,
                "reflections": reflections,
                **costs.get(day, nothing),
                "runs": [one.run for one in encounters],
            }
        )
    return rows


def _lines(store: SqliteStore, encounter: Encounter) -> "Dialogue":
    return [(turn.speaker, turn.text) for turn in store.turns(encounter.run) if turn.speaker is not None]


def _show_trials(store: SqliteStore, simulations: Sequence[Simulation], embedder: str | None, as_json: bool) -> None:
    """Tell for each day how conversations at the same encounter differ between simulations.

    Source: APP §2 (diversity over trials of a case, averaged over cases) and Fig. 2.

    Raises:
        UsageError: They have no encounter in common.
    """
    from metrics.diversity import mean_over_cases, metrics_of_cases

    held: dict[tuple[int, int, str, str], list[Dialogue]] = {}
    for simulation in simulations:
        for one in store.simulations.encounters(simulation.simulation):
            if lines := _lines(store, one):
                held.setdefault((one.day, one.number, *one.pair), []).append(lines)
    trials = {key: many for key, many in held.items() if len(many) == len(simulations)}
    if not trials:
        raise UsageError("these simulations have no encounter in common; begin them with --from-log, or the same seed")
    compared = open_embedding_model(embedder or simulations[0].embedder)
    with waiting("comparing conversations"):
        figures = metrics_of_cases({f"{day} {at}": many for (day, at, *_), many in trials.items()}, compared)
    rows = []
    for day in dict.fromkeys(day for day, *_ in trials):
        of_day = [one for case, one in figures.items() if case.partition(" ")[0] == str(day)]
        rows.append({"day": day, "encounters": len(of_day), **mean_over_cases(of_day).model_dump()})
    names = [one.simulation for one in simulations]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "simulations": names, "days": rows})
        return
    console = data()
    console.print(plain(f"{len(names)} simulations, encounters that all of them have: {', '.join(names)}", "bold"))
    console.print()
    headings = ("day", "met", *_FIGURES)
    cells = [[str(row["day"]), str(row["encounters"]), *_figures(row)] for row in rows]
    print_columns(headings, cells, right=headings)
    console.print()
    console.print(
        plain("each figure is over the conversations of one encounter, averaged over a day's encounters", "dim")
    )


def _figures(row: dict[str, Any]) -> list[str]:
    return [number(row[name], places) for name, places in _FIGURES.values()]


def _show_encounters(store: SqliteStore, simulation: Simulation, as_json: bool) -> None:
    turns = {one.run: one.turns for one in store.runs()}
    held = store.simulations.encounters(simulation.simulation)
    if as_json:
        rows = [{**one.model_dump(mode="json"), "turns": turns[one.run]} for one in held]
        print_json({"schema_version": SCHEMA_VERSION, "simulation": simulation.simulation, "encounters": rows})
        return
    for one in held:
        _tell(one, turns[one.run])


def _show_memories(store: SqliteStore, simulation: Simulation, agent: str, as_json: bool) -> None:
    town = store.simulations.town(simulation.simulation)
    names = [one.persona.name for one in town.residents]
    matching = [name for name in names if name.casefold().startswith(agent.casefold())]
    if len(matching) != 1:
        raise NotFoundError(f"nobody named {agent!r} lives in {simulation.town}{nearest_hint(agent, names)}")
    stream = store.simulations.stream(simulation, matching[0])
    known = store.remembered(stream)
    texts = {one.id: one.text for one in known}
    formed = [one for one in known if one.id.startswith(FORMED)]
    if as_json:
        document = {"simulation": simulation.simulation, "agent": matching[0], "before": len(known) - len(formed)}
        memories = [one.model_dump(mode="json") for one in formed]
        print_json({"schema_version": SCHEMA_VERSION, **document, "memories": memories})
        return
    console = data()
    console.print(plain(f"{matching[0]}: {len(formed)} memories beside {len(known) - len(formed)} from before", "bold"))
    for one in formed:
        console.print()
        console.print(plain(f"{one.created:%d %b %H:%M}  {one.kind}, importance {one.importance:g}", "dim"))
        console.print(plain(one.text))
        for id in one.evidence:
            console.print("  ", plain(f"rests on: {texts.get(id, id)}", "dim"), sep="")
