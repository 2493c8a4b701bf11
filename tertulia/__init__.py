"""Conversations between language-model agents, with one knob over how varied they are.

::

    import tertulia as tt

    run = tt.run("tidewell", removal_factor=0.5, rounds=6)
    run                                          # the transcript, a line a turn
    run.turn(2).units                            # each unit of a prompt: its score, whether it was removed
    run.what_if(turn=2, removal_factor=0.8)
    fork = run.fork(at=4, removal_factor=0.9)
    tt.diff(run, fork).first_divergence
    async for event in tt.stream("team_building", rounds=10): ...

    experiment = tt.sweep("tidewell:all", removal_factor=[0, 0.5, 1], trials=5, rounds=6)
    experiment.measure("dist2", "sim")           # means over cases with 95 % intervals
    experiment.compare("dist2").frame()
    experiment.plot("dist3")
    tt.open_store("tertulia.db").runs()

Nothing heavy is imported before it is used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tertulia.api.declaring import mechanism, node, scorer
    from tertulia.api.experiment import Experiment
    from tertulia.api.running import arun, diff, resume, run, stream
    from tertulia.api.stored_run import Run
    from tertulia.api.stores import Store, open_store
    from tertulia.api.sweeping import asweep, sweep
    from tertulia.nodes.shared.names_in_text import mentions
    from tertulia.runs.driving.events import Event, Noted, RunEnded, RunStarted, StepStarted, TurnFinished
    from tertulia.runs.planning.additions import Additions
    from tertulia.state.budget import Budget
    from tertulia.state.errors import (
        BudgetError,
        ExtensionError,
        LeftError,
        ModelError,
        NodeError,
        NotFoundError,
        SettingError,
        StoppedError,
        StorageError,
        TertuliaError,
        UsageError,
    )
    from tertulia.state.records import Turn
    from tertulia.state.seat import Answer, Invitation
    from tertulia.worlds.generated_people import generate_people
    from tertulia.worlds.people import Person, people_from
    from tertulia.worlds.population_object import Population, Villager
    from tertulia.worlds.questionnaire import Question
    from tertulia.worlds.scenario_objects import Case, Meeting

#: By module, the public names that it has.
_PUBLIC = {
    "tertulia.api.running": ("arun", "diff", "resume", "run", "stream"),
    "tertulia.api.sweeping": ("asweep", "sweep"),
    "tertulia.api.experiment": ("Experiment",),
    "tertulia.api.stores": ("Store", "open_store"),
    "tertulia.api.stored_run": ("Run",),
    "tertulia.api.declaring": ("mechanism", "node", "scorer"),
    "tertulia.nodes.shared.names_in_text": ("mentions",),
    "tertulia.runs.driving.events": ("Event", "Noted", "RunEnded", "RunStarted", "StepStarted", "TurnFinished"),
    "tertulia.runs.planning.additions": ("Additions",),
    "tertulia.state.budget": ("Budget",),
    "tertulia.state.records": ("Turn",),
    "tertulia.state.seat": ("Answer", "Invitation"),
    "tertulia.worlds.generated_people": ("generate_people",),
    "tertulia.worlds.people": ("Person", "people_from"),
    "tertulia.worlds.population_object": ("Population", "Villager"),
    "tertulia.worlds.questionnaire": ("Question",),
    "tertulia.worlds.scenario_objects": ("Case", "Meeting"),
    "tertulia.state.errors": (
        *("BudgetError", "ExtensionError", "LeftError", "ModelError", "NodeError", "NotFoundError", "SettingError"),
        *("StoppedError", "StorageError", "TertuliaError", "UsageError"),
    ),
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "Additions",
    "Answer",
    "Budget",
    "BudgetError",
    "Case",
    "Event",
    "Experiment",
    "ExtensionError",
    "Invitation",
    "LeftError",
    "Meeting",
    "ModelError",
    "NodeError",
    "NotFoundError",
    "Noted",
    "Person",
    "Population",
    "Question",
    "Run",
    "RunEnded",
    "RunStarted",
    "SettingError",
    "StepStarted",
    "StoppedError",
    "StorageError",
    "Store",
    "TertuliaError",
    "Turn",
    "TurnFinished",
    "UsageError",
    "Villager",
    "arun",
    "asweep",
    "diff",
    "generate_people",
    "mechanism",
    "mentions",
    "node",
    "open_store",
    "people_from",
    "resume",
    "run",
    "scorer",
    "stream",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tertulia")
    if name not in _MODULES:
        raise AttributeError(f"module 'tertulia' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, and nothing of how they come about."""
    return sorted(__all__)
