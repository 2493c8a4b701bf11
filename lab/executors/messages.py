"""What the command that runs an experiment and its workers tell each other: plain data."""

from dataclasses import dataclass, field

from tertulia.access.engines import ModelAccess
from tertulia.driving.events import Event
from tertulia.lab.experiments.cohorts import CohortTask, PlannedCase
from tertulia.planning.starting import Additions
from tertulia.state.errors import TertuliaError


@dataclass(frozen=True)
class Setup:
    """What a worker gets first; keys of remote models are in it, and are kept in memory alone.

    Attributes:
        access: What opening models needs; trust is what the command knows, and nobody is asked.
        settings: A trial of each setting, whose models are opened before anything is driven.
    """

    access: ModelAccess = field(repr=False)
    additions: Additions
    settings: tuple[PlannedCase, ...] = field(repr=False)


@dataclass(frozen=True)
class Assignment:
    """A cohort that a worker drives.

    Attributes:
        task: The cohort; it has the ids of its runs.
        planned: What its trials have in common.
        shard: The store file in which it is driven; what was begun there goes on.
    """

    task: CohortTask
    planned: tuple[PlannedCase, ...]
    shard: str


@dataclass(frozen=True)
class Hello:
    """A worker is there, and waits for its setup."""


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
    """The shard of a cohort as it is now; crews whose workers are on other machines keep it.

    Attributes:
        problem: Why it could not be put to the address where it should be; empty where it is to be sent.
    """

    shard: bytes = field(repr=False)
    problem: str = ""


@dataclass(frozen=True)
class Driven:
    """A cohort is no longer driven, and its shard is closed.

    Attributes:
        error: Why it could not be begun; `None` where its runs have ended, each in its way.
    """

    error: TertuliaError | None = None


@dataclass(frozen=True)
class Died:
    """A worker is gone without a word."""

    how: str


Message = Ready | Unable | Happened | Saved | Driven | Died
