"""Estimate the cost of a run: rehearse the conversation and count the calls. Nothing is stored."""

import asyncio
from dataclasses import dataclass

from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.access.model_names import models_of_roles
from tertulia.runs.planning.starting import RunPlan, begin_with
from tertulia.state.cognition import Call
from tertulia.state.language_model import REHEARSAL
from tertulia.state.seat import Answer, Invitation


@dataclass(frozen=True)
class Estimate:
    """The turns and the model calls of a rehearsed plan; tokens are the stand-in's."""

    turns: int
    calls: tuple[Call, ...]


def estimate(plan: RunPlan) -> Estimate:
    """Return the turns and the model calls that a run would have.

    Raises:
        TertuliaError: The run could not be made like that.
    """
    from tertulia.models.loading import rehearsal_of
    from tertulia.runs.driving.conversation import drive
    from tertulia.storage.sqlite.checkpoints import open_checkpoints
    from tertulia.storage.sqlite.opening import MEMORY
    from tertulia.storage.store import SqlStore

    roles = {role: rehearsal_of(name) for role, name in models_of_roles(plan.parameters).items()}
    engines = Engines(rehearsal_of(plan.model), {}, ModelAccess().embedder(REHEARSAL), roles)
    engines.check(plan.parameters)
    with SqlStore.open(MEMORY, create=True) as store:
        context = begin_with(store, plan, engines)

        async def rehearse() -> None:
            async with open_checkpoints(MEMORY) as checkpointer:
                await drive(context, checkpointer, ask=_nobody_types)

        asyncio.run(rehearse())
        return Estimate(store.run(context.run).turns, tuple(store.calls(context.run)))


async def _nobody_types(invitation: Invitation) -> Answer:
    """Speak for the person in the seat only when nobody else can, so that the others make the most calls."""
    return Answer(words="" if invitation.may_pass else "I would rather hear what you think.")
