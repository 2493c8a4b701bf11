"""Which lines of a run a parent's messages still have: some may be gone, as a host trims, removes and summarises."""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from tertulia.langgraph.messages import Line


class Spoken(NamedTuple):
    """A spoken turn of a run, with single spaces."""

    speaker: str
    text: str
    turn: int


def matched(spoken: Sequence[Spoken], lines: Sequence[Line]) -> list[int]:
    """Return the places among the spoken turns of the first lines, up to the first line that the run does not have.

    A line that names its turn is found there. Of the others, those before such a line are sought from there backwards,
    as trimming leaves the last ones, and those behind the last such line forwards.
    """
    found: list[int] = []
    block: list[Line] = []
    for line in lines:
        place = _place_of(spoken, line)
        first = found[-1] + 1 if found else 0
        if place is None or place < first + len(block):
            block.append(line)
            continue
        before = _backwards(spoken, block, first, place) if block else []
        if before is None:
            break
        found += [*before, place]
        block = []
    first = found[-1] + 1 if found else 0
    return found + _forwards(spoken, block, first)


def _place_of(spoken: Sequence[Spoken], line: Line) -> int | None:
    """Return the place of the turn that a line names; `None` if it names none, or says something else."""
    place = len(spoken) if line.turn is None else bisect_left(spoken, line.turn, key=attrgetter("turn"))
    is_there = place < len(spoken) and spoken[place].turn == line.turn and _is_said(spoken[place], line)
    return place if is_there else None


def _backwards(spoken: Sequence[Spoken], lines: Sequence[Line], first: int, end: int) -> list[int] | None:
    places: list[int] = []
    for line in reversed(lines):
        end = next((place for place in range(end - 1, first - 1, -1) if _is_said(spoken[place], line)), -1)
        if end < 0:
            return None
        places.append(end)
    return places[::-1]


def _forwards(spoken: Sequence[Spoken], lines: Sequence[Line], first: int) -> list[int]:
    places: list[int] = []
    for line in lines:
        place = next((place for place in range(first, len(spoken)) if _is_said(spoken[place], line)), None)
        if place is None:
            break
        places.append(place)
        first = place + 1
    return places


def copied_from(spoken: Sequence[Spoken], line: Line) -> int | None:
    """Return the last turn of a run in which a line was said; `None` if it was not."""
    of_line = [turn.turn for turn in spoken if _is_said(turn, line)]
    return line.turn if line.turn in of_line else max(of_line, default=None)


def _is_said(turn: Spoken, line: Line) -> bool:
    return turn.speaker == line.speaker and turn.text == line.text
