"""`simulate`: days of a town, conversation after conversation."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.driving import Engines, context_of, ending_noted, open_engines, reopen_engines, store_hint
from cli.environment import store_path
from cli.interrupting import run_or_abandon
from cli.live import tell_encounter, tell_town
from cli.options import JsonOption, SettingsOption, StoreOption
from cli.settings import read_seed, read_settings
from cli.terminal.output import plain, print_json, progress, progress_line, waiting
from state.context import Context
from state.errors import TertuliaError, UsageError
from state.parameters import Parameters
from state.records import RunRecord, RunStatus
from state.town import Simulation, TownContext
from storage.store import SqliteStore

if TYPE_CHECKING:
    from state.graph_state import TownState

_ENCOUNTERS_PER_DAY = 4
#: A hundred years: what is longer is a slip of the keyboard.
_LONGEST = 36_525


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(simulate)


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

    Example: tertulia simulate tidewell --days 3 --rehearse
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
                **{name: value for name, value in resolved.items() if name != "participant_models"},
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
        more = f"tertulia simulate --resume {simulation.simulation} --days {simulation.days + 1}"
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
        TertuliaError: It failed.
    """
    name = simulation.simulation
    progress().print(f"simulation {name}")

    def note(status: RunStatus, error: str | None = None) -> None:
        store.simulations.set_status(name, status, error)
        for encounter in store.simulations.encounters(name)[-1:]:  # the conversation that it was at
            if store.run(encounter.run).status == "running":
                store.set_status(encounter.run, status, error)

    def tell_end(status: RunStatus, problem: TertuliaError | None) -> None:
        if status != "finished":
            progress().print(plain(f"to go on: tertulia simulate --resume {name}{store_hint(store)}"))
        if as_json:
            _print_end(store, simulation, status)

    with store.drive_lock(name), ending_noted(store, note, tell_end):
        if not as_json:
            tell_town(simulation)
        _pass_days(store, simulation, engines, as_json)


def _pass_days(store: SqliteStore, simulation: Simulation, engines: Engines, as_json: bool) -> None:
    from graphs.driving import drive, drive_town
    from nodes.machinery.extensions import load
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
                    tell_encounter(encounter, store.run(encounter.run).turns)

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
