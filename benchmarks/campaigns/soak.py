"""Disturb every command that writes, go on, and compare: each must end like an undisturbed one (`make soak`)."""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.campaigns.disturbing import Disturbance, Way
from benchmarks.campaigns.leavings import Left
from benchmarks.campaigns.matrix import Cell, disturb_kind
from benchmarks.campaigns.subjects import subjects

#: Kinds whose processes take long; they are disturbed when they are asked for (`make nightly` does).
_SLOW = ("embedded model", "report", "sweep with workers", "tune")


def main() -> None:
    """Print a line for every process and a summary; exit with 1 on any difference."""
    kinds = tuple(subjects())
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--disturbances", type=int, default=200, help="in all, the same number of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the conversations, and of the times")
    parser.add_argument("--length", type=int, default=2, help="of the conversations; 1 is a handful of rounds")
    parser.add_argument("--kind", action="append", choices=kinds, help="may be repeated; all but the slow ones if not")
    parser.add_argument("--only", action="append", choices=[*Disturbance, *Way], help="cells; may be repeated")
    options = parser.parse_args()
    chosen = options.kind or [kind for kind in kinds if kind not in _SLOW]
    folder = Path(tempfile.mkdtemp(prefix="tertulia-soak-"))
    started = time.perf_counter()
    moments: Counter[str] = Counter()

    def is_asked_for(cell: Cell) -> bool:
        return all(part in cell for part in options.only or ())

    def note(left: Left) -> None:
        moments[left.moment] += 1

    problems, tried = [], 0
    for at, kind in enumerate(chosen):
        tally = disturb_kind(
            kind,
            options.disturbances // len(chosen) + (at < options.disturbances % len(chosen)),
            options.seed,
            folder / kind.replace(" ", "_"),
            options.length,
            is_asked_for,
            report=lambda line: print(line, flush=True),
            found=note,
        )
        problems += tally.problems
        tried += tally.tried
    for moment, times in moments.most_common():
        print(f"{times:6} {moment}")
    if problems:
        sys.exit("\n".join([*problems, f"the stores are kept in {folder}"]))
    shutil.rmtree(folder)
    print(f"{tried} disturbances, each store identical to the undisturbed one; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
