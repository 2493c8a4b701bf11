"""`run`: a new conversation, from a scenario to its end."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli import options, steering
from tertulia.cli.budget import NO_LIMITS, with_budget
from tertulia.cli.driving import drive_shown
from tertulia.cli.environment import additions, store_path
from tertulia.cli.option_values import read_model, read_seed, read_settings
from tertulia.cli.terminal.completion import complete_scenario
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.costs import print_cost
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.starting import DEFAULT_SEED
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.parameters import GROUP_CHAT
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.costs import cost_document

if TYPE_CHECKING:
    from tertulia.runs.planning.starting import RunPlan

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A shipped scenario (see `tertulia scenarios`), a YAML file, or ga:FOLDER[:CASE].",
        autocompletion=complete_scenario,
    ),
]
MinutesOption = Annotated[
    float | None,
    typer.Option(
        metavar="M",
        help=f"At most so many simulated minutes: {GROUP_CHAT['max_minutes']:g} in a group, unless the scenario sets "
        "it; no limit in a dialogue.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only print how many calls and tokens it would take; nothing is stored.")
]


@with_budget
def run(
    scenario: ScenarioArgument,
    removal_factor: options.LambdaOption = None,
    diversity: steering.DiversityOption = None,
    diversity_metric: steering.MetricOption = "dist3",
    pilot: steering.PilotOption = 4,
    seed: options.SeedOption = None,
    rounds: options.RoundsOption = None,
    minutes: MinutesOption = None,
    model: options.ModelOption = None,
    rehearse: options.RehearseOption = False,
    dry_run: DryRunOption = False,
    limits: Limits = NO_LIMITS,
    label: options.LabelOption = None,
    seat: options.SeatOption = None,
    settings: options.SettingsOption = None,
    extension: options.ExtensionOption = None,
    trust_remote_code: options.CodeOption = None,
    thoughts: options.ThoughtsOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Run a conversation.

    Example: tertulia run tidewell --lambda 0.5 --rounds 6
    """
    from tertulia.runs.planning.starting import begin, plan_run

    chosen = read_settings(settings, seed=seed, max_turns=rounds, max_minutes=minutes)
    seed, name, added = read_seed(chosen, DEFAULT_SEED), read_model(model, rehearse), additions(extension, [scenario])
    plan_with = partial(plan_run, scenario, model=name, seed=seed, seat=seat, additions=added, label=label)
    plan = plan_with(chosen, removal_factor=removal_factor)
    if dry_run:
        _print_estimate(plan, as_json, diversity is not None)
        return
    with SqlStore.open(store_path(store)) as opened:
        if diversity is not None:
            wanted = steering.WantedDiversity(diversity, diversity_metric, pilot, limits, removal_factor)
            chosen |= steering.steered(opened, scenario, chosen, wanted, name, added, trust_remote_code)
            plan = plan_with(chosen, removal_factor=removal_factor)
        drive_shown(
            opened, plan.models, partial(begin, opened, plan), as_json, thoughts, trust_remote_code, limits=limits
        )


def _print_estimate(plan: "RunPlan", as_json: bool, has_pilot: bool) -> None:
    """Print the calls that a run would make, and the tokens that they would read and write."""
    from tertulia.runs.driving.estimating import estimate

    with status_line("rehearsing"):
        found = estimate(plan)
    if has_pilot:
        progress().print(plain("not counted: the pilot that calibrates λ, where the store has no calibration", "dim"))
    if as_json:
        document = {"schema_version": SCHEMA_VERSION, "model": plan.model, "turns": found.turns}
        print_json(document | cost_document(found.calls, timed=False))
        return
    console = data()
    console.print(plain(f"{plan.start.scenario} with {plan.model}, as rehearsed: {found.turns} turns", "bold"))
    console.print()
    print_cost(console, found.calls, timed=False)
    note = "Tokens are the stand-in's; the embedded model's tokenizer makes some 14 % fewer of the same texts."
    console.print(plain(note, "dim"))
