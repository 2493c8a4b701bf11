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
    tt.open_store("tertulia.db").runs()

Nothing heavy is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tertulia.name_collisions import check_rooms

if TYPE_CHECKING:
    from nodes.machinery.node import Node
    from nodes.mechanisms.mechanism import Mechanism
    from state.cognition import Finding
    from state.errors import (
        ExtensionError,
        LeftError,
        ModelError,
        NodeError,
        NotFoundError,
        SettingError,
        StorageError,
        TertuliaError,
        UsageError,
    )
    from state.parameters import Parameters
    from state.records import Record, Turn, Unit
    from state.seat import Answer, Invitation
    from tertulia.api import diff, resume, run, stream
    from tertulia.declaring import mechanism, node, scorer
    from tertulia.events import Event, Noted, RunEnded, RunStarted, StepStarted, TurnFinished
    from tertulia.stored_run import Run
    from tertulia.stores import Store, open_store

#: By module, the public names that it has.
_PUBLIC = {
    "tertulia.api": ("diff", "resume", "run", "stream"),
    "tertulia.stores": ("Store", "open_store"),
    "tertulia.stored_run": ("Run",),
    "tertulia.declaring": ("mechanism", "node", "scorer"),
    "tertulia.events": ("Event", "Noted", "RunEnded", "RunStarted", "StepStarted", "TurnFinished"),
    "nodes.machinery.node": ("Node",),
    "nodes.mechanisms.mechanism": ("Mechanism",),
    "state.cognition": ("Finding",),
    "state.parameters": ("Parameters",),
    "state.records": ("Record", "Turn", "Unit"),
    "state.seat": ("Answer", "Invitation"),
    "state.errors": (
        *("ExtensionError", "LeftError", "ModelError", "NodeError", "NotFoundError", "SettingError"),
        *("StorageError", "TertuliaError", "UsageError"),
    ),
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "Answer",
    "Event",
    "ExtensionError",
    "Finding",
    "Invitation",
    "LeftError",
    "Mechanism",
    "ModelError",
    "Node",
    "NodeError",
    "NotFoundError",
    "Noted",
    "Parameters",
    "Record",
    "Run",
    "RunEnded",
    "RunStarted",
    "SettingError",
    "StepStarted",
    "StorageError",
    "Store",
    "TertuliaError",
    "Turn",
    "TurnFinished",
    "Unit",
    "UsageError",
    "diff",
    "mechanism",
    "node",
    "open_store",
    "resume",
    "run",
    "scorer",
    "stream",
]


check_rooms()


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tertulia")
    if name not in _MODULES:
        raise AttributeError(f"module 'tertulia' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
