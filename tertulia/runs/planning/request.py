"""A user's request: all that a plan is given beside its scenario, its parent or its town."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tertulia.runs.planning.additions import NOTHING_ADDED, Additions

DEFAULT_MODEL = "smollm2"
DEFAULT_SEED = 1


@dataclass(frozen=True)
class RunRequest:
    """What a user asks of a run, a fork, a run that goes on, or of all conversations of a simulation.

    Attributes:
        settings: Parameters by name, over those of the scenario or the parent.
        removal_factor: λ, over both.
        model: Everybody's model, `rehearsal` for a stand-in without weights. `None`: the default, of a fork the
            parent's. Of a run that goes on: the same model on other servers.
        seed: `None`: the default, of a fork the parent's.
        seat: The participant whose words a person types; of a run that goes on it is checked against the run's.
        additions: Nodes and mechanisms of the user's own; in a meeting everybody may switch on those mechanisms. Of a
            fork, and a run that goes on: those that may have changed since, are new, or were handed over.
        label: The user's name for the run.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    removal_factor: float | None = None
    model: str | None = None
    seed: int | None = None
    seat: str | None = None
    additions: Additions = NOTHING_ADDED
    label: str | None = None


NOTHING_ASKED = RunRequest()
