"""The calls, tokens and time that a run took, or would take, by agent, by step and by model."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import inf, nan

from tertulia.metrics.cost import Cost, costs_by, total
from tertulia.state.budget import NO_PRICES, Prices
from tertulia.state.cognition import Call
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.records import RunRecord
from tertulia.state.store import Store

#: Rounds of which calls are read at once: some ten a round, and of a long run not all fit into memory.
_ROUNDS_AT_ONCE = 100


def read_prices(given: Iterable[str] | None) -> Prices:
    """Return the prices by model.

    Raises:
        UsageError: A price is not `MODEL=READ,WRITTEN`.
    """
    prices: dict[str, tuple[float, float]] = {}
    for price in given or []:
        name, _, figures = price.rpartition("=")
        try:
            read, written = map(float, figures.split(","))
        except ValueError:
            read = written = nan
        if not name or not (0 <= read < inf and 0 <= written < inf):
            raise UsageError(f"--price {price}: write MODEL=READ,WRITTEN, as in --price openai:NAME=2.50,10")
        prices[name] = read, written
    return prices


@dataclass(frozen=True)
class CostTable:
    """The cost of calls: by agent (the empty name is the group's), by step, by both, by model, and in all."""

    agents_and_steps: Mapping[tuple[str, ...], Cost]
    agents: Mapping[str, Cost]
    steps: Mapping[str, Cost]
    models: Mapping[str, Cost]
    total: Cost


def calls_paid(store: Store, run: RunRecord, turn: int | None = None, agent: str | None = None) -> list[Call]:
    """Return the calls that a run itself has made, after its fork; of one turn, also before it, or of one agent."""
    return [call for call in store.calls(run.run, turn, without_shared=turn is None) if agent in (None, call.agent)]


def calls_and_payers(store: Store, run: RunRecord) -> Iterator[tuple[Call, bool]]:
    """Yield every call behind the turns of a run, and whether it is inherited: the parent made it."""
    paid = {_place_of(call) for call in calls_paid(store, run)}
    for call in store.calls(run.run):
        yield call, _place_of(call) not in paid


def _place_of(call: Call) -> tuple[object, ...]:
    return call.round, call.agent, call.node, call.attempt


def calls_in_brief(store: Store, run: RunRecord, turn: int | None = None) -> Iterator[Call]:
    """Yield the same calls without arguments, replies and values, a few rounds of them at a time."""
    if turn is not None:
        yield from store.calls_in_brief(run.run, turn, turn)
        return
    for first in range(0, run.turns + 1, _ROUNDS_AT_ONCE):
        last = first + _ROUNDS_AT_ONCE - 1
        yield from store.calls_in_brief(run.run, first, last if last < run.turns else None, without_shared=True)


def cost_table(calls: Iterable[Call]) -> CostTable:
    """Return the cost of calls by agent, step and model."""
    both, by_agent, by_step, by_model = costs_by(
        calls,
        [
            lambda call: (call.agent, call.node),
            lambda call: (call.agent,),
            lambda call: (call.node,),
            lambda call: (call.model,),
        ],
    )
    agents, steps, models = ({key: cost for (key,), cost in of.items()} for of in (by_agent, by_step, by_model))
    return CostTable(both, agents, steps, models, total(agents.values()))


def price_of(cost: Cost, per_million: tuple[float, float] | None) -> float | None:
    """Return the price of tokens, in the currency of the price for a million read and a million written."""
    if per_million is None:
        return None
    return (cost.prompt_tokens * per_million[0] + cost.reply_tokens * per_million[1]) / 1e6


def cost_document(calls: Iterable[Call], timed: bool = True, prices: Prices = NO_PRICES) -> Document:
    """Return the cost of calls as JSON: a row per agent and step, one per model with its price, and the sum.

    Args:
        timed: Whether their time means anything.
        prices: Of the models with known prices.
    """
    table = cost_table(calls)
    untimed = {} if timed else {"seconds": None}
    return {
        "cost": [
            {"agent": agent, "node": node, **asdict(cost), **untimed}
            for (agent, node), cost in table.agents_and_steps.items()
        ],
        "models": [
            {"model": name, **asdict(cost), **untimed, "price": price_of(cost, prices.get(name))}
            for name, cost in table.models.items()
        ],
        "total": asdict(table.total) | untimed,
    }
