"""What ten trials of a case cost side by side, against one after another: utterances per second of CPU, and memory.

$ python -m benchmarks.trials                                   the embedded model, λ = 0 and 0.5
$ python -m benchmarks.trials --trials 100 1000 --model rehearsal --ways side    memory against the number of trials

`commands` is a loop of `tertulia run`, each of which starts Python and loads the models; `alone` is one process in
which each conversation goes by itself; `side` is a cohort of ten. CPU seconds are those of the whole process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

_MEASURED = """
import json, resource, sys
from pathlib import Path
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.storage.store import SqlStore
from tertulia.runs.access.engines import ModelAccess

path, experiment = Path(sys.argv[1]), checked(Experiment.model_validate_json(sys.argv[2]))
with SqlStore.open(path, create=True) as store:
    reached = run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), lambda event: None)
    turns = sum(run.turns for run in reached.runs.values())
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"turns": turns, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}))
"""

_COMMANDS = """
import json, resource, subprocess, sys

turns = 0
for seed in range(1, int(sys.argv[1]) + 1):
    run = [sys.executable, "-m", "tertulia.cli.main", "run", *sys.argv[2:], "--seed", str(seed), "--json"]
    turns += json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)["turns"]
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"turns": turns, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}))
"""


def measured(
    way: str, case: str, trials: int, rounds: int, settings: dict[str, object], model: str
) -> dict[str, float]:
    """Return utterances, CPU seconds and peak memory in MB of trials of a case, run in one of the ways."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store.db")
        if way == "commands":
            given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
            options = ["--rounds", str(rounds), "--store", store, "--model", model]
            program = [_COMMANDS, str(trials), case, *options, *given]
        else:
            experiment = {
                **{"name": "trials", "cases": [case], "settings": {"all": settings}, "trials": trials},
                **{"rounds": rounds, "model": model, "cohort_size": 10 if way == "side" else 1},
            }
            program = [_MEASURED, store, json.dumps(experiment)]
        run = subprocess.run([sys.executable, "-c", *program], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print a line for each way, and its ratio to the first way at the same λ and number of trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="tidewell")
    parser.add_argument("--trials", type=int, nargs="+", default=[10])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--lambda", dest="removal_factors", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--ways", nargs="+", default=["commands", "alone", "side"])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of all trials")
    chosen = parser.parse_args()
    print(f"{'λ':>4} {'trials':>6} {'way':<9} {'utterances':>10} {'CPU s':>7} {'a second':>8}  {'times':>5}  peak MB")
    for removal_factor in chosen.removal_factors:
        for trials in chosen.trials:
            first = 0.0
            for way in chosen.ways:
                settings: dict[str, object] = dict(setting.split("=", 1) for setting in chosen.set)
                settings["removal_factor"] = removal_factor
                found = measured(way, chosen.case, trials, chosen.rounds, settings, chosen.model)
                pace = found["turns"] / found["cpu"]
                first = first or pace
                print(
                    f"{removal_factor:>4g} {trials:>6} {way:<9} {found['turns']:>10.0f} {found['cpu']:>7.1f} "
                    f"{pace:>8.3f}  {pace / first:>5.2f}  {found['peak']:>7.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
