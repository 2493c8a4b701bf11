"""`lab setpoint`: how close steered conversations come to the diversity that they are asked for."""

from typing import Annotated

import typer

from tertulia.cli import options, steering
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import additions, model_access, store_path
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.option_groups import grouped
from tertulia.cli.option_values import read_model, read_settings
from tertulia.cli.steering import PilotProgress, read_metric
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.where import WhereOptions
from tertulia.state.language_model import EMBEDDER
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore


@grouped
def setpoint(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO", help="Cases, as `tertulia run` takes them.")],
    where: WhereOptions,
    levels: Annotated[
        str, typer.Option(metavar="A,B,…", help="What is asked for: low, medium and high.")
    ] = "low,medium,high",
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Conversations at each level in each way.")] = 4,
    rounds: options.RoundsOption = None,
    diversity_metric: steering.MetricOption = "dist3",
    pilot: steering.PilotOption = 4,
    model: options.ModelOption = None,
    rehearse: options.RehearseOption = False,
    settings: options.SettingsOption = None,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Ask for levels of diversity, and tell the levels that conversations reach: steered, and at a fixed λ beside.

    Example: tertulia lab setpoint tidewell:3 tidewell:7 --levels medium,high
    """
    from tertulia.lab.experiments.landing import land, landing_document, landing_page
    from tertulia.lab.experiments.setpoint import CalibrationTask, Pilot

    chosen, metric = read_settings(settings, max_turns=rounds), read_metric(diversity_metric)
    named = read_model(model, rehearse)
    tasks = [CalibrationTask(scenario, chosen, named, metric, Pilot(pilot)) for scenario in scenarios]
    embed = open_embedding_model(chosen.get("embedder"), EMBEDDER).embed if metric == "sim" else None
    with SqlStore.open(store_path(store)) as opened, exit_when_interrupted(), status_line("calibrating λ") as line:
        executor = where.executor(opened, model_access(line, [named]), additions(None))
        wanted = [level.strip() for level in levels.split(",")]
        found = [land(opened, task, wanted, trials, executor, PilotProgress(line).event, embed) for task in tasks]
    if as_json:
        print_json(landing_document(found))
    else:
        print("\n".join(landing_page(found)))
    if failed := sum(case.failed for case in found):
        progress().print(plain(f"error: {counted(failed, 'conversation')} failed; the same command runs them again"))
        raise typer.Exit(1)
