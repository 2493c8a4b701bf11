"""Record the platform of a run when it begins, and when it goes on somewhere else."""

from tertulia.models.local.platforms import platform_of
from tertulia.runs.driving.events import Emit, Noted
from tertulia.state.context import Context
from tertulia.state.records import Platform
from tertulia.views.reading.platforms import STEP


def note_platform(context: Context, emit: Emit) -> None:
    """Store a new platform of a run; emit `Noted` if it differs from the former one, as the conversation may, too."""
    store, run = context.store, context.run
    participants = (model for model, _ in context.participant_models.values())
    models = [context.model, *participants, *(model for model, _ in context.roles.values())]
    platform = platform_of(models, context.embedder)
    if platform is None:
        return
    before = [*store.steps(run, STEP, Platform).values()][-1:]
    if before == [platform]:
        return
    record = store.run(run)
    round = store.turns(run, record.turns, record.turns)[0].round + 1 if record.turns else 0
    store.save_step(run, round, "", STEP, platform)
    changed = [text for former in before for text in platform.differences(former)]
    if changed:
        emit(Noted(run, f"goes on with {', '.join(changed)}: the same conversation is not certain"))
