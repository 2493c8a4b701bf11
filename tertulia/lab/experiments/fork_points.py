"""Fork points: a turn of a stored run as a case of an experiment, whose trials go on from there.

A case `run:ID@TURN` keeps turns 1 to TURN − 1 of a run of the experiment's own store. It is measured by the turns from
TURN on: those before are the same in every trial.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.forking import plan_fork
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, plan_run
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore

#: A case that is a fork point, and how a user writes one: the run's id, its beginning, or @last.
_CASE = re.compile(r"run:([^@\s]+)@([0-9]+)")
_GIVEN = re.compile(r"(@last|[A-Za-z0-9]+)@(-?[0-9]{1,9})")


@dataclass(frozen=True)
class ForkPoint:
    """A run, and the first turn that its forks have of their own."""

    run: str
    turn: int

    @property
    def case(self) -> str:
        """Its name as a case of an experiment."""
        return f"run:{self.run}@{self.turn}"


def fork_point_of(case: str) -> ForkPoint | None:
    """Return the fork point that a case is; `None` for a scenario."""
    found = _CASE.fullmatch(case)
    return ForkPoint(found[1], int(found[2])) if found else None


def parents_of(cases: Iterable[str]) -> list[str]:
    """Return the ids of the runs from whose turns the trials of cases go on, which the store of those trials needs."""
    return list(dict.fromkeys(point.run for point in map(fork_point_of, cases) if point is not None))


def given_fork_point(scenarios: Sequence[str]) -> ForkPoint | None:
    """Return the fork point that a user gave in the place of scenarios, as `RUN@TURN`; `None` if they gave scenarios.

    Raises:
        UsageError: It is not alone.
    """
    found = next(
        (match for given in scenarios if (match := _GIVEN.fullmatch(given)) and not Path(given).exists()), None
    )
    if found is None:
        return None
    if len(scenarios) > 1:
        raise UsageError(f"{found[0]} is a turn of a run, from which trials go on; give it alone, without scenarios")
    return ForkPoint(found[1], int(found[2]))


def as_typed(arguments: Sequence[str], case: str) -> list[str]:
    """Return the arguments of a command with the whole id of a fork point's run, as `@last` will be another run."""
    point = fork_point_of(case)
    whole = [] if point is None else [f"{point.run}@{point.turn}"]
    return [next(iter(whole), given) if _GIVEN.fullmatch(given) else given for given in arguments]


def checked_fork_point(store: SqlStore, point: ForkPoint) -> tuple[ForkPoint, RunRecord]:
    """Return a fork point with the whole id of its run, and the run.

    Raises:
        NotFoundError: There is no such run.
        UsageError: The run has no such turn, or is an album chat.
    """
    parent = store.run(point.run)
    if parent.kind == "album_chat":
        raise UsageError(
            f"run {parent.run} is an album chat, in which two meet at a time: its trials can't go on from a turn; "
            "sweep the turns of a dialogue or a meeting, or fork it: tertulia fork --help"
        )
    if not 1 <= point.turn <= parent.turns + 1:
        problem = f": run {parent.run} has {parent.turns} turns; take turn 1 to {parent.turns + 1}"
        raise SettingError("turn", point.turn, problem)
    return ForkPoint(parent.run, point.turn), parent


def plan_case(
    store: SqlStore | None,
    case: str,
    settings: Mapping[str, Any],
    model: str,
    additions: Additions = NOTHING_ADDED,
) -> RunPlan:
    """Return the plan of a trial: of a run of a scenario, or of a fork of a run of the store.

    Args:
        settings: Parameters by name; the limit of a fork counts its new turns alone.

    Raises:
        TertuliaError: There is no such scenario or turn, or it can't be run like that.
    """
    point = fork_point_of(case)
    if point is None:
        return plan_run(case, RunRequest(settings, model=model, additions=additions))
    if store is None:
        way = f"`tertulia sweep {point.run}@{point.turn}` runs trials from there"
        raise UsageError(f"case {case} is a turn of a stored run, and experiments of files have scenarios; {way}")
    point, parent = checked_fork_point(store, point)
    given = dict(settings)
    if given.get("max_turns") is not None:
        given["max_turns"] = point.turn - 1 + int(given["max_turns"])
    plan = plan_fork(store, parent, point.turn, RunRequest(given, model=model, additions=additions))
    if (seat := plan.parameters.seat) is not None:
        way = f"tertulia fork {parent.run} --at {point.turn} --set seat=null, and sweep turns of that fork"
        raise UsageError(f"in run {parent.run} a person speaks for {seat}, and nobody is asked while trials run: {way}")
    return plan
