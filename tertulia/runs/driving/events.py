"""Events of a run or a town that is being driven."""

from collections.abc import Callable
from dataclasses import dataclass

from tertulia.state.errors import ContextWindowError, TertuliaError, UsageError
from tertulia.state.meeting import Start
from tertulia.state.records import EndedBy, RunRecord, RunStatus, Turn
from tertulia.state.town import Encounter, Simulation

#: Words that are shown while a node is executed.
STEP_PHRASES = {
    "prepare": "preparing",
    "perceive": "listening",
    "after_perceive": "thinking",
    "choose_mechanisms": "choosing how to think",
    "run_mechanisms": "thinking",
    "assess": "making up their minds",
    "after_assess": "making up their minds",
    "retrieve_memory": "remembering",
    "vary_prompt": "varying the prompt",
    "score": "scoring",
    "prune": "pruning",
    "generate": "speaking",
    "sense": "checking",
    "judge": "judging",
    "draw_pairs": "drawing pairs",
    "find_picture": "finding the picture",
    "choose_revision": "choosing how to revise",
    "rewrite": "rewriting",
    "roll_back": "rolling back",
}


@dataclass(frozen=True)
class RunStarted:
    """A new run, or one that goes on, is driven from now on; `turns` are those that it has already."""

    run: str
    record: RunRecord
    start: Start
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class StepStarted:
    """A node of the graph is executed.

    Attributes:
        step: The node's name.
        agent: The agent that it belongs to; empty for none.
    """

    run: str
    turn: int
    step: str
    agent: str


@dataclass(frozen=True)
class TurnFinished:
    """A turn is stored; a silence is one too. `is_edited`: a person's words stand in it in the place of a model's."""

    run: str
    turn: Turn
    is_edited: bool = False


@dataclass(frozen=True)
class Noted:
    """Something that the user should know, and that does not stop the run.

    Attributes:
        run: The run's id; empty if it concerns no run in particular.
        text: A sentence without a full stop.
    """

    run: str
    text: str


@dataclass(frozen=True)
class RunEnded:
    """A run is no longer driven; how it ended is in the store."""

    run: str
    status: RunStatus
    turns: int
    error: TertuliaError | None = None
    ended_by: EndedBy | None = None

    @property
    def way_on(self) -> str:
        """The command that goes on: a fork if the settings or the prompt are at fault, as resuming would fail."""
        if isinstance(self.error, UsageError | ContextWindowError):
            return f"fork {self.run} --at {self.turns + 1} --set KEY=VALUE"
        return f"resume {self.run}"


@dataclass(frozen=True)
class SimulationStarted:
    """Days of a town are driven from now on."""

    simulation: Simulation


@dataclass(frozen=True)
class EncounterFinished:
    """A conversation of a town is over, and its memories are stored."""

    encounter: Encounter
    turns: int


@dataclass(frozen=True)
class SimulationEnded:
    """Days of a town are no longer driven; their ending is in the store.

    Attributes:
        days: The number of days with conversations.
        encounters: The number of conversations that were begun.
        turns: The number of turns of all conversations.
    """

    simulation: str
    status: RunStatus
    days: int
    encounters: int
    turns: int
    error: TertuliaError | None = None
    ended_by: EndedBy | None = None

    @property
    def way_on(self) -> str:
        """The command that goes on."""
        return f"simulate --resume {self.simulation}"


Event = (
    RunStarted | StepStarted | TurnFinished | Noted | RunEnded | SimulationStarted | EncounterFinished | SimulationEnded
)

#: Receives events as they happen, in the driving thread.
Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing with an event."""
