"""What happens while a run, or a town, is driven: events, for whoever wants to show them."""

from collections.abc import Callable
from dataclasses import dataclass

from tertulia.state.errors import ContextWindowError, TertuliaError, UsageError
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord, RunStatus, Turn
from tertulia.state.town import Encounter, Simulation

#: What is shown while a step is executed, by the name of its node.
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
    "judge": "judging",
    "draw_pairs": "drawing pairs",
    "find_picture": "finding the picture",
    "choose_revision": "choosing how to revise",
    "rewrite": "rewriting",
    "roll_back": "rolling back",
}


@dataclass(frozen=True)
class RunStarted:
    """A run is driven from now on: a new one, or one that goes on.

    Attributes:
        turns: The turns that it has already.
    """

    run: RunRecord
    start: Start
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class StepStarted:
    """A node of the graph is executed.

    Attributes:
        turn: The turn that it belongs to.
        step: The node's name.
        agent: Whose cognition it is part of; empty for nobody's.
    """

    run: str
    turn: int
    step: str
    agent: str


@dataclass(frozen=True)
class TurnFinished:
    """A turn is stored; a silence is one too."""

    run: str
    turn: Turn


@dataclass(frozen=True)
class Noted:
    """Something about a run that its user should know, and that does not stop it.

    Attributes:
        run: The run's id; empty for what is about none in particular.
        text: What it is, as a sentence without a full stop.
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

    @property
    def way_on(self) -> str:
        """The command that goes on; to resume would fail again where the settings, or the prompt, are at fault."""
        if isinstance(self.error, UsageError | ContextWindowError):
            return f"fork {self.run} --at {self.turns + 1} --set KEY=VALUE"
        return f"resume {self.run}"


@dataclass(frozen=True)
class SimulationStarted:
    """Days of a town are driven from now on."""

    simulation: Simulation


@dataclass(frozen=True)
class EncounterFinished:
    """A conversation of a town is over, and all that it leaves is stored.

    Attributes:
        encounter: Who met, when and where; the run that is their conversation.
    """

    encounter: Encounter
    turns: int


@dataclass(frozen=True)
class SimulationEnded:
    """Days of a town are no longer driven; how they ended is in the store.

    Attributes:
        days: How many days have conversations.
        encounters: How many conversations were begun.
    """

    simulation: str
    status: RunStatus
    days: int
    encounters: int
    turns: int
    error: TertuliaError | None = None


Event = (
    RunStarted | StepStarted | TurnFinished | Noted | RunEnded | SimulationStarted | EncounterFinished | SimulationEnded
)

#: Takes events as they happen, in the thread that drives.
Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing with an event."""
