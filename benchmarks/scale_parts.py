"""The parts that `benchmarks.scale` reckons with, each measured in a process of its own, with one thread.

    python -m benchmarks.scale_parts MODEL LAMBDA TRIALS TURNS [CASE]

prints, as JSON, what a worker took to start and to load the model, and what a cohort of trials took: CPU seconds of the
process, not the clock's, so that a busy machine matters little.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

CASE = "tidewell:0"


@dataclass(frozen=True)
class Measured:
    """What a cohort took in one worker.

    Attributes:
        start_s, load_s, drive_s: CPU seconds until Python had imported what it needs, of loading the models, and of
            the conversations.
        drive_wall_s: Seconds of the conversations by the clock.
        utterances, calls: How many.
        prompt_tokens, reply_tokens: Of these calls.
        store_bytes: What the store has grown by.
        peak_mb: Memory at its highest.
    """

    start_s: float
    load_s: float
    drive_s: float
    drive_wall_s: float
    utterances: int
    calls: int
    prompt_tokens: int
    reply_tokens: int
    store_bytes: int
    peak_mb: float


def measured(model: str, removal_factor: float, trials: int, turns: int, case: str = CASE) -> Measured:
    """Return what a cohort of trials of a case takes in a new process with one thread."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_parts",
        model,
        str(removal_factor),
        str(trials),
        str(turns),
        case,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        sys.exit(run.stderr)
    return Measured(**json.loads(run.stdout.splitlines()[-1]))


def _measure(model: str, removal_factor: float, trials: int, turns: int, case: str) -> Measured:
    from tertulia.cli.environment import cache_folder
    from tertulia.runs.access.engines import ModelAccess, open_engines
    from tertulia.runs.driving.cohort import drive_cohort
    from tertulia.runs.planning.starting import plan_run, store_run
    from tertulia.storage.store import SqlStore

    settings = {"removal_factor": removal_factor, "max_turns": turns}
    plans = [plan_run(case, settings, model=model, seed=seed) for seed in range(1, trials + 1)]
    started = _cpu_s()
    access = ModelAccess(cache=cache_folder()).naming(plans[0].named)
    engines = open_engines(model, plans[0].start, plans[0].parameters, access)
    loaded = _cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with SqlStore.open(path, create=True) as store:
            store.file.save_log()
            before, clock = path.stat().st_size, time.perf_counter()
            runs = [(store_run(store, plan, engines), engines, plan.registry) for plan in plans]
            drive_cohort(store, runs, lambda event: None)
            passed, clock = _cpu_s() - loaded, time.perf_counter() - clock
            store.file.save_log()
            calls = [call for run, *_ in runs for call in store.calls(run.run)]
            utterances = sum(store.run(run.run).turns for run, *_ in runs)
        size = path.stat().st_size - before
    return Measured(
        start_s=started,
        load_s=loaded - started,
        drive_s=passed,
        drive_wall_s=clock,
        utterances=utterances,
        calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens or 0 for call in calls),
        reply_tokens=sum(call.reply_tokens or 0 for call in calls),
        store_bytes=size,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    name, factor, trials, turns, case = sys.argv[1:]
    print(json.dumps(asdict(_measure(name, float(factor), int(trials), int(turns), case))))
