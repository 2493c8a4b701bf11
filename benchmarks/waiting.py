"""How long a conversation takes when threads wait passively (as Tertulia sets it), actively, or by OpenMP's default.

`python -m benchmarks.waiting --busy 1 --rounds 2` runs it in each way in turn, beside so many other busy processes, and
prints seconds of wall and of processor time; the conversation must be the same in all of them.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What is set in the environment, by what is measured; libgomp's own default is to turn 300,000 times before it waits.
WAYS = {
    "passive": {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"},
    "default": {"GOMP_SPINCOUNT": "300000"},
    "active": {"OMP_WAIT_POLICY": "ACTIVE"},
}
_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")

#: Runs the command line with exactly this environment, whatever a site sets when Python starts.
_RUN = "import json, os, sys; [os.environ.pop(n, None) for n in {names}]; os.environ.update({settings}); \
from tertulia.cli.main import main; sys.argv = ['tertulia', *sys.argv[1:]]; main()"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many processors busy while inside."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def converse(way: str, rounds: int) -> tuple[float, float, list[str]]:
    """Return seconds of wall and of processor time of a run, and what was said in it."""
    code = _RUN.format(names=_VARIABLES, settings=WAYS[way])
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", str(Path(folder) / "waiting.db")]
        command = [sys.executable, "-c", code]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        run = [*command, "run", "tidewell", "--lambda", "0.5", "--seed", "1", "--rounds", str(rounds), *store]
        subprocess.run(run, check=True, capture_output=True, env=dict(os.environ))
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = subprocess.run([*command, "show", "@last", "--json", *store], check=True, capture_output=True).stdout
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, [turn["text"] for turn in json.loads(shown)["turns"]]


def main() -> None:
    """Measure every way as often as asked, one after the other, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    with busy(chosen.busy):
        measured = [{way: converse(way, chosen.rounds) for way in WAYS} for _ in range(chosen.repeats)]
    assert len({tuple(texts) for runs in measured for _, _, texts in runs.values()}) == 1, "the texts differ"
    for way in WAYS:
        wall = statistics.median(runs[way][0] for runs in measured)
        processor = statistics.median(runs[way][1] for runs in measured)
        print(f"{way}: {wall:.1f} s, {processor:.1f} s of processors")


if __name__ == "__main__":
    main()
