"""Turns of a run that its parent's messages no longer have: the record keeps them, and nobody hears them any more."""

from collections.abc import Iterable, Sequence
from typing import Any

from tertulia.langgraph.matching import Spoken
from tertulia.state.records import Turn
from tertulia.state.store import Store


def hidden_between(spoken: Sequence[Spoken], found: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the parts of a run before and between these places of its spoken turns: first and last turn of each."""
    parts, first = [], 0
    for place in found:
        if place > first:
            parts.append((spoken[first].turn, spoken[place - 1].turn))
        first = place + 1
    return tuple(parts)


class HeardStore:
    """The store of a run for its nodes: it does not have the turns that are not heard any more."""

    def __init__(self, store: Store, run: str, unheard: Iterable[tuple[int, int]]) -> None:
        self._store, self._run, self._unheard = store, run, tuple(unheard)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def hide(self, unheard: Iterable[tuple[int, int]]) -> bool:
        """Hide these parts, and no others; return whether that changes anything."""
        before, self._unheard = self._unheard, tuple(unheard)
        return before != self._unheard

    def is_hidden(self, turn: int) -> bool:
        """Whether a turn is not heard any more."""
        return any(first <= turn <= last for first, last in self._unheard)

    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        """Return the turns of a run; see the store."""
        turns = self._store.turns(run, first, last)
        if run != self._run or not self._unheard:
            return turns
        return [turn for turn in turns if not self.is_hidden(turn.turn)]
