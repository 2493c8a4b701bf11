"""`fork`: a run that has its parent's turns up to a point, and goes on with something changed."""

from functools import partial
from typing import Annotated

import typer

from tertulia.cli import options, steering
from tertulia.cli.budget import NO_LIMITS, with_budget
from tertulia.cli.driving import drive_shown
from tertulia.cli.environment import additions
from tertulia.cli.opening import open_existing
from tertulia.cli.option_values import read_changes, read_seed, read_settings
from tertulia.runs.driving.limits import Limits

AtOption = Annotated[int, typer.Option(metavar="N", help="Keep turns 1 to N-1, and go on from there.")]
LambdaFromHereOption = Annotated[
    float | None,
    typer.Option("--lambda", metavar="X", help="λ in [0, 1] from here on; the parent's if it is not given."),
]
RoundsInAllOption = Annotated[
    int | None, typer.Option("--rounds", metavar="N", help="At most so many rounds in all, the parent's among them.")
]
ModelOption = Annotated[str | None, typer.Option(metavar="ID", help="Another model.")]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="Another seed, for all draws from here on.")]
PersonOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME.FIELD=VALUE",
        help="Change a field of somebody, under its name in scenario files; may be repeated.",
    ),
]
RememberOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=TEXT", help="Give somebody a memory; may be repeated.")
]
ForgetOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=ID", help="Take a memory from somebody; may be repeated.")
]
MechanismsOption = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="What agents of a group may switch on from here on.")
]
SayOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Let the speaker of turn N say this, then go on.")]


@with_budget
def fork(
    run: options.RunArgument,
    at: AtOption,
    settings: options.SettingsOption = None,
    removal_factor: LambdaFromHereOption = None,
    diversity: steering.DiversityOption = None,
    diversity_metric: steering.MetricOption = "dist3",
    pilot: steering.PilotOption = 4,
    rounds: RoundsInAllOption = None,
    model: ModelOption = None,
    seed: SeedOption = None,
    person: PersonOption = None,
    remember: RememberOption = None,
    forget: ForgetOption = None,
    mechanisms: MechanismsOption = None,
    say: SayOption = None,
    limits: Limits = NO_LIMITS,
    label: options.LabelOption = None,
    seat: options.SeatOption = None,
    in_page: options.InPageOption = False,
    extension: options.ExtensionOption = None,
    trust_remote_code: options.CodeOption = None,
    thoughts: options.ThoughtsOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Go on from a turn of a run as a run of its own, with something changed or nothing.

    The parent stays as it is; its turns before N are shared, not copied.

    Example: tertulia fork @last --at 3 --lambda 0.8
    """
    from tertulia.runs.planning.forking import plan_fork
    from tertulia.runs.planning.starting import begin

    chosen = read_settings(settings, seed=seed, max_turns=rounds)
    with open_existing(store) as opened:
        parent = opened.run(run)
        seed, added = read_seed(chosen, parent.seed), additions(extension)
        if diversity is not None:
            wanted = steering.WantedDiversity(diversity, diversity_metric, pilot, limits, removal_factor)
            chosen |= steering.steered_fork(opened, parent, chosen, wanted, model, added, trust_remote_code)
        changes = read_changes(person, remember, forget, mechanisms)
        planned = partial(plan_fork, model=model, say=say, seat=seat, additions=added, label=label)
        plan = planned(opened, parent, at, chosen, removal_factor=removal_factor, changes=changes, seed=seed)
        begun = partial(begin, opened, plan)
        drive_shown(opened, plan.models, begun, as_json, thoughts, trust_remote_code, in_page, limits)
