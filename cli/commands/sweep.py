"""`sweep`: many conversations at once: scenarios × λ × trials."""

import shlex
import sys
from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.environment import store_path
from tertulia.cli.lab.trials import print_estimate, print_trials, run_trials
from tertulia.cli.option_values import read_model, read_seed, read_settings
from tertulia.cli.terminal.completion import complete_scenario
from tertulia.cli.where import OnOption, ScorersOption, ShardsOption, Where, WorkersOption
from tertulia.planning.starting import DEFAULT_SEED
from tertulia.storage.store import SqlStore

ScenariosArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO…",
        help="Scenarios as `tertulia run` takes them; NAME:all for all cases of a town or a log.",
        autocompletion=complete_scenario,
    ),
]
LambdasOption = Annotated[
    str | None,
    typer.Option("--lambda", metavar="X,Y,…", help="Values of λ, a setting each; without it, that of the scenario."),
]
TrialsOption = Annotated[
    int, typer.Option(metavar="N", min=1, help="Conversations of each scenario at each λ, with successive seeds.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What the experiment is called; else it follows from it.")
]
CohortOption = Annotated[
    int, typer.Option("--side-by-side", metavar="N", min=1, help="Conversations whose calls meet in batches.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only print what it would take; nothing is stored.")]


def sweep(
    scenarios: ScenariosArgument,
    lambdas: LambdasOption = None,
    trials: TrialsOption = 10,
    rounds: options.RoundsOption = None,
    seed: options.SeedOption = None,
    model: options.ModelOption = None,
    rehearse: options.RehearseOption = False,
    settings: options.SettingsOption = None,
    extension: options.ExtensionOption = None,
    trust_remote_code: options.CodeOption = None,
    name: NameOption = None,
    side_by_side: CohortOption = 10,
    dry_run: DryRunOption = False,
    on: OnOption = "local",
    workers: WorkersOption = None,
    shards: ShardsOption = None,
    scorers: ScorersOption = None,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Run scenarios at several values of λ, many trials of each, side by side. The same command runs what is missing.

    Example: tertulia sweep tidewell --lambda 0,0.5,1 --trials 5 --rounds 4 --rehearse
    """
    from tertulia.lab.experiments.sweeping import sweep_experiment

    chosen = read_settings(settings)
    experiment = sweep_experiment(
        scenarios,
        lambdas,
        chosen,
        trials=trials,
        rounds=rounds,
        seed=read_seed(chosen, DEFAULT_SEED) if seed is None else seed,
        model=read_model(model, rehearse),
        name=name,
        cohort_size=side_by_side,
        extensions=extension,
    )
    with SqlStore.open(store_path(store), create=not dry_run) as opened:
        if dry_run:
            print_estimate(opened, experiment, as_json, extension)
            return
        way_on = shlex.join(["tertulia", *sys.argv[1:]])
        named = [value for value in (experiment.model, *chosen.values()) if isinstance(value, str)]
        where, code = Where(on, workers, shards, scorers), trust_remote_code
        ran = run_trials(
            opened, experiment, way_on, named=named, extensions=extension, with_code=code, where=where, as_json=as_json
        )
    print_trials(experiment, ran, as_json)
