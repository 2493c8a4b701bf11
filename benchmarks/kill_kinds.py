"""Kill processes of one kind until so many kills have met a living process."""

import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.failing_server import failing_server
from benchmarks.kills import Kill, Killer
from benchmarks.subjects import subjects
from benchmarks.tally import Tally
from benchmarks.zygote import Zygote

#: Processes whose store differed, after which a kind is given up.
_GIVEN_UP_AFTER = 5

#: Attempts for each kill that is wanted; most kills of short processes come too late.
_ATTEMPTS = 8


def kill_kind(
    kind: str,
    count: int,
    seed: int,
    folder: Path,
    length: int = 1,
    report: Callable[[str], None] = lambda _: None,
    found: Callable[[Kill], None] = lambda _: None,
) -> Tally:
    """Kill processes of a kind; return how many kills there were, and after how many the store was as undisturbed.

    Args:
        kind: A key of `subjects`.
        count: How many kills.
        seed: Of the conversations and of the times of the kills.
        folder: For the stores; those that differ are kept.
        length: Of the conversations.
        report: Is called with a line for every process.
        found: Is called with what every kill left.
    """
    tally = Tally()
    killed = subjects(length, seed)[kind]
    home = folder / "home"
    home.mkdir(parents=True)
    environment = {"XDG_CONFIG_HOME": str(home), "TERTULIA_CONFIG": str(home / "tertulia")}
    with ExitStack() as opened:
        zygote = opened.enter_context(Zygote(*killed[0].imports))
        server = opened.enter_context(failing_server()) if kind == "remote model" else ""
        start = partial(zygote.start, folder=folder, environment=environment)
        killer = Killer(folder, start, server)
        attempts = failures = 0
        while tally.tried < count and attempts < _ATTEMPTS * count and failures < _GIVEN_UP_AFTER:
            drawn = random.Random(f"{seed} {kind} {attempts}")
            subject = killed[attempts % len(killed)]
            planned = min(drawn.choice(subject.kills_per_run), count - tally.tried)
            attempt = killer.attempt(subject, drawn, planned)
            tally.count(
                [f"{kind}: {attempt}"] if attempt.problems else [], max(len(attempt.kills), bool(attempt.problems))
            )
            for kill in attempt.kills:
                found(kill)
            report(f"{tally.tried:4} kills  {kind}: {attempt}")
            failures += bool(attempt.problems)
            attempts += 1
        if tally.tried < count and not tally.problems:
            tally.problems.append(f"{kind}: only {tally.tried} kills of {count} met a living process")
    if not tally.problems:
        shutil.rmtree(folder)
    return tally
