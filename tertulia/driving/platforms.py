"""Where a run was computed: noted where it begins, and where it goes on somewhere else."""

from tertulia.driving.events import Emit, Noted
from tertulia.models.local.platforms import platform_of
from tertulia.reading.platforms import STEP
from tertulia.state.context import Context
from tertulia.state.records import Platform


def note_platform(context: Context, emit: Emit) -> None:
    """Store where a run is computed from here on, if that is not known yet, and say what is other than before.

    Args:
        emit: Takes `Noted` where it goes on somewhere else: the conversation may then be another one.
    """
    store, run = context.store, context.run
    participants = (model for model, _ in context.participant_models.values())
    platform = platform_of([context.model, *participants, *(model for model, _ in context.roles.values())])
    if platform is None:
        return
    before = [*store.steps(run, STEP, Platform).values()][-1:]
    if before == [platform]:
        return
    turns = store.run(run).turns
    store.save_step(run, store.turns(run, turns, turns)[0].round + 1 if turns else 0, "", STEP, platform)
    for former in before:
        changed = ", ".join(platform.differences(former))
        emit(Noted(run, f"goes on with {changed}: the same conversation is not certain"))
