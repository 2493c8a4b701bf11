"""`sweep`: many conversations at once: scenarios × λ × trials, or the effect of λ at one turn of a run."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli import options
from tertulia.cli.lab.trials import TrialOptions, print_estimate, run_study
from tertulia.cli.opening import open_existing
from tertulia.cli.option_groups import grouped
from tertulia.cli.option_values import named_model, read_seed, read_settings
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.experiment import Experiment

ScenariosArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO…",
        help="Scenarios as `tertulia run` takes them; NAME:all for all cases of a town or a log. Or RUN@TURN.",
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


@dataclass(frozen=True)
class GridOptions:
    """The settings of an experiment, and the number of its trials."""

    lambdas: LambdasOption = None
    trials: TrialsOption = 10
    rounds: options.RoundsOption = None
    seed: options.SeedOption = None
    model: options.ModelOption = None
    rehearse: options.RehearseOption = False
    settings: options.SettingsOption = None
    name: NameOption = None
    side_by_side: CohortOption = 10

    def experiment(
        self, scenarios: Sequence[str], store: SqlStore, extensions: Sequence[str] | None
    ) -> tuple["Experiment", list[str]]:
        """Return the experiment, and the models that it may name; `UsageError` if it can't be run."""
        from tertulia.lab.experiments.sweeping import sweep_experiment

        chosen = read_settings(self.settings)
        experiment = sweep_experiment(
            scenarios,
            self.lambdas,
            chosen,
            trials=self.trials,
            rounds=self.rounds,
            seed=read_seed(chosen) if self.seed is None else self.seed,
            model=named_model(self.model, self.rehearse),
            name=self.name,
            cohort_size=self.side_by_side,
            extensions=extensions,
            store=store,
        )
        return experiment, [value for value in (self.model, *chosen.values()) if isinstance(value, str)]


@grouped
def sweep(
    scenarios: ScenariosArgument,
    grid: GridOptions,
    trials: TrialOptions,
    dry_run: DryRunOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Run scenarios at several values of λ, many trials of each, side by side. The same command runs missing trials.

    With RUN@TURN, trials keep turns 1 to TURN-1 of a run and go on from there, and a tree shows the effect of λ.

    Example: tertulia sweep tidewell --lambda 0,0.5,1 --trials 5 --rounds 4 --rehearse

    Example: tertulia sweep k3f9@3 --lambda 0,0.5,1 --trials 5 --rounds 2
    """
    from tertulia.lab.experiments.fork_points import as_typed

    with open_existing(store) as opened:
        experiment, named = grid.experiment(scenarios, opened, trials.extension)
        if dry_run:
            print_estimate(opened, experiment, as_json, trials)
            return
        way_on = shlex.join(["tertulia", *as_typed(sys.argv[1:], experiment.cases[0])])
        run_study(opened, experiment, way_on, trials, as_json, named)
