"""The latency race: willing agents draw a response latency, and the fastest speaks. Source: ChatAgents App. B."""

import math
from collections.abc import Callable, Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.meeting.contenders import Contender, Outcome, contenders_of, give_floor, with_latency
from tertulia.state.cognition import Bid, Floor
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator

#: Seconds that the others wait for a willing agent that was asked by name (ours: ChatAgents is silent).
YIELD_S = 5.0


async def race(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Let those present race for the floor; the round is a silence if no one is willing or fast enough."""
    context, round = runtime.context, state["round"]
    outcome = run_race(
        contenders_of(state, context),
        state["silence_s"],
        context.parameters,
        draw=lambda bid, name, look: with_latency(bid, context, round, name, look),
        choose=lambda names: keyed_generator(context.seed, round=round, node="tie").choice(names),
    )
    return give_floor(state, context, outcome)


def run_race(
    contenders: Sequence[Contender],
    silence_s: float,
    parameters: Parameters,
    draw: Callable[[Bid, str, int], Bid],
    choose: Callable[[Sequence[str]], str],
) -> Outcome:
    """Return the winner of the floor, and all bids.

    Willingness is evaluated when the round begins, and again every Δt until an agent is willing; then the willing draw
    their latencies, and those that wait for another, asked by name and willing to answer, add `YIELD_S`. An agent that
    leaves before their first word does not get the floor. A tie is resolved by a draw among those in time. The round is
    a silence if the first word would come after `silence_s`, or nobody becomes willing.

    Args:
        silence_s: Seconds since the last word, when the round begins.
        parameters: θ, Δt, the length of a silence, and the tolerance of a tie.
        draw: From a bid, a name and the number of the look to the bid with its latency.
        choose: From names, evenly.
    """
    look = 0
    while True:
        waited_s = look * parameters.reevaluation_s
        bids = {contender.name: contender.bid_after(silence_s + waited_s, parameters) for contender in contenders}
        willing = [name for name, bid in bids.items() if bid.willing]
        if willing or waited_s + parameters.reevaluation_s >= parameters.silence_s:
            break
        look += 1
    asked = {contender.name for contender in contenders if contender.address == 1 and bids[contender.name].willing}
    stays_s = {contender.name: contender.stays_s for contender in contenders}
    latencies: dict[str, float] = {}
    for name in willing:
        bids[name] = draw(bids[name], name, look)
        if asked and name not in asked and bids[name].willingness is not None:
            bids[name] = _yielding(bids[name])
        latencies[name] = bids[name].latency_s or 0.0
    able = [name for name in willing if waited_s + latencies[name] < stays_s[name]]
    first_s = min((latencies[name] for name in able), default=math.inf)
    in_time = [name for name in able if waited_s + latencies[name] <= parameters.silence_s]
    fastest = [name for name in in_time if latencies[name] <= first_s + parameters.tie_s]
    tied = tuple(fastest) if len(fastest) > 1 else ()
    winner = choose(fastest) if tied else next(iter(fastest), None)
    if winner is not None:
        bids[winner] = bids[winner].model_copy(update={"won": True})
    floor = Floor(
        order="self_driven",
        waited_s=None if winner is None else waited_s + latencies[winner],
        looks=look + 1,
        tied=tied,
        gone=tuple(name for name in willing if name not in able and latencies[name] < first_s),
    )
    return Outcome(winner, floor, bids)


def _yielding(bid: Bid) -> Bid:
    return bid.model_copy(update={"yielded_s": YIELD_S, "latency_s": (bid.latency_s or 0.0) + YIELD_S})
