"""The tables of a report: figures next to the published ones, verdicts, and the cost of conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tertulia.lab.pages.page import Cell, Column, Interval, Table, Taken, table_of
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.provenance import SettingCost, total_cost
from tertulia.lab.reports.report import Findings, mean_of
from tertulia.lab.reports.verdicts import Verdict
from tertulia.metrics.album import Estimate
from tertulia.metrics.statistics import CaseMean, Contrast, Needed
from tertulia.state.records import RunRecord
from tertulia.state.text import counted


def overview_table(findings: Findings) -> Table:
    """Return a row per setting and two columns per metric, paper and here, as the papers' tables are read."""
    columns = [Column("setting", "setting")]
    with_paper = [
        metric for metric in findings.metrics if any(findings.published(row, metric) for row in findings.rows)
    ]
    for metric in findings.metrics:
        title = metric_named(metric).title
        columns += [Column(f"{metric}_paper", f"{title}, paper", "number")] if metric in with_paper else []
        columns += [Column(metric, f"{title}, here" if with_paper else title, "number")]
    rows = []
    for setting in findings.rows:
        row: list[Cell] = [setting]
        for metric in findings.metrics:
            row += [findings.published(setting, metric)] if metric in with_paper else []
            row.append(findings.mean(setting, metric).value)
        rows.append(row)
    return Table("overview", "Means over cases", columns, rows)


@dataclass(frozen=True)
class _Place:
    """A metric in a setting of a report; without a difference, a part of it is `None`."""

    findings: Findings
    metric: str
    setting: str

    @cached_property
    def here(self) -> CaseMean:
        return self.findings.mean(self.setting, self.metric)

    @cached_property
    def difference(self) -> Contrast | None:
        return self.findings.difference(self.setting, self.metric)


_FIGURES: Sequence[Taken[_Place]] = (
    (Column("metric", "metric"), lambda at: metric_named(at.metric).title),
    (Column("setting", "setting"), lambda at: at.setting),
    (Column("paper", "paper", "number"), lambda at: at.findings.published(at.setting, at.metric)),
    (Column("here", "here", "number"), lambda at: at.here.value),
    (Column("interval", "95 % interval", "interval"), lambda at: interval_of(at.here)),
    (Column("cases", "n cases", "count"), lambda at: at.here.cases),
    (Column("trials", "n dialogues", "count"), lambda at: at.here.trials),
    (
        Column("paper_difference", "paper, minus baseline", "difference"),
        lambda at: at.findings.published_difference(at.setting, at.metric),
    ),
    (Column("difference", "here, minus baseline", "difference"), lambda at: part_of(at.difference, "value")),
    (Column("difference_interval", "95 % interval", "interval"), lambda at: interval_of(at.difference)),
    (Column("effect_size", "effect size", "difference", 2), lambda at: part_of(at.difference, "effect_size")),
    (Column("above", "cases above", "count"), lambda at: part_of(at.difference, "above")),
    (Column("difference_cases", "of cases", "count"), lambda at: part_of(at.difference, "cases")),
    (Column("verdict", "verdict"), lambda at: at.findings.outcome(at.setting, at.metric)),
)


#: The columns that a user's experiment does not have.
_OF_PAPER = ("paper", "paper_difference", "verdict")


def figures_table(findings: Findings, at_indices: bool = False) -> Table:
    """Return a row per metric and setting, with its difference to the baseline; by utterance index for data files."""
    metrics: list[str] = findings.metrics
    if at_indices:
        metrics = [f"{metric}@{at}" for metric in metrics for at in range(findings.longest)]
    places = [_Place(findings, metric, setting) for metric in metrics for setting in findings.rows]
    differences = f"Figures, and differences to {findings.report.baseline}"
    name, title = ("by_index", "By utterance index") if at_indices else ("figures", differences)
    of_paper = _OF_PAPER if findings.is_own else ()
    columns = [taken for taken in _FIGURES if taken[0].name not in of_paper]
    return table_of(name, title, columns, places, on_page=not at_indices, is_grouped=True)


def means_data(findings: Findings) -> Table:
    """Return a row per metric and setting with its mean over cases, and the control's if there is one, for programs."""
    columns = (
        Column("metric", "metric"),
        Column("setting", "setting"),
        Column("mean", "mean", "number"),
        Column("ci", "95 % interval", "interval"),
        Column("cases", "cases", "count"),
        Column("control", "control", "number"),
    )
    rows: list[list[Cell]] = []
    for metric in findings.metrics:
        for setting in findings.rows:
            found = findings.mean(setting, metric)
            beside = None if findings.rehearsed else findings.control  # a rehearsal is its own
            control = None if beside is None else mean_of(beside, setting, metric).value
            rows.append([metric, setting, found.value, interval_of(found), found.cases, control])
    return Table("means", "Means over cases", columns, rows, on_page=False)


def part_of(found: CaseMean | None, name: str) -> Any:
    """Return a part of an estimate; `None` without one."""
    return None if found is None else getattr(found, name)


def interval_of(found: CaseMean | Estimate | None) -> Interval | None:
    """Return the interval of an estimate; `None` without one."""
    return None if found is None or found.ci_low is None or found.ci_high is None else (found.ci_low, found.ci_high)


# --- verdicts -------------------------------------------------------------------------------------------------------

_VERDICTS: Sequence[Taken[Verdict]] = (
    (Column("ordering", "what should hold"), lambda of: of.ordering.text),
    (Column("source", "source"), lambda of: of.ordering.source),
    (Column("paper", "paper", "difference"), lambda of: of.ordering.published),
    (Column("here", "here", "difference"), lambda of: part_of(of.found, "value")),
    (Column("interval", "95 % interval", "interval"), lambda of: interval_of(of.found)),
    (Column("effect_size", "effect size", "difference", 2), lambda of: part_of(of.found, "effect_size")),
    (Column("cases", "n cases", "count"), lambda of: part_of(of.found, "cases")),
    (Column("trials", "n dialogues", "count"), lambda of: part_of(of.found, "trials")),
    (Column("sources", "sources above"), lambda of: _sources_above(of.found)),
    (Column("p", "p, in its family", "number"), lambda of: of.p_adjusted),
    (Column("bound", "no larger than", "difference"), lambda of: of.bound),
    (Column("control", "control", "difference"), lambda of: part_of(of.control, "value")),
    (Column("verdict", "verdict"), lambda of: of.outcome),
    (Column("would_decide", "would decide"), lambda of: needed_phrase(of.needed)),
    (Column("note", "note"), lambda of: of.note or None),
)


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """Return a row per ordering, those on the primary outcome first."""
    return table_of("verdicts", "Orderings", _VERDICTS, sorted(verdicts, key=lambda verdict: not verdict.is_primary))


def sources_table(findings: Findings) -> Table:
    """Return a row per metric, setting and source of cases with its difference to the baseline, for data files."""
    columns = (
        Column("metric", "metric"),
        Column("setting", "setting"),
        Column("source", "source"),
        Column("cases", "cases", "count"),
        Column("difference", "difference", "difference"),
    )
    rows: list[list[Cell]] = []
    for metric in findings.metrics:
        for setting in findings.rows:
            found = findings.difference(setting, metric)
            for source, values in _by_source(found).items() if found is not None else ():
                rows.append([metric, setting, source, len(values), sum(values) / len(values)])
    return Table("by_source", "Differences to the baseline by source", columns, rows, on_page=False)


def _by_source(found: Contrast) -> dict[str, list[float]]:
    by_source: dict[str, list[float]] = {}
    for case, value in found.by_case.items():
        by_source.setdefault(found.source_of_case.get(case, ""), []).append(value)
    return by_source


def _sources_above(found: Contrast | None) -> str | None:
    if found is None or found.sources < 2:
        return None
    return f"{sum(sum(values) > 0 for values in _by_source(found).values())} of {found.sources}"


def needed_phrase(needed: Needed | None) -> str | None:
    """Return the number of cases that would decide an ordering with the same figure; `None` if that is not reckoned."""
    if needed is None:
        return None
    cases = "no number of cases in reach" if needed.cases is None else counted(needed.cases, "case")
    if not needed.trials_known:
        return cases
    trials = "no number of trials" if needed.trials is None else f"{counted(needed.trials, 'trial')} of each case"
    return f"{trials}, or {cases}"


# --- cost, cases and runs ---------------------------------------------------------------------------------------------

_COST: Sequence[Taken[tuple[str, SettingCost]]] = (
    (Column("setting", "setting"), lambda of: of[0]),
    (Column("runs", "conversations", "count"), lambda of: of[1].runs),
    (Column("utterances", "utterances", "count"), lambda of: of[1].utterances),
    (Column("calls", "calls", "count"), lambda of: of[1].cost.calls),
    (Column("prompt_tokens", "tokens read", "count"), lambda of: of[1].cost.prompt_tokens),
    (Column("reply_tokens", "tokens written", "count"), lambda of: of[1].cost.reply_tokens),
    (Column("model_s", "model time, s", "number", 1), lambda of: of[1].cost.seconds),
    (
        Column("model_s_per_utterance", "s per utterance", "number", 2),
        lambda of: of[1].cost.seconds / of[1].utterances if of[1].utterances else None,
    ),
)


def cost_table(findings: Findings) -> Table:
    """Return a row per setting, and their sum, from the journal of calls."""
    costs = {setting: findings.costs[setting] for setting in findings.report.settings if setting in findings.costs}
    of_all = ("all", total_cost(costs.values()))
    return table_of("cost", "What the finished conversations took", _COST, [*costs.items(), of_all])


def settings_table(findings: Findings) -> Table:
    """Return the parameters of each setting, over those of the scenario and of the model."""
    rows = [
        (setting, ", ".join(f"{name}={_value(value)}" for name, value in values.items()) or None)
        for setting, values in findings.report.settings.items()
    ]
    columns = (Column("setting", "setting"), Column("parameters", "parameters"))
    return Table("settings", "Settings", columns, rows)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def cases_table(findings: Findings) -> Table:
    """Return a row per metric, setting and case, for data files."""
    columns = (
        Column("metric", "metric"),
        Column("setting", "setting"),
        Column("case", "case"),
        Column("hours", "hours since the first case", "number"),
        Column("value", "value", "number"),
        Column("trials", "trials", "count"),
    )
    return Table("cases", "Figures by case", columns, [*_case_rows(findings)], on_page=False)


def _case_rows(findings: Findings) -> Iterator[list[Cell]]:
    first = min(findings.times.values(), default=0.0)
    for setting, metrics in findings.figures.items():
        for metric, sample in metrics.items():
            for case, figure in sample.items():
                hours = findings.times[case] - first if case in findings.times else None
                yield [metric, setting, case, hours, figure.value, figure.trials]


def runs_table(findings: Findings) -> Table:
    """Return a row per run that is finished or failed, for data files."""
    names = ("run", "setting", "case", "trial", "cohort", "seed", "status", "turns", "error")
    columns = [
        Column(name, name, "count" if name in ("trial", "cohort", "seed", "turns") else "text") for name in names
    ]
    results = findings.results
    rows = [_run_row(found.run, found.setting, found.case, found.trial) for found in results.runs]
    rows += [_run_row(run, run.trial.setting, run.trial.case, run.trial.trial) for run in results.failed if run.trial]
    return Table("runs", "Runs", columns, rows, on_page=False)


def _run_row(run: RunRecord, setting: str, case: str, trial: int) -> list[Cell]:
    cohort = run.trial.cohort if run.trial else None
    return [run.run, setting, case, trial, cohort, run.seed, run.status, run.turns, run.error]
