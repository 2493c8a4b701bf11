"""`simulate`: days of a town, conversation after conversation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import exit_when_interrupted, print_end
from tertulia.cli.environment import additions, model_access, print_note, store_path
from tertulia.cli.opening import loading_for_good, open_existing
from tertulia.cli.option_groups import RequestOptions, grouped
from tertulia.cli.options import CodeOption, ExtensionOption, JsonOption, StoreOption
from tertulia.cli.terminal.output import plain, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.live import print_encounter, print_town
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.access.model_names import names_of_models
from tertulia.runs.driving.events import (
    EncounterFinished,
    Event,
    Noted,
    SimulationEnded,
    SimulationStarted,
    StepStarted,
)
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.simulations import ENCOUNTERS_PER_DAY, OpenedSimulation
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore

#: A hundred years, and ten encounters a day for everybody in a town of 20,000: more is a slip of the keyboard.
_LONGEST, _MOST = 36_525, 100_000

TownArgument = Annotated[
    str | None,
    typer.Argument(metavar="TOWN", help="A shipped town (tidewell), or ga:FOLDER."),
]
DaysOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=_LONGEST, help="How many days: 1 if it is not given. With --resume, how many in all."
    ),
]
EncountersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=_MOST, help=f"How many are drawn for a day; {ENCOUNTERS_PER_DAY} if it is not given."
    ),
]
FromLogOption = Annotated[bool, typer.Option("--from-log", help="Let people meet when the town's log says so.")]
ResumeOption = Annotated[
    str | None,
    typer.Option(metavar="SIM", help="Go on with a simulation, by its id, or @last."),
]


@grouped
def simulate(
    asked: RequestOptions,
    budget: BudgetOptions,
    town: TownArgument = None,
    days: DaysOption = None,
    encounters_per_day: EncountersOption = None,
    from_log: FromLogOption = False,
    resume: ResumeOption = None,
    extension: ExtensionOption = None,
    trust_remote_code: CodeOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let days pass in a town: people meet, talk, remember and reflect. Every conversation is a run of its own.

    Example: tertulia simulate tidewell --days 3 --rehearse
    """
    from tertulia.runs.planning.simulations import begin_simulation, plan_simulation

    request, limits = replace(asked.request(), additions=additions(extension)), budget.limits()
    if resume is not None:
        given = {
            "TOWN": town,
            "--encounters-per-day": encounters_per_day,
            "--from-log": from_log,
            "--seed": asked.seed is not None,
            "--lambda or --set": asked.settings or asked.removal_factor is not None,
            "--model": asked.model,
            "--rehearse": asked.rehearse,
        }
        if wrong := next((name for name, value in given.items() if value), None):
            raise UsageError(f"--resume {resume} goes on with what the simulation began with; leave out {wrong}")
        _resume(resume, days, request.additions, trust_remote_code, store, as_json, limits)
        return
    if town is None:
        raise UsageError("no town; name one (tidewell, or ga:FOLDER), or give --resume SIM")
    plan = plan_simulation(town, request, days=days or 1, encounters_per_day=encounters_per_day, from_log=from_log)
    for note in plan.town.town.withheld:
        print_note(note)
    limits.budget.check_prices(names_of_models(plan.model, None, plan.parameters))
    with SqlStore.open(store_path(store)) as opened:
        _drive(opened, plan.model, partial(begin_simulation, opened, plan), trust_remote_code, as_json, limits)


def _resume(
    name: str,
    days: int | None,
    added: Additions,
    with_code: Sequence[str] | None,
    store: str | None,
    as_json: bool,
    limits: Limits,
) -> None:
    """Go on with a simulation, also with a finished one if it gets more days."""
    from tertulia.runs.driving.driver import Ending
    from tertulia.runs.driving.towns import summary
    from tertulia.runs.planning.simulations import check_days, reopen_simulation

    with open_existing(store) as opened:
        simulation = opened.simulations.get(name)
        check_days(simulation, days)
        if days in (None, simulation.days) and simulation.status == "finished":
            opened.clear_locks()
            more = f"tertulia simulate --resume {simulation.simulation} --days {simulation.days + 1}"
            progress().print(plain(f"simulation {simulation.simulation} is finished; for more days: {more}"))
            print_end(opened, summary(opened, simulation, Ending("finished", None, simulation.ended_by)), as_json)
            return
        limits.budget.check_prices(
            names_of_models(simulation.model, None, Parameters.model_validate(simulation.parameters))
        )
        reopened = partial(reopen_simulation, opened, simulation, days=days, additions=added)
        _drive(opened, simulation.model, reopened, with_code, as_json, limits)


def _drive(
    store: SqlStore,
    model: str,
    opened: Callable[[ModelAccess], OpenedSimulation],
    with_code: Sequence[str] | None,
    as_json: bool,
    limits: Limits,
) -> None:
    """Drive a simulation to its last day; print each encounter, and how to go on if it stops."""
    from tertulia.runs.driving.towns import drive_simulation

    with exit_when_interrupted(), status_line(f"loading {model}") as line:
        with loading_for_good():
            simulation, engines, registry = opened(model_access(line, with_code=with_code))
        with line.pause():
            progress().print(f"simulation {simulation.simulation}")

        def show(event: Event) -> None:
            match event:
                case SimulationStarted() if not as_json:
                    line.write(lambda: print_town(event.simulation))
                case StepStarted():
                    line.show(f"{' and '.join(store.start(event.run).names)}: turn {event.turn}")
                case EncounterFinished() if not as_json:
                    line.write(lambda: print_encounter(event.encounter, event.turns))
                case SimulationEnded():
                    line.write(lambda: print_end(store, event, as_json))
                case Noted():
                    line.write(lambda: print_note(event.text))

        drive_simulation(store, simulation, engines, registry, show, limits)
