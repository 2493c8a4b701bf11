"""Stops of a run that act as an interrupt, besides signals: a spent budget, and a request to stop.

Both raise `KeyboardInterrupt` in the event loop that drives, between two of its steps. So no node sees an error, and
as much is kept as after Ctrl-C. A budget waits for the calls under way, as they are paid for; a request does not.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NoReturn

from tertulia.state.budget import NO_BUDGET, Budget, Purse, Spent
from tertulia.state.cognition import Call
from tertulia.state.errors import BudgetError, StoppedError

#: Looks at the store, and returns the name of the requester of a stop, if any.
Look = Callable[[], str | None]

#: Seconds between two looks at the store, and the largest share of the time that looking may take.
_LOOK_EVERY_S, _SHARE = 0.25, 0.02


class OwnPurse:
    """The part of a budget that this process spent. Implements `state.budget.Purse`."""

    def __init__(self, max_calls: int | None) -> None:
        """Begin with nothing spent."""
        self._max_calls, self._reserved, self._spent = max_calls, 0, Spent()

    def reserve(self, calls: int) -> int | None:
        """Reserve calls of the rest; if there are fewer, return how many were made or reserved before."""
        before = self._spent.calls + self._reserved
        if self._max_calls is not None and before + calls > self._max_calls:
            return before
        self._reserved += calls
        return None

    def settle(self, reserved: int, made: Spent) -> Spent:
        """Give a reservation back, add the use of its calls, and return all that was spent so far."""
        self._reserved -= reserved
        self._spent += made
        return self._spent


class Limits:
    """Limits of a run, or of all runs of a simulation or an experiment; implements `state.budget.Meter`.

    Used in one thread, and by one event loop after another.

    Attributes:
        budget: The budget from now on.
        error: Why it was stopped; `None` as long as it was not.
    """

    def __init__(self, budget: Budget = NO_BUDGET, purse: Purse | None = None) -> None:
        """Take a budget, and the purse that counts its spending: by default this object's own."""
        self.budget = budget
        self.error: StoppedError | None = None
        self._purse = OwnPurse(budget.max_calls) if purse is None else purse
        self._began: float | None = None
        self._next_check = 0.0
        self._under_way, self._noted = 0, Spent()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_interrupted = False

    @asynccontextmanager
    async def admitted(self, calls: int) -> AsyncIterator[None]:
        """Let so many calls be made together inside; wait there for the stop if the budget forbids them."""
        if self.budget.is_none:
            yield
            return
        if self.error is None and (made := self._purse.reserve(calls)) is not None:
            self._spend_out(self.budget.out_of_calls(made, calls))
        if self.error is not None:
            await asyncio.get_running_loop().create_future()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            noted, self._noted = self._noted, Spent()
            if reason := self.budget.reached(self._purse.settle(calls, noted)):
                self._spend_out(reason)
            self._interrupt_if_due()

    def note(self, calls: Sequence[Call]) -> None:
        """Count calls that were made and stored."""
        if not self.budget.is_none:
            self._noted += self.budget.spent_for(calls)

    @asynccontextmanager
    async def watching(self, look: Look | None = None) -> AsyncIterator[None]:
        """Stop the code inside, in this event loop, once a budget is spent or a stop is requested."""
        self._loop = asyncio.get_running_loop()
        looking = None if look is None else asyncio.create_task(self._look_again_and_again(look))
        alarm = None
        if self.budget.max_minutes is not None:
            alarm = self._loop.call_later(max(0.0, self.seconds_left()), self._end_of_time)
        try:
            yield
        finally:
            if looking is not None:
                looking.cancel()
            if alarm is not None:
                alarm.cancel()
            self._loop = None

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Raise `StoppedError` for an interrupt from here that stops the code inside."""
        try:
            yield
        except KeyboardInterrupt:
            if self.error is not None:
                raise self.error from None
            raise

    def why(self) -> StoppedError | None:
        """Return why it was stopped, if it was."""
        return self.error

    def seconds_left(self) -> float:
        """Return how long the budget of minutes lasts, in seconds; infinite without one."""
        minutes = self.budget.max_minutes
        return float("inf") if minutes is None else 60 * (minutes - self._minutes())

    def check(self, look: Look) -> None:
        """Raise `StoppedError` if the time is over or a stop is requested; for runs driven in other processes."""
        if self.seconds_left() <= 0:
            self.error = BudgetError(self.budget.out_of_time(self._minutes()))
            raise self.error
        if (began := time.monotonic()) < self._next_check:
            return
        if (who := look()) is not None:
            self.error = StoppedError(who)
            raise self.error
        self._next_check = time.monotonic() + _pause_s(began)

    def _minutes(self) -> float:
        """Return for how long it has been driven, in minutes, and begin to count if that was not done yet."""
        if self._began is None:
            self._began = time.monotonic()
        return (time.monotonic() - self._began) / 60

    def _end_of_time(self) -> None:
        self._spend_out(self.budget.out_of_time(self._minutes()))

    def _spend_out(self, reason: str) -> None:
        """Note that the budget is spent; calls under way are waited for."""
        if self.error is None:
            self.error = BudgetError(reason)
        self._interrupt_if_due()

    def _interrupt_if_due(self) -> None:
        if self.error is not None and not self._under_way:
            self._interrupt()

    def _interrupt(self) -> None:
        def interrupt() -> NoReturn:
            raise KeyboardInterrupt

        if self._loop is not None and not self._is_interrupted:
            self._is_interrupted = True
            self._loop.call_soon(interrupt)

    async def _look_again_and_again(self, look: Look) -> None:
        pause_s = _LOOK_EVERY_S
        while self.error is None:
            await asyncio.sleep(pause_s)
            began = time.monotonic()
            if (who := look()) is not None and self.error is None:
                self.error = StoppedError(who)
                self._interrupt()
            pause_s = _pause_s(began)


def _pause_s(began: float) -> float:
    """Return how long to wait after a look that began then."""
    return max(_LOOK_EVERY_S, (time.monotonic() - began) / _SHARE)
