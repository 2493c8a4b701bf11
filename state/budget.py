"""Budgets: how many calls, tokens, money and minutes a run or an experiment may take before it is stopped.

A budget says when a run stops, and never changes its words: it is no parameter of the run, no fork inherits it, and a
run that is resumed gets a new one, or none.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from sys import float_info
from types import MappingProxyType
from typing import Protocol

from tertulia.state.cognition import Call
from tertulia.state.errors import SettingError
from tertulia.state.wrong_arguments import with_named_fields
from tertulia.state.wrong_values import shown

#: By model, the price of a million tokens read, and of a million written.
Prices = Mapping[str, tuple[float, float]]

NO_PRICES: Prices = MappingProxyType({})


@dataclass(frozen=True)
class Spent:
    """The use of calls: their number, the tokens that they read and wrote, and the cost of those."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)


@with_named_fields
@dataclass(frozen=True)
class Budget:
    """The limits at which a run or an experiment is stopped, as an interrupt does; `None`: no limit.

    Attributes:
        max_calls: Calls of models, as `calls` has them: a row each, those of a batch too. No call is begun that would
            exceed it.
        max_tokens: Tokens read and written together; checked after each call.
        max_cost: Money, in the currency of the prices; checked after each call.
        max_minutes: Minutes of real time since the driving began; a call under way is waited for.
        prices: By model, the price of a million tokens read, and of a million written.

    ::

        tertulia.run("tidewell", budget=tertulia.Budget(max_calls=200, max_minutes=5))

    Raises:
        SettingError: A limit is no number above 0, or not a whole one for a count; or a price is none.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_minutes: float | None = None
    prices: Prices = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_tokens", "max_cost", "max_minutes"):
            value = getattr(self, name)
            object.__setattr__(self, name, value.item() if hasattr(value, "item") else value)  # of numpy, Python's
        for name in ("max_calls", "max_tokens"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise SettingError(name, shown(value), f": {_COUNTED}")
        for name, expected in (("max_cost", _PAID), ("max_minutes", _TIMED)):
            value = getattr(self, name)
            if value is not None and not (_is_amount(value) and value > 0):
                raise SettingError(name, shown(value), f": {expected}")
        if not isinstance(self.prices, Mapping):
            raise SettingError("prices", shown(self.prices), f": {_PRICED}")
        if wrong := next((model for model, price in self.prices.items() if not _is_price(price)), None):
            raise SettingError(f"prices[{wrong!r}]", shown(self.prices[wrong]), f": {_PRICED}")

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        return self.max_calls is self.max_tokens is self.max_cost is self.max_minutes is None

    def check_prices(self, models: Iterable[str]) -> None:
        """Raise `SettingError` if money is limited and a model has no price."""
        missing = next((model for model in models if model not in self.prices), None)
        if self.max_cost is not None and missing is not None:
            remedy = "say what a million tokens read, and a million written, cost"
            raise SettingError(
                "max_cost", self.max_cost, f": {missing} has no price; {remedy}: prices={{{missing!r}: (2.5, 10)}}"
            )

    def cost(self, call: Call) -> float:
        """Return the cost of a call; 0 if its model has no price."""
        read, written = self.prices.get(call.model, (0.0, 0.0))
        return ((call.prompt_tokens or 0) * read + (call.reply_tokens or 0) * written) / 1e6

    def spent_for(self, calls: Sequence[Call]) -> Spent:
        """Return the use of calls that were made."""
        tokens = sum((call.prompt_tokens or 0) + (call.reply_tokens or 0) for call in calls)
        return Spent(len(calls), tokens, sum(map(self.cost, calls)))

    def reached(self, spent: Spent) -> str | None:
        """Return which limit is reached, as the cause that stops a run (`its budget of …`); `None` if none is."""
        if self.max_tokens is not None and spent.tokens >= self.max_tokens:
            return f"its budget of {_of(self.max_tokens, 'token')} ({spent.tokens:,} read and written)"
        if self.max_cost is not None and spent.cost >= self.max_cost:
            return f"its budget of {self.max_cost:g} for calls ({spent.cost:.4g} spent)"
        return None

    def out_of_calls(self, made: int, wanted: int) -> str:
        """Return which limit forbids the calls that would be next, as the cause that stops a run."""
        together = f", and the next {wanted} are made together" if wanted > 1 else ""
        return f"its budget of {_of(self.max_calls or 0, 'call')} ({made:,} made{together})"

    def out_of_time(self, minutes: float) -> str:
        """Return the limit of time as the cause that stops a run."""
        return f"its budget of {_of(self.max_minutes or 0, 'minute')} ({minutes:.3g} passed)"


def _is_price(price: object) -> bool:
    """Return whether it is two numbers, each 0 or more."""
    if not isinstance(price, Sequence) or len(price) != 2:
        return False
    return all(_is_amount(number) for number in price)


def _is_amount(value: object) -> bool:
    """Return whether it is a number of 0 or more that can be calculated with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= float_info.max


def _of(limit: float, unit: str) -> str:
    number = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
    return f"{number} {unit}{'' if limit == 1 else 's'}"


_COUNTED = "a whole number from 1 is expected; leave it out for no limit"
_PAID = "a number above 0 is expected, in the currency of the prices; leave it out for no limit"
_PRICED = "prices of a million tokens, read and written, are given by model: prices={'openai:NAME': (2.5, 10)}"
_TIMED = "a number of minutes above 0 is expected; leave it out for no limit"

NO_BUDGET = Budget()


class Meter(Protocol):
    """Lets calls of models be made as far as a budget goes, and counts them."""

    def admitted(self, calls: int) -> AbstractAsyncContextManager[None]:
        """Let so many calls be made together inside; if a budget forbids them, wait there until the run is stopped.

        The results are stored inside, so that none is lost if the budget is spent with them.
        """

    def note(self, calls: Sequence[Call]) -> None:
        """Count calls that were made and stored."""


class _Unmetered:
    """Admits everything, and counts nothing."""

    @asynccontextmanager
    async def admitted(self, calls: int) -> AsyncIterator[None]:
        """Let calls be made."""
        yield

    def note(self, calls: Sequence[Call]) -> None:
        """Count nothing."""


UNMETERED: Meter = _Unmetered()


class Purse(Protocol):
    """The spent part of a budget, by one process or by many."""

    def reserve(self, calls: int) -> int | None:
        """Reserve so many calls of the rest; if there are fewer, return how many were made or reserved before."""

    def settle(self, reserved: int, made: Spent) -> Spent:
        """Give a reservation back, add the use made of it, and return all that was spent so far."""
