"""Run the trials of an experiment for a command, show progress, and print how to go on if they stop."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.tree import Tree

from tertulia.cli import options
from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import additions, model_access, print_note
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.cli.where import WhereOptions
from tertulia.runs.access.named_files import remember_files
from tertulia.runs.driving.events import Event, Noted, RunEnded
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import StoppedError
from tertulia.state.text import shell_argument
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.experiment import Experiment
    from tertulia.lab.experiments.fork_effects import ForkEffects, Shown
    from tertulia.lab.experiments.reached import Progress


#: Seconds between two lines of progress in a file.
_HEARTBEAT_S = 60.0


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
    """Run the missing trials, and return the progress of the experiment and the number of new trials.

    Args:
        way_on: The command that goes on with it.
        named: The models that the command names.
        as_json: Whether an interruption is printed as JSON.

    Raises:
        TertuliaError: The store has another experiment of that name, or a model can't be opened.
        typer.Exit: It was interrupted.
    """
    from tertulia.lab.experiments.progress import ExperimentProgress
    from tertulia.lab.experiments.reached import progress_of
    from tertulia.lab.experiments.running import run_experiment

    limits = chosen.limits()
    counts = ExperimentProgress(progress_of(store, experiment))
    with exit_when_interrupted(), status_line(counts.text) as line, _each_minute(lambda: counts.text):

        def announce(before: "Progress") -> None:
            counts.begin(before)
            with line.pause():
                text = f"experiment {experiment.name}: {before.missing} of {counts.total} trials to run"
                progress().print(plain(text))

        def show(event: Event) -> None:
            counts.note(event)
            line.show(counts.text)
            _print_problem(line, event)

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


@contextmanager
def _each_minute(text: Callable[[], str]) -> Iterator[None]:
    """Print a text each minute where there is no terminal for the line of progress."""
    ended = threading.Event()

    def print_it() -> None:
        while not ended.wait(_HEARTBEAT_S):
            progress().print(plain(text()))

    thread = threading.Thread(target=print_it, daemon=True)
    if not sys.stderr.isatty():
        thread.start()
    try:
        yield
    finally:
        ended.set()


def print_trials(
    experiment: "Experiment", ran: tuple["Progress", int], as_json: bool, effects: "ForkEffects | None" = None
) -> None:
    """Print the ending of an experiment, and for an experiment about a turn its effects; exit with 1 if trials miss."""
    reached, new = ran
    finished = len(reached.with_status("finished"))
    if effects is not None and not as_json:
        data().print(_tree(effects.tree()))
    if as_json:
        document = {} if effects is None else effects.document()
        _print_end(experiment, "failed" if reached.missing else "finished", finished, new, **document)
    else:
        compare = f"tertulia lab compare {shell_argument(experiment.name)}"
        data().print(plain(f"experiment {experiment.name}: {finished} trials finished, {new} of them now"))
        data().print(plain(f"to compare its settings: {compare}", "dim"))
    if reached.missing:
        raise typer.Exit(1)


def _print_end(experiment: "Experiment", status: str, runs: int, new: int, **found: Any) -> None:
    print_json({"experiment": experiment.name, "status": status, "runs": runs, "new": new, **found})


def _tree(shown: "Shown") -> Tree:
    tree = Tree(plain(shown.text))
    tree.children += map(_tree, shown.below)
    return tree


def _print_problem(line: StatusLine, event: Event) -> None:
    match event:
        case Noted():
            of = f"{event.run}, " if event.run else ""
            line.write(lambda: print_note(f"{of}{event.text}"))
        case RunEnded() if event.status == "failed":
            line.write(lambda: progress().print(plain(f"run {event.run} failed: {event.error}", "yellow")))


def print_estimate(
    store: SqlStore, experiment: "Experiment", as_json: bool, extensions: Sequence[str] | None = None
) -> None:
    """Print the expected cost of the missing trials of an experiment."""
    from tertulia.lab.experiments.estimating import estimate_experiment
    from tertulia.lab.experiments.reached import progress_of

    with status_line("rehearsing"):
        found = estimate_experiment(store, progress_of(store, experiment), additions(extensions))
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "experiment": experiment.name, **asdict(found)})
        return
    for text in found.lines(experiment):
        data().print(plain(text))
