"""Where a run was computed: noted where it begins, and where it goes on somewhere else."""

from typing import Any

from tertulia.events import Emit, Noted
from tertulia.models.platforms import platform_of
from tertulia.state.context import Context
from tertulia.state.records import Platform
from tertulia.state.store import Store

#: The name of the step.
_STEP = "platform"


def note_platform(context: Context, emit: Emit) -> None:
    """Store where a run is computed from here on, if that is not known yet, and say what is other than before.

    Args:
        context: The run.
        emit: Takes `Noted` where it goes on somewhere else: the conversation may then be another one.
    """
    store, run = context.store, context.run
    participants = (model for model, _ in context.participant_models.values())
    platform = platform_of([context.model, *participants, *(model for model, _ in context.roles.values())])
    if platform is None:
        return
    before = [*store.steps(run, _STEP, Platform).values()][-1:]
    if before == [platform]:
        return
    turns = store.run(run).turns
    store.save_step(run, store.turns(run, turns, turns)[0].round + 1 if turns else 0, "", _STEP, platform)
    for former in before:
        changed = ", ".join(platform.differences(former))
        emit(Noted(run, f"goes on with {changed}: the same conversation is not certain"))


def platforms_document(store: Store, run: str) -> list[dict[str, Any]]:
    """Return where a run was computed, by the round from which on it was."""
    found = store.steps(run, _STEP, Platform)
    return [{"round": round, **platform.model_dump(mode="json")} for (round, _), platform in found.items()]
