"""The lines, perceptions and thoughts of the earlier rounds of a meeting: read once, and kept while the run is driven.

1. Each round adds the records of the one before it, and nothing is read again: a round costs the same however many
   there were before. Numbers are kept in arrays, so that looking through all of them takes no step of Python for each.
2. The kept records follow from the stored rounds alone. A run that goes on in another process, or a fork, reads them
   when they are first asked for, and finds the same.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.hearing import came_s
from tertulia.nodes.shared.memory import Numbers, best_of_stream
from tertulia.prompts.cognition import line_of
from tertulia.state.cognition import Assessment, Perception
from tertulia.state.context import Context
from tertulia.state.parameters import Parameters
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Memory, Turn

#: Rounds that are read at once, if many have yet to be read.
_CHUNK = 64

_MICROSECOND = timedelta(microseconds=1)

Indices = NDArray[np.int64]


class GrowingArray:
    """An array to which rows are added; single precision becomes double if it would lose digits."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self._size = 0

    @property
    def rows(self) -> NDArray[Any]:
        """The rows."""
        return self._array[: self._size]

    def extend(self, rows: Sequence[Any]) -> None:
        """Add rows."""
        if not rows:
            return
        new, size, dtype = np.asarray(rows), self._size + len(rows), self._array.dtype
        if not np.array_equal(new.astype(dtype), new, equal_nan=True):
            dtype = new.dtype
        if size > len(self._array) or dtype != self._array.dtype:
            array = np.empty((max(64, size * 3 // 2), *new.shape[1:]), dtype)
            array[: self._size] = self.rows.reshape(-1, *new.shape[1:])
            self._array = array
        self._array[self._size : size] = new
        self._size = size

    def truncate(self, size: int) -> None:
        """Keep only the first so many rows."""
        self._size = size


# --- the memories of an agent ---------------------------------------------------------------------------------------


def recall_in_meeting(view: View, query: str, parameters: Parameters) -> list[Memory]:
    """Return the memories that bear on a query, from before the meeting and of the agent's perceptions in it.

    They are those that `nodes.shared.memory.retrieve_memories` chooses from all of them. Turns that are still in the
    agent's working memory are passed over.
    """
    past, memories = Past.of(view), [m for m in view.agent.memories if may_be_recalled(m) and not m.keys]
    rows, importance_of_rows = past.noticed(view)
    created_us = [(memory.created - view.meeting.time) // _MICROSECOND for memory in memories]
    ages_us = _offset_us(view.sim_time_s) - np.concatenate([np.array(created_us, np.int64), past.created_us.rows[rows]])
    lines = [past.line(memory.text) for memory in memories]
    oldest_first = np.argsort(-ages_us, kind="stable")
    stream = oldest_first[ages_us[oldest_first] > 0]  # (N,): memories, then turns
    stream = stream[_latest_of_each(np.concatenate([np.array(lines, np.int64), past.lines.rows[rows]])[stream])]
    if not len(stream):
        return []
    importance = np.concatenate([[memory.importance for memory in memories], importance_of_rows])
    embedder, is_turn = view.context.embedder, stream >= len(memories)
    point = np.array(embedder.embed([query]))  # (1, D)
    vectors = np.empty((len(stream), point.shape[1]))
    if not is_turn.all():
        vectors[~is_turn] = np.array(embedder.embed([memory.text for memory in memories]))[stream[~is_turn]]
    if is_turn.any():
        vectors[is_turn] = past.vectors.rows[rows[stream[is_turn] - len(memories)]]
    best = stream[best_of_stream(ages_us[stream] / 1e6, importance[stream], vectors, point, parameters)].tolist()
    everything = [*memories, *rows.tolist()]
    return [
        found if isinstance(found := everything[index], Memory) else past.memory(view, found, importance[index])
        for index in best
    ]


def _latest_of_each(lines: Indices) -> Indices:
    """Return the place of the last occurrence of each number, in the order in which the numbers first occur."""
    places = np.arange(len(lines))
    first, last = np.zeros((2, lines.max(initial=-1) + 1), np.int64)
    first[lines[::-1]], last[lines] = places[::-1], places
    latest: Indices = last[lines[first[lines] == places]]
    return latest


def _offset_us(sim_time_s: float) -> int:
    """Return the microseconds since the meeting began, rounded as a `datetime` is."""
    return timedelta(seconds=sim_time_s) // _MICROSECOND


class Past:
    """The turns of a meeting that may be recalled, and to whom each was how important.

    Attributes:
        turns, created_us, lines, vectors: Of each turn, its number, when it was said (microseconds since the meeting
            began), the number of its text, and its embedding.
    """

    def __init__(self) -> None:
        self._rounds = 0
        self.turns, self.created_us, self.lines = (GrowingArray(np.int64) for _ in range(3))
        self.vectors = GrowingArray(np.float32)
        self._numbers: dict[str, int] = {}  # by text
        self._importance: dict[str, GrowingArray] = {}  # by agent, then by turn; NaN: not noticed

    @classmethod
    def of(cls, view: View) -> "Past":
        """Return the past of a round, with all rounds before it."""
        past = view.context.kept.of(cls, cls)
        if past._rounds >= view.round:
            past = view.context.kept.keep(cls())
        for first in range(past._rounds + 1, view.round, _CHUNK):
            past._read(view.context, first, min(first + _CHUNK, view.round) - 1)
        return past

    def _read(self, context: Context, first: int, last: int) -> None:
        perceptions = context.store.steps(context.run, "perceive", Perception, first, last)
        turns = [turn for turn in context.store.turns(context.run, first, last) if turn.speaker is not None]
        turns = [turn for turn in turns if may_be_recalled(_memory(turn, context, 0.0))]
        texts = [line_of(turn, context.parameters.language) for turn in turns]
        vectors = context.embedder.embed(texts)
        for (_, agent), perception in perceptions.items():
            if perception.noticed and perception.turn and perception.turn <= last:
                importance = self._importance.setdefault(agent, GrowingArray(np.float64))
                importance.extend([np.nan] * (perception.turn + 1 - len(importance.rows)))
                importance.rows[perception.turn] = perception.importance
        self.turns.extend([turn.turn for turn in turns])
        self.created_us.extend([_offset_us(turn.sim_time_s) for turn in turns])
        self.lines.extend([self.line(text) for text in texts])
        self.vectors.extend(vectors)
        self._rounds = last

    def line(self, text: str) -> int:
        """Return the number of a text; equal texts have equal numbers."""
        return self._numbers.setdefault(text, len(self._numbers))

    def noticed(self, view: View) -> tuple[Indices, Numbers]:
        """Return the rows of the turns that the agent noticed and that are not among the lines of a prompt.

        Lines from before they came are not among them: with `hearing=all` a latecomer perceives the last line of it.

        Returns:
            The rows, ascending, and the importance of each.
        """
        importance = np.full(view.round, np.nan)  # by turn
        if view.name in self._importance:
            earlier = self._importance[view.name].rows
            importance[: len(earlier)] = earlier
        latest = view.context.store.step(view.context.run, view.round, view.name, "perceive", Perception)
        if latest is not None and latest.noticed and latest.turn is not None and latest.turn < view.round:
            importance[latest.turn] = latest.importance
        is_working_memory = view.context.parameters.hearing == "noticed"
        shown = view.mind["noticed"] if is_working_memory else [turn.turn for turn in view.lines()]
        importance[[turn for turn in shown if turn < view.round]] = np.nan
        was_there = self.created_us.rows >= _offset_us(came_s(view.meeting, view.name))
        rows = np.flatnonzero(~np.isnan(importance[self.turns.rows]) & was_there)
        return rows, importance[self.turns.rows[rows]]

    def memory(self, view: View, row: int, importance: float) -> Memory:
        """Return a turn as a memory."""
        number = int(self.turns.rows[row])
        (turn,) = view.context.store.turns(view.context.run, number, number)
        return _memory(turn, view.context, importance)


def _memory(turn: Turn, context: Context, importance: float) -> Memory:
    created = context.meeting.time + timedelta(seconds=turn.sim_time_s)
    text = line_of(turn, context.parameters.language)
    return Memory(id=f"turn_{turn.turn}", kind="event", text=text, created=created, importance=importance)


# --- the thoughts of an agent ---------------------------------------------------------------------------------------


class Thoughts:
    """The embedded thoughts of an agent since it last spoke."""

    def __init__(self, since: int) -> None:
        self._since = since
        self._rounds, self._settled = since, 0  # the rounds before the present one, and how many thoughts they have
        self._vectors = GrowingArray(np.float32)

    @classmethod
    def of(cls, view: View) -> Numbers:
        """Return the embeddings `(n, D)` of an agent's thoughts since it last spoke, that of this round last."""
        since = view.mind["spoke"]
        thoughts = view.context.kept.get(cls, view.name)
        if thoughts is None or thoughts._since != since or thoughts._rounds >= view.round:
            thoughts = view.context.kept.keep(cls(since), view.name)
        return thoughts._until(view)

    def _until(self, view: View) -> Numbers:
        """Return all up to this round; its thought is read again in the next round, and settled only then."""
        context, vectors = view.context, self._vectors
        vectors.truncate(self._settled)
        for round in range(self._rounds + 1, view.round + 1):
            self._settled = len(vectors.rows)
            step = context.store.step(context.run, round, view.name, "assess", Assessment)
            if step is not None:
                vectors.extend(context.embedder.embed([step.thought]))
        self._rounds = max(self._since, view.round - 1)
        return vectors.rows.astype(np.float64, copy=False)
