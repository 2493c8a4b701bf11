"""Measurements of an experiment or a run in Python: the figures of the commands, as records."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any, Self, TypeVar

from tertulia.api.store_handle import StoreHandle
from tertulia.api.tables import Records, Shown
from tertulia.lab.experiments.axes import Axis
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import read_results
from tertulia.lab.reports.measures import figures_of_run
from tertulia.lab.reports.papers import metrics_by_name
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import METRICS, Findings, report_of_experiment
from tertulia.lab.reports.report_making import findings_of, measurers_of
from tertulia.metrics.statistics import CaseMean
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.access.model_names import embedder_of
from tertulia.state.errors import SettingError, UsageError, nearest_hint
from tertulia.state.language_model import Embedder
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.wrong_arguments import check_argument

#: The note on figures of a rehearsal.
REHEARSED = "a stand-in without weights spoke: the figures show that everything works, and mean nothing"

#: Names an embedder, in messages.
_ARGUMENT = "embedder="


@dataclass(frozen=True)
class Measure:
    """A metric in a setting of an experiment.

    Attributes:
        metric, setting: Their names.
        value: The mean over cases; `None` if nothing could be measured. docs/measuring.md has units and ranges.
        ci_low, ci_high: Its 95 % interval over cases; `None` with fewer than two cases, or if all are equal.
        cases: How many cases it is the mean of.
        trials: The trials of all these cases together.
        by_case: The figure of each case.
    """

    metric: str
    setting: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    cases: int
    trials: int | None
    by_case: dict[str, float]

    def row(self) -> dict[str, Any]:
        """Return the fields but `by_case`, as a row of a table."""
        return {name: value for name, value in asdict(self).items() if name != "by_case"}


@dataclass(frozen=True)
class Difference(Measure):
    """By how much a metric is higher in a setting than in the baseline, paired by case and trial.

    Attributes:
        value, ci_low, ci_high, cases, trials, by_case: As in `Measure`, of the difference.
        baseline: The setting that it is compared with.
        p: The chance of a mean so far from 0 if the true one is 0, two-sided, in [0, 1].
        p_adjusted: The same, adjusted for being one of all differences of this comparison (Holm 1979).
        effect_size: Hedges' g_z: the mean over the standard deviation of the cases' differences.
        above: In how many cases it is above 0.
    """

    baseline: str
    p: float | None
    p_adjusted: float | None
    effect_size: float | None
    above: int


Item = TypeVar("Item", bound=Measure)


class _Figures(Records[Item]):
    """Figures by metric and setting; `figures["λ = 0.5", "dist2"]` is one of them."""

    is_rehearsed = False

    @classmethod
    def of(cls, items: Iterable[Item], is_rehearsed: bool) -> Self:
        found = cls(items)
        found.is_rehearsed = is_rehearsed
        return found

    def __getitem__(self, index: Any) -> Any:
        """Return a figure by setting and metric, or by its number."""
        if isinstance(index, str):
            raise UsageError(f"figures are found by setting and metric: figures['λ = 0', 'dist2'], not {index!r} alone")
        if not isinstance(index, tuple):
            return super().__getitem__(index)
        for item in self:
            if (item.setting, item.metric) == index:
                return item
        known = dict.fromkeys(item.setting for item in self), dict.fromkeys(item.metric for item in self)
        for name, names in zip(index, known, strict=False):
            if name not in names:
                raise UsageError(f"{name!r} is none of these{nearest_hint(str(name), names)}")
        raise UsageError(f"figures are found by setting and metric: figures[{item.setting!r}, {item.metric!r}]")

    def frame(self) -> Any:
        """Return a data frame with a row per metric and setting."""
        return Records(item.row() for item in self).frame()

    def __repr__(self) -> str:
        note = f"\n{REHEARSED}" if self.is_rehearsed else ""
        return f"{self._table().text()}{note}"

    def _repr_html_(self) -> str:
        note = f"<p>{escape(REHEARSED)}</p>" if self.is_rehearsed else ""
        return f"{self._table().html()}{note}"

    def _table(self) -> Shown:
        rows = [item.row() for item in self]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Shown(names or ["metric"], [[row[name] for name in names] for row in rows])


class Measures(_Figures[Measure]):
    """Means of an experiment by metric and setting; `measures["λ = 0.5", "dist2"]` is one of them."""


class Comparison(_Figures[Difference]):
    """Differences to the baseline by metric and setting; `comparison["λ = 0.5", "dist2"]` is one of them."""


def chosen_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics that were named, or those of `tertulia lab compare`.

    Raises:
        UsageError: There is no such metric; the nearest name is given.
    """
    for metric in metrics:
        check_argument("metric", metric, str, "a metric is named by a text: measure('dist2', 'sim')", optional=False)
        if metric.partition("@")[0].partition(":")[0] not in metrics_by_name():
            raise SettingError("metric", metric, f": unknown{nearest_hint(metric, [*metrics_by_name()])}")
    return tuple(dict.fromkeys(metrics or METRICS))


def measured(
    handle: StoreHandle, experiment: Experiment, metrics: Sequence[str], embedder: str | None, reader: str | None
) -> Measures:
    """Return the mean of each metric in each setting (see `Experiment.measure`)."""
    chosen = chosen_metrics(metrics)
    findings = found_in(handle, experiment, chosen, embedder, reader)
    found = [_measure(findings, metric, setting) for metric in chosen for setting in findings.rows]
    return Measures.of(found, findings.rehearsed)


def compared(
    handle: StoreHandle,
    experiment: Experiment,
    metrics: Sequence[str],
    baseline: str | None,
    embedder: str | None,
    reader: str | None,
) -> Comparison:
    """Return the difference of each metric in each setting to the baseline (see `Experiment.compare`)."""
    check_argument("baseline", baseline, str, "a setting is named by a text")
    if baseline is not None and baseline not in experiment.settings:
        raise SettingError("baseline", baseline, f": no such setting{nearest_hint(baseline, [*experiment.settings])}")
    chosen = chosen_metrics(metrics)
    findings = found_in(handle, experiment, chosen, embedder, reader, baseline)
    places = [(metric, setting) for metric in chosen for setting in findings.rows]
    found = [_difference(findings, *place) for place in places]
    return Comparison.of([each for each in found if each is not None], findings.rehearsed)


def figures_of_runs(
    handle: StoreHandle, runs: Sequence[tuple[RunRecord, str]], metrics: Sequence[str], embedder: str | None = None
) -> list[dict[str, float | None]]:
    """Return metrics of each run by itself, given with its case: of a case `run:ID@TURN`, of the turns from there on.

    `None` if a metric needs several dialogues, or has nothing to measure.
    """
    check_argument("embedder", embedder, str, "an embedder is named by a text: 'minilm'")
    found = []
    with handle.opened() as store:
        model = _LazyEmbedder(embedder, lambda: embedder_of((run.embedder for run, _ in runs), _ARGUMENT))
        for run, case in runs:
            values = figures_of_run(store, run, case, metrics, model)
            found.append({metric: values.get(metric) for metric in metrics})
    return found


def found_in(
    handle: StoreHandle,
    experiment: Experiment,
    metrics: Sequence[str],
    embedder: str | None,
    reader: str | None = None,
    baseline: str | None = None,
    axis: Axis | None = None,
) -> Findings:
    """Return the comparisons of `tertulia lab compare`; a metric that can't be measured is a warning that says why."""
    check_argument("embedder", embedder, str, "an embedder is named by a text: 'minilm'")
    check_argument("fluency_model", reader, str, "a model is named by a text, or 'none'")
    report = report_of_experiment(experiment, baseline, metrics, axis)
    access = ModelAccess().naming([name for name in (embedder, reader) if name is not None])
    with handle.opened() as store:
        results = read_results(store, experiment)
        if not results.runs:
            raise UsageError(f"no trial of experiment {experiment.name!r} is finished; the same sweep goes on with it")
        named = embedder or embedder_of((trial.run.embedder for trial in results.runs), _ARGUMENT)
        measurers = measurers_of(
            results,
            named,
            reader,
            lambda name: _LazyEmbedder(embedder, lambda: name),
            lambda name: access.language_model(name, Parameters()),
        )
        findings = findings_of(store, report, results, measurers, Provenance(()))
    for metric, reason in findings.skipped.items():
        reason = reason.replace("--embedder ", _ARGUMENT)  # reports are written for the command line
        warnings.warn(f"{metric} was not measured, {reason}", stacklevel=5)
    return findings


def _measure(findings: Findings, metric: str, setting: str) -> Measure:
    by_case = {case: figure.value for case, figure in findings.figures.get(setting, {}).get(metric, {}).items()}
    return Measure(metric, setting, *_mean(findings.mean(setting, metric)), by_case)


def _difference(findings: Findings, metric: str, setting: str) -> Difference | None:
    found = findings.difference(setting, metric)
    if found is None:
        return None
    return Difference(
        metric,
        setting,
        *_mean(found),
        by_case=found.by_case,
        baseline=findings.report.baseline,
        p=found.p,
        p_adjusted=findings.p_adjusted.get((setting, metric)),
        effect_size=found.effect_size,
        above=found.above,
    )


def _mean(found: CaseMean) -> tuple[float | None, float | None, float | None, int, int | None]:
    return found.value, found.ci_low, found.ci_high, found.cases, found.trials


class _LazyEmbedder:
    """An embedder that is opened when the first text is embedded: words are counted without it."""

    def __init__(self, name: str | None, recorded: Callable[[], str]) -> None:
        """Note the embedder that the user names, and one that a store names, for use without the other."""
        self._name, self._recorded = name, recorded

    @cached_property
    def _opened(self) -> Embedder:
        if self._name is None:
            return ModelAccess().embedder(self._recorded())
        return ModelAccess().naming([self._name]).embedder(self._name)

    @property
    def id(self) -> str:
        """The name of the embedder."""
        return self._opened.id

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, at the embedder's length limit."""
        return self._opened.embed(texts)

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, each embedded whole."""
        return self._opened.embed_untruncated(texts)
