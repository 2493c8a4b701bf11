"""What workers gain and cost: rehearsed trials by one and by two processes, and a cluster whose workers are killed.

$ python -m benchmarks.executors                   1, then 2 worker processes: seconds, their ratio, the command's share
$ python -m benchmarks.executors --starts          what starting a worker takes, and what it imports
$ python -m benchmarks.executors --kills 10        so often a worker on two Ray nodes is killed: the same figures?

The ratio wants two idle cores. `here` is this process alone. The command's own CPU is planning, merging and progress.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.executors.local import LocalExecutor
from lab.executors.ray_cluster import RayExecutor
from lab.experiment import Experiment, checked
from lab.results import read_results
from lab.running import Executor, InProcessExecutor, run_experiment
from storage.store import SqlStore
from tertulia.engines import ModelAccess
from tertulia.events import Event, TurnFinished

_START = "import time; t = time.perf_counter(); import lab.executors.process_worker; print(time.perf_counter() - t)"


def experiment_of(trials: int, rounds: int) -> Experiment:
    """Return rehearsed trials of eight cases in two settings."""
    settings: dict[str, Any] = {"Full": {"lambda": 0.0}, "Half": {"lambda": 0.5}}
    return checked(
        Experiment(
            name="bench", model="rehearsal", cases=("tidewell:all",), settings=settings, trials=trials, rounds=rounds
        )
    )


def spoken(store: SqlStore) -> dict[tuple[str, str, int], Any]:
    """Return what was said, by trial."""
    return {(t.case, t.setting, t.trial): list(t.dialogue) for t in read_results(store, "bench").runs}


def measured(experiment: Experiment, workers: int) -> tuple[float, float, float]:
    """Return seconds, those until the first utterance, and the command's own CPU; 0 workers: in this process."""
    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder, SqlStore.open(Path(folder) / "s.db", create=True) as store:
        executor: Executor = InProcessExecutor(store, ModelAccess())
        if workers:
            executor = _Processes(store, ModelAccess(), workers=workers)
        began, cpu = time.perf_counter(), time.process_time()

        def note(event: Event) -> None:
            if isinstance(event, TurnFinished) and not ended:
                ended.append(time.perf_counter() - began)

        run_experiment(store, experiment, executor, note)
        return time.perf_counter() - began, ended[0], time.process_time() - cpu


class _Processes(LocalExecutor):
    """Workers are processes also where there is one."""

    def drive(self, tasks: Any, emit: Any) -> None:
        from lab.executors.dispatch import Dispatcher
        from lab.executors.processes import ProcessCrew

        dispatcher = Dispatcher(self.store, self.folder("bench"), self.access, self.additions, emit)
        dispatcher.drive(tasks, ProcessCrew(), self.workers or 1)


def compare(trials: int, rounds: int, repeats: int) -> None:
    """Print how long workers take, and the ratio of one to two, with and without their start."""
    experiment = experiment_of(trials, rounds)
    found: dict[int, list[tuple[float, float, float]]] = {0: [], 1: [], 2: []}
    for _ in range(repeats):
        for workers, measures in found.items():
            measures.append(measured(experiment, workers))
    for workers, measures in found.items():
        total, first, own = (statistics.median(column) for column in zip(*measures, strict=True))
        name = f"{workers} processes" if workers else "here"
        print(f"{name:12} {total:6.2f} s, first utterance after {first:5.2f} s, the command itself {own:5.2f} s of CPU")
    one, two = ([total - first for total, first, _ in found[workers]] for workers in (1, 2))
    ratios = [a / b for a, b in zip(one, two, strict=True)]
    print(f"two processes against one, from the first utterance on: {statistics.median(ratios):.2f} x")


def starts() -> None:
    """Print what starting a worker takes."""
    for _ in range(3):
        took = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True).stdout
        print(f"imports of a worker: {float(took):.2f} s")


def kills(repeats: int) -> None:
    """Print how often the figures are the same where a worker on Ray is killed in the middle."""
    from ray.cluster_utils import Cluster

    experiment, same = experiment_of(1, 6), 0
    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000}
    with tempfile.TemporaryDirectory() as folder:
        with SqlStore.open(Path(folder) / "here.db", create=True) as store:
            run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), lambda event: None)
            expected = spoken(store)
        cluster: Any = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
        try:
            cluster.add_node(**options)
            for number in range(repeats):
                same += _same_when_killed(experiment, Path(folder) / f"{number}.db", cluster.address, number, expected)
        finally:
            cluster.shutdown()
    print(f"the same conversations {same} times of {repeats}")


def _same_when_killed(experiment: Experiment, path: Path, address: str, number: int, expected: Any) -> bool:
    """Return whether a cluster says the same, whose worker is killed after some utterances."""
    turns: list[Event] = []

    def kill_one(event: Event) -> None:
        if isinstance(event, TurnFinished):
            turns.append(event)
            if len(turns) == 1 + 3 * number:
                listed = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True)
                found = [line.split()[0] for line in listed.stdout.splitlines() if "ray::ClusterWorker" in line]
                os.kill(int(found[0]), signal.SIGKILL)

    with SqlStore.open(path, create=True) as store:
        run_experiment(store, experiment, RayExecutor(store, ModelAccess(), address=address), kill_one)
        return bool(spoken(store) == expected)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.starts:
        starts()
    elif given.kills:
        kills(given.kills)
    else:
        compare(given.trials, given.rounds, given.repeats)


if __name__ == "__main__":
    main()
