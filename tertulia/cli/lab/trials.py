"""Run the trials of an experiment for a command, show progress, and print how to go on if they stop."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.tree import Tree

from tertulia.cli import options
from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import additions, model_access, print_note
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.cli.views.findings import print_findings
from tertulia.cli.where import WhereOptions
from tertulia.runs.access.named_files import remember_files
from tertulia.runs.driving.events import Event, Noted, RunEnded
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import StoppedError, TertuliaError
from tertulia.state.text import shell_argument
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.experiment import Experiment
    from tertulia.lab.experiments.fork_effects import Shown
    from tertulia.lab.experiments.reached import Progress


@dataclass(frozen=True)
class TrialOptions(BudgetOptions, WhereOptions):
    """How the trials of an experiment are run."""

    extension: options.ExtensionOption = None
    trust_remote_code: options.CodeOption = None


def run_trials(
    store: SqlStore,
    experiment: "Experiment",
    way_on: str,
    chosen: TrialOptions,
    *,
    named: Sequence[str] = (),
    as_json: bool = False,
) -> tuple["Progress", int]:
    """Run missing trials; return the progress and how many are new. `way_on` goes on, and has the `named` models.

    Raises:
        TertuliaError: The store has another experiment of that name, or a model can't be opened.
        typer.Exit: It was interrupted.
    """
    from tertulia.lab.experiments.estimating import forecast
    from tertulia.lab.experiments.progress import ExperimentProgress, each_minute
    from tertulia.lab.experiments.reached import progress_of
    from tertulia.lab.experiments.running import run_experiment

    limits = chosen.limits()
    counts = ExperimentProgress(progress_of(store, experiment))
    beat = each_minute(lambda: None if sys.stderr.isatty() else progress().print(plain(counts.text)))
    with exit_when_interrupted(), status_line("rehearsing") as line, beat:

        def announce(before: "Progress") -> None:
            counts.begin(before)
            text = forecast(store, counts, added, chosen.workers, chosen.on == "local")
            line.write(lambda: progress().print(plain(text)))
            line.show(counts.text)

        def show(event: Event) -> None:
            if counts.note(event):
                _print_problem(line, event)
            line.show(counts.text)

        added = additions(chosen.extension)
        remember_files(experiment.files(), added.trust)
        executor = chosen.executor(store, model_access(line, named, chosen.trust_remote_code), added, limits)
        try:
            after = run_experiment(store, experiment, executor, show, announce)
        except (KeyboardInterrupt, SystemExit, StoppedError) as error:
            with line.pause():
                if isinstance(error, StoppedError):
                    progress().print(plain(str(error)))
                progress().print(plain(f"{counts.text}; to go on: {way_on}"))
                if as_json:
                    _print_end(experiment, "interrupted", counts.finished, counts.new)
            raise
    return after, counts.new


def run_study(
    store: SqlStore, experiment: "Experiment", way_on: str, chosen: TrialOptions, as_json: bool, named: Sequence[str]
) -> None:
    """Run the missing trials, those of a control first, and print what was found; exit with 1 if trials miss."""
    from tertulia.lab.experiments.cautions import cautions
    from tertulia.lab.experiments.fork_effects import effects_after
    from tertulia.lab.reports.report_making import cheap_control

    for caution in cautions(store, experiment, sys.argv[1:], additions(chosen.extension)):
        print_note(caution)
    if (control := cheap_control(store, experiment)) is not None and not chosen.extension:
        run_trials(store, control, way_on, TrialOptions())
    reached, new = run_trials(store, experiment, way_on, chosen, named=named, as_json=as_json)
    effects, finished = effects_after(store, experiment), len(reached.with_status("finished"))
    if as_json:
        document = {} if effects is None else effects.document()
        _print_end(experiment, "failed" if reached.missing else "finished", finished, new, **document)
    else:
        compare = f"tertulia lab compare {shell_argument(experiment.name)}"
        if effects is not None:
            data().print(_tree(effects.tree()))
        else:
            _print_found(store, experiment, compare)
        data().print(plain(f"experiment {experiment.name}: {finished} trials finished, {new} of them now"))
        data().print(plain(f"as page, plots and data: {compare}", "dim"))
    if reached.missing:
        raise typer.Exit(1)


def _print_found(store: SqlStore, experiment: "Experiment", compare: str) -> None:
    """Print the figures of the settings, and the differences in words; a note if they can't be measured."""
    from tertulia.lab.reports.report_making import findings_so_far

    left = f"interrupted; all conversations are kept; to measure them: {compare}"
    with exit_when_interrupted(left), status_line("measuring") as line:
        try:
            findings = findings_so_far(store, experiment, partial(open_embedding_model, None), line.show)
        except TertuliaError as error:  # all conversations are kept
            print_note(f"nothing is measured: {error}")
            return
    if findings is not None:
        print_findings(findings)


def _print_end(experiment: "Experiment", status: str, runs: int, new: int, **found: Any) -> None:
    print_json({"experiment": experiment.name, "status": status, "runs": runs, "new": new, **found})


def _tree(shown: "Shown") -> Tree:
    tree = Tree(plain(shown.text))
    tree.children += map(_tree, shown.below)
    return tree


def _print_problem(line: StatusLine, event: Event) -> None:
    match event:
        case Noted():
            line.write(lambda: print_note(", ".join(filter(None, (event.run, event.text)))))
        case RunEnded() if event.status == "failed":
            line.write(lambda: progress().print(plain(f"run {event.run} failed: {event.error}", "yellow")))


def print_estimate(store: SqlStore, experiment: "Experiment", as_json: bool, chosen: TrialOptions) -> None:
    """Print the expected cost of the missing trials of an experiment."""
    from tertulia.lab.experiments.cautions import cautions
    from tertulia.lab.experiments.estimating import estimate_here

    for caution in cautions(store, experiment, sys.argv[1:], additions(chosen.extension)):
        print_note(caution)
    with exit_when_interrupted(), status_line("rehearsing") as line:
        access = model_access(line, (), chosen.trust_remote_code)
        found = estimate_here(store, experiment, additions(chosen.extension), access, chosen.workers)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "experiment": experiment.name, **asdict(found)})
        return
    for text in found.lines(experiment):
        data().print(plain(text))
