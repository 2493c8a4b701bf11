"""Attack Tertulia for hours and print what passed: `make nightly`.

1. 3,000 disturbances (`matrix.py`) of every command that writes, 300 of them with workers and 60 with the embedded
   model: signals, disk errors, nonsense of a server; what goes on afterwards must store the same.
2. 100,000 answers of servers, drawn from the schemas of their endpoints, are read and asked for in whole runs; and
   100,000 hostile replies of models are read, written by grammars, and spoken in whole runs.
3. 2,000 stores are damaged, five of nine by SQL, and each is asked a dozen questions, of at most 5 s.
4. The power is cut at 200 moments of two conversations.

One line for each part, and a total; exit code 1 if anything failed, with what to look at kept.
"""

import argparse
import math
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.hostile_answers import asked_in_runs, read_answers
from support.hostile_replies import read_replies, spoken_replies, written_replies
from support.tally import Tally

from benchmarks.campaigns.damage import DAMAGES, damaged_stores
from benchmarks.campaigns.matrix import disturb_kind
from benchmarks.campaigns.power_loss import power_cuts

#: Processes at a time, and pieces that each part is made of.
WORKERS, PIECES = 2, 2

#: Problems that are printed of a piece.
_SHOWN = 10

#: Tries a part of this size, with this seed, in this folder.
Try = Callable[[int, int, Path], Tally]


@dataclass(frozen=True)
class Part:
    """A line of the table.

    Attributes:
        name: What it tries.
        count: How many at full size.
        run: Tries them.
    """

    name: str
    count: int
    run: Try


def _seeded(attack: Callable[[int, str], Tally], count: int, seed: int, folder: Path) -> Tally:
    return attack(count, str(seed))


def _in_folder(attack: Callable[[int, str, Path], Tally], count: int, seed: int, folder: Path) -> Tally:
    return attack(count, str(seed), folder)


def _damage(kind: str, count: int, seed: int, folder: Path) -> Tally:
    return damaged_stores(count, kind, seed, folder)


#: The slowest first, so that both workers end at the same time.
PARTS = (
    *(
        Part(f"disturbed: {kind}", count, partial(disturb_kind, kind))
        for kind, count in {
            "sweep with workers": 300,
            "embedded model": 60,
            "report": 60,
            "tune": 60,
            "remote model": 180,
            "sweep by a server": 180,
            "sweep": 180,
            "experiment": 180,
            "setpoint": 120,
            "calibration": 180,
            "town": 200,
            "meeting of nine": 120,
            "meeting of five": 200,
            "album chat": 160,
            "dialogue": 200,
            "fork": 200,
            "extension": 100,
            "merge": 120,
            "annotations": 80,
            "runs rm": 40,
            "gc": 80,
        }.items()
    ),
    Part("servers: asked in runs", 10_000, partial(_in_folder, asked_in_runs)),
    Part("servers: answers that are read", 90_000, partial(_seeded, read_answers)),
    Part("replies: spoken in runs", 20_000, partial(_in_folder, spoken_replies)),
    Part("replies: written by grammar", 5_000, partial(_seeded, written_replies)),
    Part("replies: read as a remote model's", 75_000, partial(_seeded, read_replies)),
    *(Part(f"damaged stores: {kind}", 2000 // len(DAMAGES), partial(_damage, kind)) for kind in DAMAGES),
    Part("power cuts", 200, power_cuts),
)


def main() -> None:
    """Print a line for each part and a total; exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="parts whose name has this in it")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tertulia-nightly-"))
    parts = [part for part in PARTS if options.only in part.name]
    started = time.perf_counter()
    total = Tally()
    for part, tally in tried(parts, options.scale, options.seed, folder):
        total += tally
        print(line_of(part.name, tally), flush=True)
    total.seconds = time.perf_counter() - started
    print(line_of("total", total))
    if total.problems or total.passed < total.tried:
        sys.exit(f"what failed is kept in {folder}")
    shutil.rmtree(folder)


def line_of(name: str, tally: Tally) -> str:
    """Return the line of a part."""
    untold = f", of which {tally.untold} can't be told" if tally.untold else ""
    return f"{name:34} {tally.tried:7,} tried {tally.passed:7,} passed{untold} {tally.seconds:6.0f} s"


def tried(parts: list[Part], scale: float, seed: int, folder: Path) -> Iterator[tuple[Part, Tally]]:
    """Try parts, in pieces, by several processes; yield each part when its last piece is done.

    Args:
        parts: What is tried.
        scale: How much of the full size; of each part something is tried.
        seed: Of all draws.
        folder: For what is made.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    tallies = {part.name: Tally() for part in parts}
    waiting: dict[Future[Tally], Part] = {}
    with ProcessPoolExecutor(WORKERS, mp_context=context) as workers:
        for part in parts:
            for piece in range(PIECES):
                count = math.ceil(part.count * scale / PIECES)
                place = folder / f"{part.name.replace(' ', '_').replace(':', '')}-{piece}"
                waiting[workers.submit(_timed, part.run, count, seed * PIECES + piece, place)] = part
        for done in as_completed(list(waiting)):
            part = waiting.pop(done)
            tallies[part.name] += (tally := done.result())
            for problem in tally.problems[:_SHOWN]:
                print(f"    {problem[:1000]}", file=sys.stderr, flush=True)
            if part not in waiting.values():
                yield part, tallies[part.name]


def _timed(run: Try, count: int, seed: int, folder: Path) -> Tally:
    """Return what a piece of a part came to; a piece that can't be tried at all has failed."""
    started = time.perf_counter()
    try:
        tally = run(count, seed, folder)
    except Exception as error:
        tally = Tally(count, 0, [f"it broke down: {type(error).__name__}: {error}"])
    tally.seconds = time.perf_counter() - started
    return tally


if __name__ == "__main__":
    main()
