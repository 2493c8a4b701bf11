"""What an exchange of an album chat costs: time and storage from few agents to many, and what batches spare.

$ python -m benchmarks.album --agents 64 1024 --rounds 8         rehearsed: CPU ms and KB an exchange, peak memory
$ python -m benchmarks.album --agents 16 --rounds 1 --model smollm2 --batch 1 16    seconds of CPU by batch size
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

#: Runs a population in a process of its own, so that peak memory is its own, and prints what it took.
_MEASURED = """
import json, resource, sys, time
from pathlib import Path
from tertulia.storage.store import SqlStore
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.planning.starting import begin, plan_run

path, model, settings = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
with SqlStore.open(path, create=True) as store:
    context = begin(store, plan_run("villagers", settings, model=model), ModelAccess())
    cpu, wall = time.process_time(), time.perf_counter()
    drive_run(store, context, lambda event: None)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    turns = store.run(context.run).turns
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"turns": turns, "cpu": cpu, "wall": wall, "bytes": path.stat().st_size, "peak": peak}))
"""


def measured(model: str, settings: dict[str, object]) -> dict[str, float]:
    """Return turns, CPU and wall seconds of the run alone, bytes of its store, and peak memory in KB."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(Path(folder) / "store.db"), model, json.dumps(settings)]
        run = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print a line for each number of agents and each size of a batch, and its ratio to the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batch", type=int, nargs="+", default=[16], help="exchanges whose calls make a batch")
    parser.add_argument("--model", default="rehearsal")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of the run")
    chosen = parser.parse_args()
    first: tuple[float, float] | None = None
    print(f"{'agents':>6} {'batch':>5} {'turns':>6} {'CPU ms':>8} {'wall ms':>8} {'KB':>6}  of the first   peak MB")
    for agents in chosen.agents:
        for batch in chosen.batch:
            settings: dict[str, object] = {"agents": agents, "max_turns": chosen.rounds, "exchanges_in_batch": batch}
            settings |= dict(setting.split("=", 1) for setting in chosen.set)
            found = measured(chosen.model, settings)
            turns = found["turns"]
            cpu, size = 1000 * found["cpu"] / turns, found["bytes"] / 1024 / turns
            first = first or (cpu, size)
            ratios = f"{cpu / first[0]:.2f} × {size / first[1]:.2f} ×"
            wall, peak = 1000 * found["wall"] / turns, found["peak"] / 1024
            print(
                f"{agents:>6} {batch:>5} {turns:>6.0f} {cpu:>8.1f} {wall:>8.1f} {size:>6.1f}  {ratios}  {peak:>8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
