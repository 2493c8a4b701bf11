"""`simulate`: days of a town, conversation after conversation."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cli.environment import model_access, store_path
from cli.live import tell_encounter, tell_town
from cli.live_run import store_hint, way_out
from cli.options import JsonOption, SettingsOption, StoreOption
from cli.settings import read_seed, read_settings
from cli.terminal.commands import add
from cli.terminal.output import plain, print_json, progress
from cli.terminal.status_line import status_line
from state.errors import UsageError
from state.town import Simulation
from storage.store import SqliteStore
from tertulia.engines import REHEARSAL, Engines, ModelAccess
from tertulia.events import EncounterFinished, Event, SimulationEnded, SimulationStarted, StepStarted
from tertulia.starting import DEFAULT_MODEL, DEFAULT_SEED
from tertulia.towns import ENCOUNTERS_PER_DAY

#: A hundred years: what is longer is a slip of the keyboard.
_LONGEST = 36_525


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add(app, simulate)


def simulate(
    town: Annotated[str | None, typer.Argument(help="A shipped town (tidewell), or ga:FOLDER.")] = None,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=_LONGEST, help="How many days: 1 if it is not given. With --resume, how many in all."),
    ] = None,
    encounters_per_day: Annotated[
        int | None,
        typer.Option(min=1, max=390, help=f"How many are drawn for a day; {ENCOUNTERS_PER_DAY} if not given."),
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
        _resume(resume, days, store, as_json)
        return
    if town is None:
        raise UsageError("no town; name one (tidewell, or ga:FOLDER), or give --resume SIM")
    from tertulia.towns import begin_simulation

    seed = read_seed(chosen, DEFAULT_SEED if seed is None else seed)
    name = REHEARSAL if rehearse else model or DEFAULT_MODEL
    with SqliteStore.open(store_path(store), create=True) as opened:
        planned = partial(
            begin_simulation,
            opened,
            town,
            chosen,
            days=days or 1,
            encounters_per_day=encounters_per_day,
            from_log=from_log,
            model=name,
            seed=seed,
        )
        _drive(opened, name, planned, as_json)


def _resume(name: str, days: int | None, store: Path | None, as_json: bool) -> None:
    """Go on with a simulation; with more days than it had, a finished one too."""
    from tertulia.towns import check_days, reopen_simulation, summary

    with SqliteStore.open(store_path(store), create=False) as opened:
        simulation = opened.simulations.get(name)
        check_days(simulation, days)
        if days in (None, simulation.days) and simulation.status == "finished":
            more = f"tertulia simulate --resume {simulation.simulation} --days {simulation.days + 1}"
            progress().print(plain(f"simulation {simulation.simulation} is finished; for more days: {more}"))
            if as_json:
                _print_end(summary(opened, simulation, "finished"))
            return
        _drive(opened, simulation.model, partial(reopen_simulation, opened, simulation, days=days), as_json)


def _drive(
    store: SqliteStore, model: str, opened: Callable[[ModelAccess], tuple[Simulation, Engines]], as_json: bool
) -> None:
    """Let the days pass to the last, each encounter printed; whatever stops them, the way on is told."""
    from tertulia.towns import drive_simulation

    with way_out(), status_line(f"loading {model}") as line:
        simulation, engines = opened(model_access(line.report))
        with line.pause():
            progress().print(f"simulation {simulation.simulation}")

        def show(event: Event) -> None:
            match event:
                case SimulationStarted() if not as_json:
                    with line.pause():
                        tell_town(event.simulation)
                case StepStarted():
                    line.show(f"{' and '.join(store.start(event.run).names)}: turn {event.turn}")
                case EncounterFinished() if not as_json:
                    with line.pause():
                        tell_encounter(event.encounter, event.turns)
                case SimulationEnded():
                    with line.pause():
                        _tell_end(store, event, as_json)
                case _:
                    pass

        drive_simulation(store, simulation, engines, show)


def _tell_end(store: SqliteStore, end: SimulationEnded, as_json: bool) -> None:
    """Print the way on where a simulation did not finish, and how it ended where JSON is asked for."""
    if end.status != "finished":
        progress().print(plain(f"to go on: tertulia simulate --resume {end.simulation}{store_hint(store)}"))
    if as_json:
        _print_end(end)


def _print_end(end: SimulationEnded) -> None:
    print_json(
        {
            "simulation": end.simulation,
            "status": end.status,
            "days": end.days,
            "encounters": end.encounters,
            "turns": end.turns,
        }
    )
