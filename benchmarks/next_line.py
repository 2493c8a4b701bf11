"""CPU time of the primary outcome: entropy of the next line, and KL(full ‖ pruned): `python -m benchmarks.next_line`.

In four conditions (`CONDITIONS`), which have one decoder, the first line of each case is spoken by a few trials side
by side, which share their prompts (`prompt_draws=case`); the model then reads these lines as a report does. CPU seconds
of the process, one thread, by case and condition, and what 24 cases take at this rate, without opening the model.

    python -m benchmarks.next_line [--cases SCENARIO …] [--models NAME …] [--trials N …]
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from tertulia.cli.environment import cache_folder
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.lab.reports.measured_by_models import read_next_lines
from tertulia.lab.reports.measures import Measuring
from tertulia.models.loading import open_embedder, open_model
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import ignore
from tertulia.storage.store import SqlStore

#: What differs between the settings; all else is the same in all of them.
CONDITIONS: Mapping[str, Mapping[str, object]] = {
    "Full": {"removal_factor": 0.0},
    "λ=0.5": {"removal_factor": 0.5},
    "RMm": {"removed_blocks": "m", "removal_factor": 0.0},
    "RMbmpe": {"removed_blocks": "bmpe", "removal_factor": 0.0},
}
_COMMON = {"context_strength": 0, "drafts": 1, "revision": "off", "judge": "off", "prompt_draws": "case"}

#: The size that the outcome is wanted for: cases, and CPU seconds.
CASES, SECONDS = 24, 600


def an_experiment(model: str, cases: Sequence[str], trials: int) -> Experiment:
    """Return the experiment, in which all conversations of a case are driven side by side."""
    settings = {name: {**_COMMON, **values} for name, values in CONDITIONS.items()}
    return checked(
        Experiment(
            name="next line",
            model=model,
            cases=tuple(cases),
            settings=settings,
            trials=trials,
            rounds=1,
            baseline="Full",
            cohort_size=trials * len(settings),
        )
    )


def measure(model: str, cases: Sequence[str], trials: int) -> None:
    """Print the CPU seconds of one case in one condition, and the figures of each condition."""
    experiment = an_experiment(model, cases, trials)
    access = ModelAccess(cache_folder())
    opened = partial(open_model, model, cache=cache_folder())
    with tempfile.TemporaryDirectory() as folder, SqlStore.open(Path(folder) / "runs.db", create=True) as store:
        opened()  # what is imported is not counted
        began = time.process_time()
        speaker, _ = opened(), open_embedder("minilm")
        opening = time.process_time() - began
        began = time.process_time()
        run_experiment(store, experiment, InProcessExecutor(store, access), ignore)
        running = time.process_time() - began - opening
        found = Measuring(store, read_results(store, experiment.name).runs, None)
        began = time.process_time()
        read_next_lines(store, found.trials, "Full", ("entropy@0", "divergence"), lambda: speaker)
        reading = time.process_time() - began
    parts = len(cases) * len(CONDITIONS)
    whole = (running + reading) / len(cases) * CASES
    spoken, read = running / parts, reading / parts
    print(
        f"{model}, {len(cases)} cases, {trials} trials: {spoken:.2f} s to speak and {read:.2f} s to read a case in a "
        f"condition; {CASES} cases: {whole:.0f} s of {SECONDS}; {opening:.0f} s to open the model"
    )
    figures = found.figures(["entropy", "divergence"])
    for condition, metrics in figures.items():
        means = {name: fmean(figure.value for figure in sample.values()) for name, sample in metrics.items()}
        print(f"  {condition:8}" + "".join(f"  {name} {value:.3f}" for name, value in means.items()))


def main() -> None:
    """Print the figures of each model and number of trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[f"tidewell:{number}" for number in (0, 2, 4, 6)])
    parser.add_argument("--models", nargs="+", default=["smollm2", "smollm2:plain"])
    parser.add_argument("--trials", nargs="+", type=int, default=[1, 4])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print(f"one thread, {torch.backends.cpu.get_cpu_capability()}")
    for model in chosen.models:
        for trials in chosen.trials:
            measure(model, chosen.cases, trials)


if __name__ == "__main__":
    main()
