"""The broker: model calls of agents that think at the same time meet here, and run as one batch.

1. A seat is an agent, or a part of one that makes calls side by side with the others.
2. A batch runs when everybody who is seated waits. So its make-up does not depend on who was faster, and neither do the
   numbers that come out of it.
3. Calls of remote models are made at once and by themselves: nothing in them depends on what runs beside them.
4. A batch is stored whole before anybody goes on, and what is stored is not asked again: after a crash the calls that
   are left meet in the batches in which they would have met.

This module knows no torch and no graph.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from models.journal import Journal, JournalledModel, written
from state.cognition import Call
from state.language_model import GenerationRequest, LanguageModel
from state.store import Store

Seat = tuple[str, str]


@dataclass(frozen=True)
class _Waiting:
    model: LanguageModel
    request: GenerationRequest
    call: Call
    made: asyncio.Future[Call]


class BatchingBroker:
    """Implements `state.context.Broker` for one run; used in one thread."""

    def __init__(self, run: str, store: Store) -> None:
        self._journal = Journal(run, store)
        self._batches: set[asyncio.Task[None]] = set()
        self.clear()

    def clear(self) -> None:
        """Forget who is seated and which calls were made, before a run is driven from the beginning of a turn."""
        self._journal.clear()
        self._round = -1
        self._seated: dict[str, set[str]] = {}
        self._waiting: dict[Seat, _Waiting] = {}

    def seat(self, round: int, agents: Sequence[str]) -> None:
        """Seat the agents of a round, in the order of a batch; where the round is seated already, nothing changes."""
        if round == self._round:
            return
        self.clear()
        self._round, self._seated = round, {agent: {""} for agent in agents}

    def leave(self, agent: str, part: str = "") -> None:
        """Note that an agent, or a part of one, makes no more calls in this round."""
        if part and agent in self._seated:
            self._seated[agent].discard(part)
        elif not part:
            self._seated.pop(agent, None)
        self._run_if_all_wait()

    @contextmanager
    def split(self, agent: str, parts: Sequence[str]) -> Iterator[None]:
        """Seat several parts of an agent in the agent's place while inside."""
        if agent in self._seated:
            self._seated[agent] = set(parts)
        try:
            yield
        finally:
            if agent in self._seated:
                self._seated[agent] = {""}

    def asked_by(self, model: LanguageModel, agent: str, round: int, node: str, part: str = "") -> LanguageModel:
        """Return a model as one step asks it (see the contract)."""
        return JournalledModel(model, self._journal, self, (round, agent, node), part)

    async def generate(self, model: LanguageModel, seat: Seat, call: Call, request: GenerationRequest) -> Call:
        """Return a call as it was made, in a batch with those of the others, and stored."""
        agent, _ = seat
        if agent not in self._seated or model.traits.text_only:
            started = time.perf_counter()
            replies = await model.generate(request)
            made = written(call, request, replies, time.perf_counter() - started)
            self._journal.save([made])
            return made
        waiting = _Waiting(model, request, call, asyncio.get_running_loop().create_future())
        self._waiting[seat] = waiting
        self._run_if_all_wait()
        try:
            return await waiting.made
        finally:
            if self._waiting.get(seat) is waiting:  # cancelled before its batch ran
                del self._waiting[seat]

    def _run_if_all_wait(self) -> None:
        # An agent without parts is between two steps, and will ask again or leave.
        waits = (
            bool(parts) and all((agent, p) in self._waiting for p in parts) for agent, parts in self._seated.items()
        )
        if not self._waiting or not all(waits):
            return
        seats = [(agent, part) for agent, parts in self._seated.items() for part in sorted(parts)]
        batch = [self._waiting.pop(seat) for seat in seats]
        task = asyncio.get_running_loop().create_task(self._run_batch(batch))
        self._batches.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._batches.discard)

    async def _run_batch(self, batch: Sequence[_Waiting]) -> None:
        """Run calls as one batch for each model, store them, and let those who wait go on; a failure is theirs too."""
        try:
            made: dict[int, Call] = {}
            for model in {id(one.model): one.model for one in batch}.values():
                places = [at for at, one in enumerate(batch) if one.model is model]
                started = time.perf_counter()
                replies = await model.generate_batch([batch[at].request for at in places])
                share = (time.perf_counter() - started) / len(places)
                for at, rows in zip(places, replies, strict=True):
                    made[at] = written(batch[at].call, batch[at].request, rows, share)
            self._journal.save([made[at] for at in range(len(batch))])
        except BaseException as error:
            for one in batch:
                if not one.made.done():
                    one.made.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for at, one in enumerate(batch):
            if not one.made.done():
                one.made.set_result(made[at])
