"""An experiment of a store in Python: its runs, their measures, and how its settings differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from tertulia.api.arguments import check_status
from tertulia.api.exporting import write_export
from tertulia.api.measuring import Comparison, Measures, chosen_metrics, compared, figures_of_runs, found_in, measured
from tertulia.api.store_handle import StoreHandle
from tertulia.api.stored_run import Run
from tertulia.api.tables import Records, Shown
from tertulia.lab.experiments import experiment as definitions
from tertulia.lab.experiments.axes import Axis, axes_of, differing
from tertulia.lab.experiments.reached import Progress, progress_of
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.parameters import ALIASES
from tertulia.state.records import RunRecord
from tertulia.state.text import counted
from tertulia.state.wrong_arguments import check_argument, with_named_arguments

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from tertulia.lab.exports.writing import Format
    from tertulia.runs.driving.stopping import Stopped


@dataclass(frozen=True)
class TrialOf:
    """The place of a run in an experiment.

    Attributes:
        case, setting: Their names in the experiment.
        trial: Its number, from 1.
    """

    case: str
    setting: str
    trial: int


class Experiment:
    """An experiment of a store: cases × settings × trials.

    Everything is read from the store when it is asked for, so that one which runs elsewhere shows how far it is.

    Attributes:
        name: Its name in the store (`tertulia lab list`).
        store: The store that it lies in.
    """

    @with_named_arguments
    def __init__(self, store: StoreHandle, name: str, part: definitions.Experiment | None = None) -> None:
        """Name an experiment of a store, or the part of it that a sweep asked for."""
        self.store, self.name, self._part = store, name, part

    @property
    def cases(self) -> tuple[str, ...]:
        """The scenarios, as `run` takes them."""
        return self._definition.cases

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """By name, the parameters of each setting over those of the scenario."""
        return {name: dict(values) for name, values in self._definition.settings.items()}

    @property
    def trials(self) -> int:
        """The number of conversations of each case in each setting."""
        return self._definition.trials

    @property
    def rounds(self) -> int | None:
        """The most rounds of a conversation; `None` for those of the scenario."""
        return self._definition.rounds

    @property
    def seed(self) -> int:
        """The seed of the first trial; trial t has `seed` + t − 1."""
        return self._definition.seed

    @property
    def model(self) -> str:
        """The name of everybody's model."""
        return self._definition.model

    @property
    def baseline(self) -> str:
        """The setting that others are compared with if none is named."""
        return self._definition.compared_with

    @property
    def missing(self) -> int:
        """The number of trials that have not finished."""
        return self._progress().missing

    @property
    def runs(self) -> "TrialRuns":
        """The runs that were begun, by case, setting and trial; `runs.where(setting=…)` filters them."""
        reached = self._progress()
        found = [(TrialOf(*place), reached.runs[place]) for place in self._places(reached)]
        return TrialRuns(self.store, [trial for trial, _ in found], [run for _, run in found])

    @with_named_arguments
    def stop(self, wait: float = 10.0) -> "Stopped":
        """Ask whoever drives it, in another process, thread or machine, to stop, as Ctrl-C would (see `Run.stop`).

        Args:
            wait: For how many seconds to wait until it has stopped; 0: not at all.
        """
        from tertulia.runs.driving.stopping import stop

        with self.store.opened() as store:
            return stop(store, [self.name], "experiment.stop()", wait)[0]

    @with_named_arguments
    def measure(self, *metrics: str, embedder: str | None = None, fluency_model: str | None = None) -> Measures:
        """Return the mean of each metric over cases in each setting, with its 95 % interval.

        The figures are those of `tertulia lab compare`.

        ::

            experiment.measure("dist2", "sim")["λ = 0.5", "dist2"].ci_low

        Args:
            metrics: Names of metrics, such as `dist3`, `sim`, `len`; docs/laboratory.md lists them. Those of
                `tertulia lab compare` if none is given.
            embedder: The embedder of similarities: minilm (embedded), a folder, or a Hugging Face id.
            fluency_model: Whose likelihood fluency is; `none` leaves it out.

        Returns:
            A `Measure` per metric and setting, in this order, over the trials that all settings have.

        Raises:
            UsageError: There is no such metric, or no trial is finished.
        """
        return measured(self.store, self._definition, metrics, embedder, fluency_model)

    @with_named_arguments
    def compare(
        self,
        *metrics: str,
        baseline: str | None = None,
        embedder: str | None = None,
        fluency_model: str | None = None,
    ) -> Comparison:
        """Return by how much each metric is higher in each setting than in the baseline, paired by case and trial.

        Args:
            metrics, embedder, fluency_model: As in `measure`.
            baseline: The setting that the others are compared with; by default the first, or that of its file.

        Returns:
            A `Difference` per metric and setting, with a 95 % interval, p, and p adjusted for all of them (Holm).

        Raises:
            UsageError: There is no such metric or setting, or no trial is finished.
        """
        return compared(self.store, self._definition, metrics, baseline, embedder, fluency_model)

    @with_named_arguments
    def frame(self, *metrics: str, by: Literal["run", "setting"] = "run", embedder: str | None = None) -> "DataFrame":
        """Return a pandas data frame: a row per run with its own figures, or per setting and metric with intervals.

        Args:
            metrics: The metrics that are columns of runs (none: only the places of the runs), or rows of settings.
            by: `run`: columns run, case, setting, trial, seed, status, turns, a column for each parameter that
                differs between settings, and one per metric. `setting`: `measure` with the parameters that differ.
            embedder: As in `measure`.

        Raises:
            UsageError: pandas is not installed, or there is no such metric.
        """
        if by not in ("run", "setting"):
            raise UsageError(
                f"by={by}: a frame has a row by 'run' or by 'setting'{nearest_hint(str(by), ['run', 'setting'])}"
            )
        parameters = self._differing()
        if by == "setting":
            rows = [parameters[each.setting] | each.row() for each in self.measure(*metrics, embedder=embedder)]
            return Records(rows).frame()
        items = self.runs.items
        runs = [(item.record, item.trial.case) for item in items]
        figures = figures_of_runs(self.store, runs, chosen_metrics(metrics), embedder) if metrics else [{}] * len(runs)
        rows = [
            item.row() | parameters[item.trial.setting] | of_run for item, of_run in zip(items, figures, strict=True)
        ]
        return Records(rows).frame()

    @with_named_arguments
    def plot(self, metric: str, *, along: str | None = None, embedder: str | None = None) -> "Figure":
        """Return a matplotlib figure of a metric: means with 95 % intervals, and the cases as points.

        Args:
            metric: The name of a metric.
            along: The parameter on the x-axis; by default λ, else the numeric one with most values, else the settings
                side by side.
            embedder: As in `measure`.

        Raises:
            UsageError: matplotlib is not installed, there is no such metric, or the settings have no such axis.
        """
        from tertulia.api.plotting import plotted

        check_argument("metric", metric, str, "a metric is named by a text: plot('dist3')", optional=False)
        axis = self._axis(along)
        return plotted(found_in(self.store, self._definition, chosen_metrics([metric]), embedder, axis=axis), metric)

    @with_named_arguments
    def export(self, format: "Format", out: "PathLike[str] | str", *, force: bool = False) -> tuple[Path, ...]:
        """Write the runs with speech to files or a folder for another tool, such as MLflow.

        ::

            experiment.export("mlflow", "mlruns")

        Args, Returns and Raises: As `Run.export`.
        """
        from tertulia.lab.exports.recorded import runs_of_experiment

        definition = self._definition
        return write_export(self.store, lambda store: runs_of_experiment(store, definition), format, out, force)

    def _axis(self, along: str | None) -> Axis | None:
        check_argument("along", along, str, "a parameter is named by a text")
        axes = {axis.parameter: axis for axis in axes_of(self._definition)}
        if along is None:
            return next(iter(axes.values()), None)
        found = axes.get(ALIASES.get(along, along))
        if found is None:
            hint = nearest_hint(along, axes) if axes else "; none is a number that differs between settings"
            raise UsageError(f"along={along}: no axis of this experiment{hint}")
        return found

    def _differing(self) -> dict[str, dict[str, Any]]:
        """Return by setting the values of all parameters that differ between settings."""
        found = differing(self._definition)
        names = dict.fromkeys(name for values in found.values() for name in values)
        return {setting: {name: values.get(name) for name in names} for setting, values in found.items()}

    @property
    def _definition(self) -> definitions.Experiment:
        if self._part is not None:
            self.store.check_open()
            return self._part
        with self.store.opened() as store:
            return definitions.experiment_of(store.experiments.get(self.name))

    def _progress(self) -> Progress:
        definition = self._definition
        with self.store.opened() as store:
            return progress_of(store, definition)

    @staticmethod
    def _places(reached: Progress) -> Iterator[tuple[str, str, int]]:
        return (place for place in reached.experiment.places() if place in reached.runs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Experiment):
            return NotImplemented
        return (self.store, self.name, self._part) == (other.store, other.name, other._part)

    def __hash__(self) -> int:
        return hash((self.store, self.name))

    def __repr__(self) -> str:
        heading, table = self._table()
        return f"{heading}\n{table.text()}"

    def _repr_html_(self) -> str:
        heading, table = self._table()
        return f"<b>{escape(heading)}</b>{table.html()}"

    def _table(self) -> tuple[str, Shown]:
        reached = self._progress()
        definition = reached.experiment
        sizes = (len(definition.cases), "case"), (len(definition.settings), "setting"), (definition.trials, "trial")
        counts = " × ".join(counted(*size) for size in sizes)
        state = f"{reached.missing} missing" if reached.missing else "finished"
        parameters = self._differing()
        names = list(next(iter(parameters.values()), {}))
        rows = []
        for setting in definition.settings:
            runs = [reached.runs[place] for place in self._places(reached) if place[1] == setting]
            finished, failed = (sum(run.status == status for run in runs) for status in ("finished", "failed"))
            rows.append([setting, *(parameters[setting].get(name) for name in names), finished, failed])
        heading = f"experiment {self.name} ({state}) · {definition.model} · {counts}"
        return heading, Shown(["setting", *names, "finished", "failed"], rows)


@dataclass(frozen=True)
class _Item:
    trial: TrialOf
    record: RunRecord

    def row(self) -> dict[str, Any]:
        trial, record = self.trial, self.record
        return {
            "run": record.run,
            "case": trial.case,
            "setting": trial.setting,
            "trial": trial.trial,
            "seed": record.seed,
            "status": record.status,
            "turns": record.turns,
        }


class TrialRuns(tuple[Run, ...]):
    """Runs of an experiment, in the order of cases, settings and trials.

    Attributes:
        trials: Of each run, its case, setting and number in the experiment.
    """

    trials: tuple[TrialOf, ...]

    def __new__(cls, store: StoreHandle, trials: Sequence[TrialOf], records: Sequence[RunRecord]) -> Self:
        """Make them from their places in the experiment, and their records."""
        runs = super().__new__(cls, (Run(store, record.run) for record in records))
        runs.trials, runs._store, runs._records = tuple(trials), store, tuple(records)
        return runs

    _store: StoreHandle
    _records: tuple[RunRecord, ...]

    def __getnewargs__(self) -> tuple[StoreHandle, tuple[TrialOf, ...], tuple[RunRecord, ...]]:
        return self._store, self.trials, self._records

    @property
    def items(self) -> list[_Item]:
        """Each run with its place in the experiment."""
        return [_Item(*each) for each in zip(self.trials, self._records, strict=True)]

    @with_named_arguments
    def where(
        self,
        *,
        setting: str | None = None,
        case: str | None = None,
        trial: int | None = None,
        status: str | None = None,
    ) -> "TrialRuns":
        """Return the runs of this setting, case, trial and status.

        Raises:
            UsageError: There is no such status, or no such setting, case or trial among these runs; the nearest one is
                given.
        """
        check_status(status)
        given = {"setting": setting, "case": case, "trial": trial, "status": status}
        left = self.items
        for name, wanted in given.items():
            if wanted is None:
                continue
            known = dict.fromkeys(str(item.row()[name]) for item in self.items)
            if name != "status" and self and str(wanted) not in known:
                raise UsageError(f"{name}={wanted}: none of these runs{nearest_hint(str(wanted), known)}")
            left = [item for item in left if str(item.row()[name]) == str(wanted)]
        return TrialRuns(self._store, [item.trial for item in left], [item.record for item in left])

    def frame(self) -> "DataFrame":
        """Return a data frame with a row per run."""
        return Records([item.row() for item in self.items]).frame()

    def __repr__(self) -> str:
        return self._table().text() if self else "no runs"

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> Shown:
        rows = [item.row() for item in self.items]
        return Shown(list(rows[0]) if rows else ["run"], [list(row.values()) for row in rows])
