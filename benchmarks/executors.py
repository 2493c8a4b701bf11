"""What workers gain and cost: rehearsed trials by one and by two processes, and a cluster whose workers are killed.

$ python -m benchmarks.executors                   1, then 2 worker processes: seconds, their ratio, the command's share
$ python -m benchmarks.executors --starts          what starting a worker takes, and what it imports
$ python -m benchmarks.executors --kills 10        `lab report table2` here, in processes, on two Ray nodes, so often
                                                   with a worker killed there: the same figures?

The ratio wants two idle cores. `here` is this process alone. The command's own CPU is planning, merging and progress.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tertulia.lab.executors.local import LocalExecutor
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.running import Executor, InProcessExecutor, run_experiment
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.storage.store import SqlStore

_START = """
import time
began = time.perf_counter()
import tertulia.lab.executors.process_worker
print(time.perf_counter() - began)
"""


def experiment_of(trials: int, rounds: int) -> Experiment:
    """Return rehearsed trials of eight cases in two settings."""
    settings: dict[str, Any] = {"Full": {"lambda": 0.0}, "Half": {"lambda": 0.5}}
    return checked(
        Experiment(
            name="bench", model="rehearsal", cases=("tidewell:all",), settings=settings, trials=trials, rounds=rounds
        )
    )


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
        from tertulia.lab.executors.dispatch import Dispatcher
        from tertulia.lab.executors.processes import ProcessCrew

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
        total, first, cpu = (statistics.median(column) for column in zip(*measures, strict=True))
        name = f"{workers} processes" if workers else "here"
        print(f"{name:12} {total:6.2f} s, first utterance after {first:5.2f} s, the command itself {cpu:5.2f} s of CPU")
    one, two = ([total - first for total, first, _ in found[workers]] for workers in (1, 2))
    ratios = [a / b for a, b in zip(one, two, strict=True)]
    print(f"two processes against one, from the first utterance on: {statistics.median(ratios):.2f} x")


def starts() -> None:
    """Print what starting a worker takes."""
    for _ in range(3):
        took = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True).stdout
        print(f"imports of a worker: {float(took):.2f} s")


def kills(repeats: int) -> None:
    """Print how often `lab report table2` has the same figures on a cluster of two nodes with a killed worker."""
    from ray.cluster_utils import Cluster

    same, options = 0, {"num_cpus": 1, "object_store_memory": 80_000_000}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = _table2(folder / "here", "--workers", "1")
        print(f"processes: {_outcome(_table2(folder / 'local', '--workers', '2') == expected)}")
        cluster: Any = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
        try:
            cluster.add_node(**options)
            on = ("--on", f"ray:{cluster.address}")
            print(f"Ray: {_outcome(_table2(folder / 'ray', *on) == expected)}")
            for number in range(repeats):
                after_s = 2.0 * number / repeats
                is_same = _table2(folder / str(number), *on, kill_after_s=after_s) == expected
                print(f"Ray, a worker killed after {after_s:.1f} s of driving: {_outcome(is_same)}", flush=True)
                same += is_same
        finally:
            cluster.shutdown()
    print(f"the same figures {same} times of {repeats}")


def _outcome(is_same: bool) -> str:
    return "the same figures" if is_same else "OTHER FIGURES"


def _table2(folder: Path, *where: str, kill_after_s: float | None = None) -> dict[str, Any]:
    """Return the report of a small `lab report table2` without what it cost; a worker of it may be killed."""
    command = [
        sys.executable,
        "-m",
        "tertulia.cli.main",
        "lab",
        "report",
        "table2",
        "--quick",
        "--rehearse",
        "--trials",
        "1",
    ]
    command += ["tidewell:all", "--fluency-model", "none", "--side-by-side", "6", "--json", *where]
    command += ["--store", f"{folder}.db", "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as report:
        if kill_after_s is not None:
            while report.poll() is None and not _driving():
                time.sleep(0.05)
            time.sleep(kill_after_s)
            for worker in _driving()[:1]:
                os.kill(worker, signal.SIGKILL)
        out, err = report.communicate()
    if report.returncode:
        raise SystemExit(err)
    if kill_after_s is not None and "goes on with another one" not in err:
        raise SystemExit(f"no worker was killed while it drove: {err}")
    return {key: value for key, value in json.loads(out).items() if key not in ("cost", "files")}


def _driving() -> list[int]:
    """Return the processes that drive cohorts on the nodes that this one has started."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    nodes = {pid for pid, parent, _ in rows if int(parent) == os.getpid()}
    return [int(pid) for pid, parent, name in rows if parent in nodes and name.startswith("ray::ClusterWorker.drive")]


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
