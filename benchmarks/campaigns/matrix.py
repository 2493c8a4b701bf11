"""Every command that writes × what befalls it × how it is gone on: its cells, and disturbing them."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from support.tally import Tally
from support.zygote import Zygote

from benchmarks.campaigns.disturbing import Attempt, Disturbance, Disturber, Way
from benchmarks.campaigns.failing_server import failing_server
from benchmarks.campaigns.leavings import Left
from benchmarks.campaigns.subjects import Subject, subjects

#: Processes whose store differed, after which a kind is given up.
_GIVEN_UP_AFTER = 5

#: Attempts for each disturbance that is wanted; many of short processes come too late.
_ATTEMPTS = 8


class Cell(NamedTuple):
    """What befalls processes of a kind, and how they are gone on."""

    disturbance: Disturbance
    way: Way

    def __str__(self) -> str:
        return f"{self.disturbance}, {self.way}"


def why_not(subject: Subject, cell: Cell) -> str | None:
    """Return why a cell makes no sense for a subject; `None` where it does."""
    disturbance, way = cell
    if disturbance is Disturbance.NONSENSE and not subject.asks_server:
        return "it asks no server"
    if disturbance is Disturbance.WORKER and not subject.has_workers:
        return "it has no workers"
    if way is Way.RESUME and not subject.goes_on:
        return "it is gone on with by giving the command again"
    if way is Way.AGAIN and subject.goes_on:
        return "the command again begins another one"
    if way is Way.ELSEWHERE and subject.changes_its_store:
        return "what it does is about this very store, or about none"
    return None


def cells(subject: Subject) -> list[Cell]:
    """Return the cells of a subject that make sense."""
    every = (Cell(disturbance, way) for disturbance in Disturbance for way in Way)
    return [cell for cell in every if why_not(subject, cell) is None]


def disturb_kind(
    kind: str,
    count: int,
    seed: int,
    folder: Path,
    length: int = 1,
    only: Callable[[Cell], bool] = lambda _: True,
    report: Callable[[str], None] = lambda _: None,
    found: Callable[[Left], None] = lambda _: None,
) -> Tally:
    """Disturb processes of a kind, one cell after the other; return how many times, and how often it ended the same.

    Args:
        kind: A key of `subjects`.
        count: How many disturbances, all cells together; each has as many as the next, and one at least.
        seed: Of the conversations and of the times.
        folder: For the stores; those that differ are kept.
        length: Of the conversations.
        only: Which cells.
        report: Is called with a line for every process.
        found: Is called with what every disturbance left.
    """
    tally = Tally()
    chosen = subjects(length, seed)[kind]
    (folder / "home").mkdir(parents=True)
    home = str(folder / "home")
    environment = {"HOME": home, "XDG_CONFIG_HOME": home, "TERTULIA_CONFIG": f"{home}/tertulia"}
    with ExitStack() as opened:
        zygote = opened.enter_context(Zygote(*chosen[0].imports))
        server = opened.enter_context(failing_server()) if chosen[0].asks_server else None
        disturber = Disturber(folder, partial(zygote.start, folder=folder, environment=environment), server)
        places = [(cell, subject) for subject in chosen for cell in cells(subject) if only(cell)]
        random.Random(f"{seed} {kind}").shuffle(places)
        for at, (cell, subject) in enumerate(places):
            share = max(1, count * (at + 1) // len(places) - count * at // len(places))
            for attempt, times in _attempts(disturber, subject, cell, share, f"{seed} {kind} {cell}"):
                line = f"{kind}, {cell}: {attempt}"
                tally.count([line] if attempt.problems else [], times)
                for left in attempt.left:
                    found(left)
                report(f"{tally.tried:4} {line}")
            if len(tally.problems) >= _GIVEN_UP_AFTER:
                break
    if not tally.problems:
        shutil.rmtree(folder)
    return tally


def _attempts(
    disturber: Disturber, subject: Subject, cell: Cell, count: int, seed: str
) -> Iterator[tuple[Attempt, int]]:
    """Yield attempts of a cell, and how many disturbances each was, until there were so many."""
    tried = 0
    for number in range(_ATTEMPTS * count):
        drawn = random.Random(f"{seed} {number}")
        attempt = disturber.attempt(subject, *cell, drawn, min(drawn.choice(subject.planned), count - tried))
        times = max(len(attempt.left), bool(attempt.problems))
        yield attempt, times
        tried += times
        if tried >= count:
            return
    yield Attempt(problems=[f"only {tried} of {count} met a living process"]), 1
