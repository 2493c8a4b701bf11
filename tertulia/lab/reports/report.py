"""Reports: the measured figures of an experiment next to the published ones, with their statistics.

1. Every metric in every setting, as the mean over cases with its interval.
2. Every setting against the baseline, paired by case and trial.
3. The verdict on everything that was published of the order of these figures.

Source: APP §2 (means over cases); the reports themselves: tertulia/lab/reports/papers.py.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tertulia.lab.experiments.axes import Axis, axes_of
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.ordering_tests import Figures
from tertulia.lab.reports.papers import Curve, Profile, Report, WeightedSum, metric_named, metrics_by_name
from tertulia.lab.reports.provenance import Provenance, SettingCost, computed_on, cost_by_setting
from tertulia.lab.reports.verdicts import Outcome, Verdict, verdicts
from tertulia.metrics.inference import holm
from tertulia.metrics.statistics import CaseMean, Contrast, case_mean, paired_difference
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.store import Store

#: Characters that a name of a file or a folder does not have.
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")

#: Characters of a report's name at most, before a digest of the rest.
_LONGEST = 100

#: Metrics that are compared of settings that no paper has.
METRICS = (
    *("sim", "sim_untruncated", "dist1", "dist2", "dist3", "dist3_equal", "without_sense", "repeated_lines"),
    *("vendi", "len", "duplicate_rate"),
)


@dataclass(frozen=True)
class Findings:
    """The findings of a report.

    Attributes:
        figures: By setting (or row of a comparison) and metric, the figures of the cases.
        verdicts: On everything that was published of their order.
        times: By case, when it begins, in hours.
        unchanged: By setting, in how many cases all lines are those of the baseline, as nothing was changed there.
        unpaired: Finished conversations that are left out, as another setting lacks them.
        longest: Utterances of the longest dialogue.
        truncated: Dialogues longer than the embedder reads.
        skipped: Metrics that were not measured, and why.
        control: The figures of a stand-in without weights in the same conversations; `None` if there were none.
        plan: The plan from before the first trial, as YAML; empty if there was none.
        departures: Its parts that were not planned then.
        platforms: The machines that computed the conversations, in words, each with their number.
    """

    report: Report
    results: Results
    figures: Figures
    verdicts: Sequence[Verdict]
    costs: Mapping[str, SettingCost]
    times: Mapping[str, float]
    unpaired: int
    longest: int
    truncated: int
    skipped: Mapping[str, str]
    provenance: Provenance
    control: Figures | None = None
    plan: str = ""
    departures: Sequence[str] = ()
    unchanged: Mapping[str, int] = field(default_factory=dict)
    platforms: Mapping[str, int] = field(default_factory=dict)

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke, so that the figures mean nothing."""
        return any(found.run.rehearsed for found in self.results.runs)

    @property
    def is_own(self) -> bool:
        """Whether it is on a user's experiment, of which nothing was published."""
        return not self.report.source

    @cached_property
    def shared(self) -> Mapping[str, int]:
        """How many of the conversations were held for another experiment, by its name."""
        trials = (found.run.trial for found in self.results.runs)
        names = [trial.experiment for trial in trials if trial is not None]
        return Counter(name for name in names if name != self.results.experiment.name)

    @property
    def rows(self) -> list[str]:
        """The settings, or comparisons, in the order of the report."""
        return [*(self.report.rows or self.report.settings)]

    @property
    def metrics(self) -> list[str]:
        """The metrics that were measured in any setting, in the order of the report, without those by index."""
        found = {metric for figures in self.figures.values() for metric in figures}
        return [metric for metric in self.report.metrics if metric in found]

    @property
    def distinct_metrics(self) -> list[str]:
        """The metrics that were measured; if no dialogue is truncated, without the equal figures of whole dialogues."""
        found = self.metrics
        twins = (
            [] if self.truncated else [name for name in found if _whole_of(name) != name and _whole_of(name) in found]
        )
        return [name for name in found if name not in twins]

    def mean(self, setting: str, metric: str) -> CaseMean:
        """Return the mean of a metric over cases."""
        return mean_of(self.figures, setting, metric)

    def difference(self, setting: str, metric: str) -> Contrast | None:
        """Return how much higher a metric is in a setting than in the baseline; `None` for the baseline itself."""
        return difference_of(self.figures, setting, self.report.baseline, metric)

    @cached_property
    def p_adjusted(self) -> Mapping[tuple[str, str], float]:
        """By setting and metric, p of the difference to the baseline among all that are shown (Holm 1979).

        There is none if a report has orderings, which are tested then. Equal figures are one comparison.
        """
        metrics = [] if self.report.orderings else self.distinct_metrics
        places = [(row, metric) for metric in metrics for row in self.rows]
        found = [self.difference(*place) for place in places]
        adjusted = dict(zip(places, holm([None if each is None else each.p for each in found]), strict=True))
        twins = [(row, name) for name in self.metrics for row in self.rows if metrics and name not in metrics]
        adjusted |= {(row, name): adjusted[row, _whole_of(name)] for row, name in twins}
        return {place: p for place, p in adjusted.items() if p is not None}

    def published(self, setting: str, metric: str) -> float | None:
        """Return the published figure."""
        return self.report.published.get(setting, {}).get(metric)

    def published_difference(self, setting: str, metric: str) -> float | None:
        """Return by how much the published figure is above that of the baseline."""
        figure, baseline = self.published(setting, metric), self.published(self.report.baseline, metric)
        return None if figure is None or baseline is None or setting == self.report.baseline else figure - baseline

    def outcome(self, setting: str, metric: str) -> Outcome | None:
        """Return the verdict on the order of a setting and the baseline; `None` if nothing was published of it."""
        return self._outcomes.get((metric, frozenset((setting, self.report.baseline))))

    @cached_property
    def _outcomes(self) -> dict[tuple[str, frozenset[str]], Outcome]:
        found = {}
        for verdict in self.verdicts:
            claim = verdict.ordering.claim
            if isinstance(claim, WeightedSum) and len(claim.terms) == 2 and not claim.constant:
                first, second = claim.terms
                if first.metric == second.metric and first.weight == -second.weight:
                    found[first.metric, frozenset((first.setting, second.setting))] = verdict.outcome
        return found


def mean_of(figures: Figures, setting: str, metric: str) -> CaseMean:
    """Return the mean of a metric over cases, with its interval: in tables, plots and the page alike."""
    return case_mean(figures.get(setting, {}).get(metric, {}), metric_named(metric).bounds)


def difference_of(figures: Figures, setting: str, baseline: str, metric: str) -> Contrast | None:
    """Return how much higher a metric is in a setting than in the baseline, by case; `None` for the baseline itself."""
    here, there = (figures.get(name, {}).get(metric, {}) for name in (setting, baseline))
    return paired_difference(here, there) if here and there and setting != baseline else None


def _whole_of(metric: str) -> str:
    """Return the name of a metric of truncated dialogues that one of whole dialogues belongs to."""
    return metric.removesuffix("_untruncated")


def find(
    store: Store,
    report: Report,
    results: Results,
    measuring: Measuring,
    provenance: Provenance,
    skipped: Mapping[str, str] | None = None,
    control: Measuring | None = None,
) -> Findings:
    """Return the findings of a report; metrics that are skipped have a reason.

    The control has the conversations of a stand-in without weights; those of a stand-in are their own control.
    """
    longest = max((len(trial.dialogue) for trial in measuring.all), default=0)
    metrics = [metric for metric in report.metrics if metric not in (skipped or {})]
    by_index = [f"{metric}@{at}" for metric in metrics for at in range(longest)] if report.by_index else []
    figures = _figures(report, measuring, [*metrics, *by_index])
    beside = None if control is None else _figures(report, control, [*metrics, *by_index])
    if any(found.run.rehearsed for found in results.runs):
        beside = figures
    return Findings(
        report=report,
        results=results,
        figures=figures,
        verdicts=verdicts(report.orderings, figures, measuring.times, beside, report.primary),
        costs=cost_by_setting(store, results.runs),
        platforms=computed_on(store, results.runs),
        times=measuring.times,
        unpaired=measuring.unpaired,
        longest=longest,
        truncated=measuring.truncated() if "sim" in metrics else 0,
        skipped=skipped or {},
        provenance=provenance,
        control=beside,
        unchanged=_unchanged(measuring, report.baseline),
    )


def _unchanged(measuring: Measuring, baseline: str) -> dict[str, int]:
    """Return in how many cases all trials of a setting have the lines of the baseline; settings with any such case."""
    full = measuring.trials.get(baseline, {})
    lines = {case: {number: trial.dialogue for number, trial in trials.items()} for case, trials in full.items()}
    counts = {
        setting: sum(
            {number: trial.dialogue for number, trial in trials.items()} == lines.get(case)
            for case, trials in cases.items()
        )
        for setting, cases in measuring.trials.items()
        if setting != baseline
    }
    return {setting: count for setting, count in counts.items() if count}


def _figures(report: Report, measuring: Measuring, metrics: Sequence[str]) -> Figures:
    """Return the figures of the cases by setting, or by row of a comparison."""
    if not report.rows:
        return measuring.figures(metrics)
    return {row: measuring.exclusiveness(a, b, report.groups, report.metrics) for row, (a, b) in report.rows.items()}


def slug(name: str) -> str:
    """Return a name as the name of a file or a folder."""
    return _NOT_IN_FILE_NAMES.sub("-", name).strip("-.") or "experiment"


def _report_name(experiment: Experiment, baseline: str | None, metrics: Sequence[str] | None) -> str:
    """Return the name of a report: one with other metrics or another baseline does not overwrite the whole one."""
    parts = [experiment.name, *(metrics or ()), *(["against", baseline] if baseline else [])]
    name = slug("-".join(parts))
    if len(parts) == 1 or len(name) <= _LONGEST:
        return name
    digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{name[:_LONGEST]}-{digest}"


def report_of_experiment(
    experiment: Experiment, baseline: str | None = None, metrics: Sequence[str] | None = None, axis: Axis | None = None
) -> Report:
    """Return the report on a user's experiment, with nothing published, by default on `METRICS` and its own baseline.

    Args:
        axis: Its number along which figures are drawn; by default the first of `axes_of`.

    Raises:
        UsageError: There is no such setting or metric; the nearest name is given.
    """
    chosen = baseline or experiment.baseline or next(iter(experiment.settings))
    if chosen not in experiment.settings:
        raise UsageError(f"--baseline {chosen}: no such setting{nearest_hint(chosen, [*experiment.settings])}")
    for metric in metrics or ():
        if metric.partition("@")[0].partition(":")[0] not in metrics_by_name():
            raise UsageError(f"--metric {metric}: unknown{nearest_hint(metric, [*metrics_by_name()])}")
    return Report(
        name=_report_name(experiment, baseline, metrics),
        title=f"Experiment {experiment.name}",
        question=experiment.description,
        source="",
        cases=experiment.cases,
        settings=experiment.settings,
        baseline=chosen,
        metrics=tuple(metrics or METRICS),
        profile=Profile(trials=experiment.trials, rounds=experiment.rounds),
        curves=_curves(axis or next(iter(axes_of(experiment)), None)),
    )


def _curves(axis: Axis | None) -> dict[str, Curve]:
    """Return the lines along a number that differs between settings; none if no number differs."""
    if axis is None:
        return {}
    settings = sorted(axis.values, key=lambda setting: axis.values[setting])
    return {
        label or "here": Curve(points=tuple((axis.values[of], of) for of in settings if axis.series[of] == label))
        for label in dict.fromkeys(axis.series.values())
    }
