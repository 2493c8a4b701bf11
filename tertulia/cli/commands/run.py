"""`run`: a new conversation, from a scenario to its end."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import drive_shown
from tertulia.cli.environment import store_path
from tertulia.cli.option_groups import DriveOptions, RequestOptions, RunOptions, grouped
from tertulia.cli.options import InPageOption, RoundsOption
from tertulia.cli.steering import SteeringOptions, steered
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.costs import print_cost
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.parameters import GROUP_CHAT
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.costs import cost_document

if TYPE_CHECKING:
    from tertulia.runs.planning.starting import RunPlan

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A shipped scenario (see `tertulia scenarios`), a YAML file, or ga:FOLDER[:CASE]."
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


@grouped
def run(
    scenario: ScenarioArgument,
    asked: RequestOptions,
    steering: SteeringOptions,
    budget: BudgetOptions,
    options: RunOptions,
    driving: DriveOptions,
    rounds: RoundsOption = None,
    minutes: MinutesOption = None,
    dry_run: DryRunOption = False,
    in_page: InPageOption = False,
) -> None:
    """Run a conversation.

    Example: tertulia run tidewell --lambda 0.5 --rounds 6
    """
    from tertulia.runs.planning.starting import begin, plan_run

    request = options.added_to(asked.request(max_turns=rounds, max_minutes=minutes), scenario)
    plan, limits = plan_run(scenario, request), budget.limits()
    if dry_run:
        _print_estimate(plan, driving.as_json, steering.is_asked)
        return
    with SqlStore.open(store_path(driving.store)) as opened:
        if steering.is_asked:
            found = steered(opened, scenario, request, steering, limits, driving.trust_remote_code)
            plan = plan_run(scenario, replace(request, settings={**request.settings, **found}))
        drive_shown(opened, plan.models, partial(begin, opened, plan), driving, limits, in_page)


def _print_estimate(plan: "RunPlan", as_json: bool, has_pilot: bool) -> None:
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
