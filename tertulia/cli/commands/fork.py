"""`fork`: a run that has its parent's turns up to a point, and goes on with something changed."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli import options
from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import drive_shown
from tertulia.cli.opening import open_existing
from tertulia.cli.option_groups import DriveOptions, RunOptions, grouped
from tertulia.cli.option_values import read_pair, read_seed, read_settings
from tertulia.cli.steering import SteeringOptions, steered_fork
from tertulia.runs.planning.request import RunRequest

if TYPE_CHECKING:
    from tertulia.runs.planning.forking import StartChanges

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
    str | None, typer.Option(metavar="A,B,…", help="What agents of a group may switch on from here on, or none.")
]
SayOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Let the speaker of turn N say this, then go on.")]


@dataclass(frozen=True)
class ForkOptions:
    """What is asked of a fork, in the place of its parent's."""

    settings: options.SettingsOption = None
    removal_factor: LambdaFromHereOption = None
    rounds: RoundsInAllOption = None
    model: ModelOption = None
    seed: SeedOption = None

    def request(self) -> RunRequest:
        """Return the request."""
        chosen = read_settings(self.settings, seed=self.seed, max_turns=self.rounds)
        seed = read_seed(chosen)
        return RunRequest(chosen, self.removal_factor, self.model, seed)


@dataclass(frozen=True)
class StartOptions:
    """The changes of a fork to its parent's start."""

    person: PersonOption = None
    remember: RememberOption = None
    forget: ForgetOption = None
    mechanisms: MechanismsOption = None

    def changes(self) -> "StartChanges":
        """Return the changes; `UsageError` if one is not `NAME=VALUE`."""
        from tertulia.runs.planning.forking import StartChanges, read_mechanisms

        memory, names = "'NAME=The key is under the mat.'", self.mechanisms
        return StartChanges(
            person=tuple(read_pair("--person", given, "'NAME.emotion=annoyed'") for given in self.person or ()),
            remember=tuple(read_pair("--remember", given, memory) for given in self.remember or ()),
            forget=tuple(read_pair("--forget", given, "NAME=memory_3") for given in self.forget or ()),
            mechanisms=None if names is None else read_mechanisms(names),
        )


@grouped
def fork(
    run: options.RunArgument,
    at: AtOption,
    asked: ForkOptions,
    steering: SteeringOptions,
    people: StartOptions,
    budget: BudgetOptions,
    started: RunOptions,
    driving: DriveOptions,
    say: SayOption = None,
    in_page: options.InPageOption = False,
) -> None:
    """Go on from a turn of a run as a run of its own, with something changed or nothing.

    The parent stays as it is; its turns before N are shared, not copied.

    Example: tertulia fork @last --at 3 --lambda 0.8
    """
    from tertulia.runs.planning.forking import plan_fork
    from tertulia.runs.planning.starting import begin

    request, limits = started.added_to(asked.request()), budget.limits()
    with open_existing(driving.store) as opened:
        parent = opened.run(run)
        if steering.is_asked:
            request = steered_fork(opened, parent, request, steering, limits, driving.trust_remote_code)
        plan = plan_fork(opened, parent, at, request, changes=people.changes(), say=say)
        drive_shown(opened, plan.models, partial(begin, opened, plan), driving, limits, in_page)
