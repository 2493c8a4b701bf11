"""Messages between the command that runs an experiment and its workers: plain data."""

from dataclasses import dataclass, field

from tertulia.lab.experiments.cohorts import PlannedCase
from tertulia.lab.experiments.reached import CohortTask
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event
from tertulia.runs.planning.additions import Additions
from tertulia.state.budget import NO_BUDGET, Budget, Purse
from tertulia.state.errors import TertuliaError


@dataclass(frozen=True)
class Setup:
    """The first message to a worker; it holds the keys of remote models, which stay in memory.

    The settings are a trial of each, whose models are opened before anything is driven. Workers ask for no trust: the
    command's knowledge is in `access`. All workers spend of one budget, counted in the purse; the command has the
    clock.
    """

    access: ModelAccess = field(repr=False)
    additions: Additions
    settings: tuple[PlannedCase, ...] = field(repr=False)
    budget: Budget = NO_BUDGET
    purse: Purse | None = None


@dataclass(frozen=True)
class Assignment:
    """A cohort for a worker: its task with the ids of its runs, the plans, and the store file in which it is driven."""

    task: CohortTask
    planned: tuple[PlannedCase, ...]
    shard: str


@dataclass(frozen=True)
class Hello:
    """A worker has started, and waits for its setup."""


@dataclass(frozen=True)
class Ready:
    """The models of a worker are open."""


@dataclass(frozen=True)
class Unable:
    """A worker can't open a model, and stops."""

    error: TertuliaError


@dataclass(frozen=True)
class Happened:
    """Events of the runs of a cohort."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Saved:
    """The current shard of a cohort, as bytes; crews with workers on other machines keep it.

    The problem is why it could not be put to its address; it is empty if the shard is to be sent.
    """

    shard: bytes = field(repr=False)
    problem: str = ""


@dataclass(frozen=True)
class Driven:
    """A cohort is no longer driven, and its shard is closed; with the error if it could not be begun."""

    error: TertuliaError | None = None


@dataclass(frozen=True)
class Died:
    """A worker ended without a message."""

    how: str


Message = Ready | Unable | Happened | Saved | Driven | Died
