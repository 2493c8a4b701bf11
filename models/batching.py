"""The broker: concurrent model calls of the agents of a round, run as one batch and stored.

1. A seat is an agent, or one of several parts of an agent that make calls concurrently.
2. A batch runs when every seat waits. So its composition does not depend on which agent was faster, and neither do the
   numbers that come out of it.
3. Calls of remote models are made at once, each by itself: they do not depend on what runs beside them.
4. A batch is stored whole before any agent goes on, and a stored call is not made again: after a crash the remaining
   calls meet in the same batches as without it.

This module knows no torch and no graph.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from models.journal import Journal, JournalledModel, model_failures, with_replies
from state.cognition import Call
from state.language_model import GenerationRequest, LanguageModel
from state.store import Store

Seat = tuple[str, str]


@dataclass(frozen=True)
class _Waiting:
    model: LanguageModel
    request: GenerationRequest
    call: Call
    result: asyncio.Future[Call]


class BatchingBroker:
    """Implements `state.context.Broker` for one run; used in one thread."""

    def __init__(self, run: str, store: Store) -> None:
        self._journal = Journal(run, store)
        self._batches: set[asyncio.Task[None]] = set()
        self.clear()

    def clear(self) -> None:
        """Reset seats and attempt counters, before a run is driven from the beginning of a turn."""
        self._journal.clear()
        self._round = -1
        self._seated: dict[str, set[str]] = {}
        self._waiting: dict[Seat, _Waiting] = {}

    def seat(self, round: int, agents: Sequence[str]) -> None:
        """Seat the agents of a round, in the order of a batch. A round that is seated already does not change."""
        if round == self._round:
            return
        self.clear()
        self._round, self._seated = round, {agent: {""} for agent in agents}

    def leave(self, agent: str, part: str = "") -> None:
        """Remove the seat of an agent, or of a part: it makes no more calls in this round."""
        if part and agent in self._seated:
            self._seated[agent].discard(part)
        elif not part:
            self._seated.pop(agent, None)
        self._run_if_all_wait()

    @contextmanager
    def split(self, agent: str, parts: Sequence[str]) -> Iterator[None]:
        """Replace the seat of an agent by seats of its parts while inside."""
        if agent in self._seated:
            self._seated[agent] = set(parts)
        try:
            yield
        finally:
            if agent in self._seated:
                self._seated[agent] = {""}

    def asked_by(self, model: LanguageModel, agent: str, round: int, node: str, part: str = "") -> LanguageModel:
        """Return a model whose calls are those of one step (see the contract)."""
        return JournalledModel(model, self._journal, self, (round, agent, node), part)

    async def generate(self, model: LanguageModel, seat: Seat, call: Call, request: GenerationRequest) -> Call:
        """Return a call with its replies, made in a batch with those of other seats, and stored."""
        agent, _ = seat
        if agent not in self._seated or model.traits.text_only:
            started = time.perf_counter()
            with model_failures(model):
                replies = await model.generate(request)
            completed = with_replies(call, request, replies, time.perf_counter() - started)
            self._journal.save([completed])
            return completed
        waiting = _Waiting(model, request, call, asyncio.get_running_loop().create_future())
        self._waiting[seat] = waiting
        self._run_if_all_wait()
        try:
            return await waiting.result
        finally:
            if self._waiting.get(seat) is waiting:  # cancelled before its batch ran
                del self._waiting[seat]

    def _run_if_all_wait(self) -> None:
        # An agent without parts is between two steps, and will make another call or leave.
        waits = (
            bool(parts) and all((agent, part) in self._waiting for part in parts)
            for agent, parts in self._seated.items()
        )
        if not self._waiting or not all(waits):
            return
        seats = [(agent, part) for agent, parts in self._seated.items() for part in sorted(parts)]
        batch = [self._waiting.pop(seat) for seat in seats]
        task = asyncio.get_running_loop().create_task(self._run_batch(batch))
        self._batches.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._batches.discard)

    async def _run_batch(self, batch: Sequence[_Waiting]) -> None:
        """Run calls as one batch for each model, store them, and hand each seat its call, or the failure to all."""
        try:
            completed: dict[int, Call] = {}
            for model in {id(waiting.model): waiting.model for waiting in batch}.values():
                indices = [index for index, waiting in enumerate(batch) if waiting.model is model]
                started = time.perf_counter()
                with model_failures(model):
                    replies = await model.generate_batch([batch[index].request for index in indices])
                share = (time.perf_counter() - started) / len(indices)
                for index, rows in zip(indices, replies, strict=True):
                    completed[index] = with_replies(batch[index].call, batch[index].request, rows, share)
            self._journal.save([completed[index] for index in range(len(batch))])
        except BaseException as error:
            for waiting in batch:
                if not waiting.result.done():
                    waiting.result.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for index, waiting in enumerate(batch):
            if not waiting.result.done():
                waiting.result.set_result(completed[index])
