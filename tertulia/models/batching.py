"""The broker: concurrent model calls of the agents of a round, run as one batch and stored.

1. A seat is an agent, or one of several parts of an agent that make calls concurrently. All seats stand at one table,
   or, if there are many, a fixed number of them at each.
2. A batch runs when every seat of a table waits. So its composition does not depend on which agent was faster, and
   neither do the numbers that come out of it.
3. Calls of remote models are made at once, each by itself: they do not depend on other calls.
4. A batch is stored whole before any agent goes on, and a stored call is not made again: after a crash the remaining
   calls meet in the same batches as without it.
5. Runs of a cohort, which are driven side by side, wait for each other likewise (`models.cohort`).

This module knows no torch and no graph.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tertulia.models.cohort import CohortBatches, WaitingCall, answer_at_once, answer_together
from tertulia.models.journal import Journal, JournalledModel
from tertulia.state.budget import Meter
from tertulia.state.cognition import Call
from tertulia.state.language_model import LanguageModel
from tertulia.state.questions import NextOption, Question
from tertulia.state.store import Store

Seat = tuple[str, str]

#: The seats that share a batch, in its order: the agents, each with its parts.
_Table = dict[str, set[str]]


class BatchingBroker:
    """Implements `state.context.Broker` for one run; used in one thread."""

    def __init__(
        self, run: str, store: Store, ancestors: Sequence[str] = (), cohort: CohortBatches | None = None
    ) -> None:
        """Take the run, the runs that it is a fork of (its parent first, see `seat`), and its cohort, if any."""
        self._run, self._store, self._cohort = run, store, cohort
        self._journal, self._ancestors = Journal(run, store), ancestors
        self._batches: set[asyncio.Task[None]] = set()
        self.clear()

    def use(self, meter: Meter) -> None:
        """Make calls from now on as far as a meter admits them."""
        self._journal.meter = meter

    def clear(self) -> None:
        """Reset seats and attempt counters, before a run is driven from the beginning of a turn."""
        self._journal.clear()
        self._round = -1
        self._tables: dict[str, _Table] = {}  # by agent
        self._waiting: dict[Seat, WaitingCall] = {}

    def seat(
        self, round: int, agents: Sequence[str], at_a_table: int | None = None, shares_calls: bool = False
    ) -> None:
        """Seat the agents of a round, in the order of a batch (see the contract)."""
        if round == self._round:
            return
        self.clear()
        self._round = round
        self._journal.shared_with = self._ancestors if shares_calls else ()
        size = at_a_table or max(1, len(agents))
        for first in range(0, len(agents), size):
            table: _Table = {agent: {""} for agent in agents[first : first + size]}
            self._tables.update(dict.fromkeys(table, table))

    def leave(self, agent: str, part: str = "") -> None:
        """Remove the seat of an agent, or of a part: it makes no more calls in this round."""
        if (table := self._tables.get(agent)) is None:
            return
        if part:
            table[agent].discard(part)
        else:
            del table[agent], self._tables[agent]
        self._run_if_all_wait(table)

    def hand_over(self, agent: str, partner: str) -> None:
        """Give the seat of an agent to their partner, for the calls that follow."""
        if (table := self._tables.pop(agent, None)) is not None:
            seats = {partner if seated == agent else seated: parts for seated, parts in table.items()}
            table.clear()
            table.update(seats)
            self._tables[partner] = table

    @contextmanager
    def split(self, agent: str, parts: Sequence[str]) -> Iterator[None]:
        """Replace the seat of an agent by seats of its parts while inside."""
        if (table := self._tables.get(agent)) is not None:
            table[agent] = set(parts)
        try:
            yield
        finally:
            if (table := self._tables.get(agent)) is not None:
                table[agent] = {""}

    def asked_by(self, model: LanguageModel, agent: str, round: int, node: str, part: str = "") -> LanguageModel:
        """Return a model that makes its calls as those of one step (see the contract)."""
        return JournalledModel(model, self._journal, self, (round, agent, node), part)

    async def answer(self, model: LanguageModel, seat: Seat, call: Call, question: Question) -> Call:
        """Return a call with its answer, made in a batch with those of other seats and runs, and stored."""
        agent, _ = seat
        waiting = WaitingCall(model, question, call, self._journal, asyncio.get_running_loop().create_future())
        # Decisions of a mind by probabilities are asked at once: how often differs from agent to agent.
        if model.traits.text_only or (agent in self._tables and isinstance(question, NextOption)):
            return await answer_at_once(waiting)
        if (table := self._tables.get(agent)) is None:
            if self._cohort is None:
                return await answer_at_once(waiting)
            self._cohort.hand_in(self._run, [waiting])
            return await waiting.result
        self._waiting[seat] = waiting
        self._run_if_all_wait(table)
        try:
            return await waiting.result
        finally:
            if self._waiting.get(seat) is waiting:  # cancelled before its batch ran
                del self._waiting[seat]

    def _run_if_all_wait(self, table: _Table) -> None:
        # An agent without parts is between two steps, and will make another call or leave.
        waits = (
            bool(parts) and all((agent, part) in self._waiting for part in parts) for agent, parts in table.items()
        )
        if not table or not all(waits):
            return
        seats = [(agent, part) for agent, parts in table.items() for part in sorted(parts)]
        batch = [self._waiting.pop(seat) for seat in seats]
        if self._cohort is not None:
            self._cohort.hand_in(self._run, batch)
            return
        task = asyncio.get_running_loop().create_task(answer_together(batch, self._store))
        self._batches.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._batches.discard)
