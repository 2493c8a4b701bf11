"""Draw the pairs of a round of an album chat."""

import random
from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.state.album import Pairs
from tertulia.state.context import Context
from tertulia.state.graph_state import AlbumState
from tertulia.state.randomness import keyed_generator

#: Pairs whose calls a local model answers as one batch. Digits depend on it.
EXCHANGES_IN_BATCH = 16


async def draw_pairs(state: AlbumState, runtime: Runtime[Context]) -> AlbumState:
    """Begin a round: draw its pairs, and seat them so that the calls of a phase are made in batches.

    In a fork from the middle of a round the pairs are those of its parent, whose first exchanges it shares.
    """
    context, round, before = runtime.context, state["round"] + 1, state["turn"]
    drawn = context.store.step(context.run, before + 1, "", "pairs", Pairs)
    if drawn is None:
        drawn = paired(context.population.names, keyed_generator(context.seed, round=round, node="pairs"))
        context.store.save_step(context.run, before + 1, "", "pairs", drawn)
    pairs = [list(pair) for pair in drawn.pairs]
    askers = [asker for asker, _ in pairs[state["kept"] :]]
    context.broker.seat(round, askers, EXCHANGES_IN_BATCH, shares_calls=state["kept"] > 0)
    return {"round": round, "pairs": pairs}


def paired(names: Sequence[str], generator: random.Random) -> Pairs:
    """Return pairs of an even draw; of an odd number of people one rests."""
    drawn = generator.sample(list(names), len(names))
    resting = drawn.pop() if len(drawn) % 2 else None
    return Pairs(pairs=tuple(zip(drawn[::2], drawn[1::2], strict=True)), resting=resting)
