"""A time limit for users' functions. Their waiting for a model does not count."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, cast

from tertulia.state.context import Broker, Context
from tertulia.state.language_model import LanguageModel


@asynccontextmanager
async def time_limit(limit_s: float | None, context: Context) -> AsyncIterator[Context]:
    """Limit the time of the body.

    Yields:
        The context to use inside, through which the clock stops during calls of models.

    Raises:
        TimeoutError: It took longer. Blocking code can't be stopped; the error then comes when it is done.
    """
    async with asyncio.timeout(limit_s) as deadline:
        yield replace(context, broker=cast(Broker, _PatientBroker(context.broker, deadline)))
        if (ends := deadline.when()) is not None and asyncio.get_running_loop().time() > ends:
            raise TimeoutError


class _PatientBroker:
    def __init__(self, broker: Broker, deadline: asyncio.Timeout) -> None:
        self._broker, self._deadline = broker, deadline
        self._waiting = 0
        self._left_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker, name)

    def asked_by(self, model: LanguageModel, agent: str, round: int, node: str, part: str = "") -> Any:
        """Return a model as a step asks it; each of its calls stops the clock."""
        return _PatientModel(self._broker.asked_by(model, agent, round, node, part), self)

    @contextmanager
    def clock_stopped(self) -> Iterator[None]:
        """Stop the clock while inside, once for any number of concurrent calls."""
        ends = self._deadline.when()
        if self._deadline.expired() or (ends is None and not self._waiting):
            yield  # there is no limit, or it is over
            return
        loop = asyncio.get_running_loop()
        if ends is not None:
            self._left_s = ends - loop.time()
            self._deadline.reschedule(None)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._deadline.reschedule(loop.time() + self._left_s)


class _PatientModel:
    def __init__(self, model: LanguageModel, broker: _PatientBroker) -> None:
        self._model, self._broker = model, broker

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._model, name)
        if not inspect.iscoroutinefunction(value):
            return value

        async def wait(*arguments: Any, **named: Any) -> Any:
            with self._broker.clock_stopped():
                return await value(*arguments, **named)

        return wait
