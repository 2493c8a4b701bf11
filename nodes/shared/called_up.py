"""Memories with keys: they come to mind when a key is heard, and at no other time."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from tertulia.state.meeting import Start
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Memory
from tertulia.state.words import goes_on, has_unspaced, without_case

#: The number of last lines that are searched for keys.
LATEST_LINES = 4


def calling(start: Start, lines: Sequence[str]) -> list[str]:
    """Return the texts that call memories up: the situation, which stays, and the last lines that somebody heard."""
    situation = (getattr(start, name, None) for name in ("title", "place", "description"))
    return [text for text in (*situation, *lines[-LATEST_LINES:]) if text]


def called_up(memories: Iterable[Memory], texts: Iterable[str], now: datetime, most: int) -> list[Memory]:
    """Return the memories from before `now` of which a key is in one of the texts, at most `most`, oldest first.

    Letter case makes no difference. A key is a whole word, or several; in scripts without spaces any part of a line. Of
    too many the most important stay.
    """
    heard = without_case("\n".join(texts))
    called = [
        memory
        for memory in memories
        if memory.keys and memory.created < now and may_be_recalled(memory) and _is_called(memory.keys, heard)
    ]
    kept = sorted(called, key=lambda memory: -memory.importance)[:most]
    return sorted(kept, key=lambda memory: memory.created)


def _is_called(keys: Sequence[str], heard: str) -> bool:
    return any(words in heard and (is_part or _is_whole(words, heard)) for words, is_part in map(_read, keys) if words)


@lru_cache(maxsize=8192)  # a card's lorebook has thousands, and every turn looks for them
def _read(key: str) -> tuple[str, bool]:
    """Return the words of a key as they are compared, and whether they may stand within a clause."""
    return " ".join(without_case(key).split()), has_unspaced(key)


def _is_whole(words: str, heard: str) -> bool:
    """Return whether words stand somewhere in a text, no letter before or behind them."""
    places = (match.span() for match in re.finditer(re.escape(words), heard))
    return any(not goes_on(heard[:start][-1:]) and not goes_on(heard[end : end + 1]) for start, end in places)
