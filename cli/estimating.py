"""What a run would take: the conversation is rehearsed, and the calls are counted. Nothing is stored."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cli.driving import Engines, context_of, models_of_roles
from cli.opening import open_embedding_model
from cli.terminal.output import data, plain, print_json, waiting
from cli.views.costs import print_cost
from state.cognition import Call
from state.meeting import Start
from state.parameters import Parameters
from state.records import RunRecord
from state.seat import Answer, Invitation
from storage.database import MEMORY
from storage.store import SqliteStore
from tertulia.costs import cost_document
from tertulia.documents import SCHEMA_VERSION

if TYPE_CHECKING:
    from nodes.machinery.registry import Registry


def tell_estimate(
    start: Start, parameters: Parameters, seed: int, model: str, registry: "Registry", as_json: bool
) -> None:
    """Print how many calls a run would make, and how many tokens they would read and write.

    Args:
        start: What it would start from.
        parameters: Its parameters.
        seed: Its seed.
        model: The model that it would have.
        registry: Its nodes and mechanisms.
        as_json: Whether to print JSON.
    """
    with waiting("rehearsing"):
        turns, calls = _rehearsed(start, parameters, seed, model, registry)
    if as_json:
        print_json(
            {"schema_version": SCHEMA_VERSION, "model": model, "turns": turns, **cost_document(calls, timed=False)}
        )
        return
    console = data()
    console.print(plain(f"{start.scenario} with {model}, as rehearsed: {turns} turns", "bold"))
    console.print()
    print_cost(console, calls, timed=False)
    note = "Tokens are the stand-in's; the embedded model's tokenizer makes some 14 % fewer of the same texts."
    console.print(plain(note, "dim"))


def _rehearsed(
    start: Start, parameters: Parameters, seed: int, model: str, registry: "Registry"
) -> tuple[int, list[Call]]:
    """Return how many turns were rehearsed, and the calls that they took."""
    from graphs.driving import drive
    from models.loading import rehearsal_of
    from storage.checkpoints import open_checkpoints

    roles = {role: rehearsal_of(name) for role, name in models_of_roles(parameters).items()}
    engines = Engines(rehearsal_of(model), {}, open_embedding_model("rehearsal"), roles)
    with SqliteStore.open(MEMORY, create=True) as store:
        record = RunRecord.model_validate(
            {
                "run": store.new_run_id(),
                "status": "running",
                "kind": start.kind,
                "scenario": start.scenario,
                "seed": seed,
                "created": datetime.now(UTC),
                **engines.resolved(parameters),
            }
        )
        store.create_run(record, start)
        context = context_of(store, record, engines, registry)

        async def hold() -> None:
            async with open_checkpoints(MEMORY) as checkpointer:
                await drive(context, checkpointer, ask=_nobody_types)

        asyncio.run(hold())
        return store.run(record.run).turns, store.calls(record.run)


async def _nobody_types(invitation: Invitation) -> Answer:
    """Answer for a person who has a seat: they speak where nobody else can, so that the others' calls are the most."""
    return Answer(words="" if invitation.may_pass else "I would rather hear what you think.")
