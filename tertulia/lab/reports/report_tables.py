"""The tables of a report: figures next to the published ones, verdicts, and the cost of conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from tertulia.lab.pages.page import Cell, Column, Interval, Table
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.provenance import SettingCost, total_cost
from tertulia.lab.reports.report import Findings
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


_FIGURES = (
    Column("metric", "metric"),
    Column("setting", "setting"),
    Column("paper", "paper", "number"),
    Column("here", "here", "number"),
    Column("interval", "95 % interval", "interval"),
    Column("cases", "n cases", "count"),
    Column("trials", "n dialogues", "count"),
    Column("paper_difference", "paper, minus baseline", "difference"),
    Column("difference", "here, minus baseline", "difference"),
    Column("difference_interval", "95 % interval", "interval"),
    Column("effect_size", "effect size", "difference", 2),
    Column("above", "cases above", "count"),
    Column("difference_cases", "of cases", "count"),
    Column("verdict", "verdict"),
)


def figures_table(findings: Findings, at_indices: bool = False) -> Table:
    """Return a row per metric and setting, with its difference to the baseline; by utterance index for data files."""
    metrics: list[str] = findings.metrics
    if at_indices:
        metrics = [f"{metric}@{at}" for metric in metrics for at in range(findings.longest)]
    rows = [_figures_row(findings, metric, setting) for metric in metrics for setting in findings.rows]
    differences = f"Figures, and differences to {findings.report.baseline}"
    name, title = ("by_index", "By utterance index") if at_indices else ("figures", differences)
    return Table(name, title, _FIGURES, rows, on_page=not at_indices, is_grouped=True)


def _figures_row(findings: Findings, metric: str, setting: str) -> list[Cell]:
    here, difference = findings.mean(setting, metric), findings.difference(setting, metric)
    return [
        metric_named(metric).title,
        setting,
        findings.published(setting, metric),
        here.value,
        interval_of(here),
        here.cases,
        here.trials,
        findings.published_difference(setting, metric),
        *_contrast_cells(difference),
        None if difference is None else difference.above,
        None if difference is None else difference.cases,
        findings.outcome(setting, metric),
    ]


def _contrast_cells(found: Contrast | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if found is None else (found.value, interval_of(found), found.effect_size)


def interval_of(found: CaseMean | Estimate) -> Interval | None:
    """Return the interval of an estimate; `None` without one."""
    return None if found.ci_low is None or found.ci_high is None else (found.ci_low, found.ci_high)


# --- verdicts -------------------------------------------------------------------------------------------------------

_VERDICTS = (
    Column("ordering", "what should hold"),
    Column("source", "source"),
    Column("paper", "paper", "difference"),
    Column("here", "here", "difference"),
    Column("interval", "95 % interval", "interval"),
    Column("effect_size", "effect size", "difference", 2),
    Column("cases", "n cases", "count"),
    Column("trials", "n dialogues", "count"),
    Column("sources", "sources above"),
    Column("p", "p, in its family", "number"),
    Column("bound", "no larger than", "difference"),
    Column("control", "control", "difference"),
    Column("verdict", "verdict"),
    Column("would_decide", "would decide"),
    Column("note", "note"),
)


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """Return a row per ordering, those on the primary outcome first."""
    ordered = sorted(verdicts, key=lambda verdict: not verdict.is_primary)
    return Table("verdicts", "Orderings", _VERDICTS, [_verdict_row(verdict) for verdict in ordered])


def _verdict_row(verdict: Verdict) -> list[Cell]:
    found = verdict.found
    return [
        verdict.ordering.text,
        verdict.ordering.source,
        verdict.ordering.published,
        *_contrast_cells(found),
        None if found is None else found.cases,
        None if found is None else found.trials,
        None if found is None or found.sources < 2 else f"{_sources_above(found)} of {found.sources}",
        verdict.p_adjusted,
        verdict.bound,
        None if verdict.control is None else verdict.control.value,
        verdict.outcome,
        needed_phrase(verdict.needed),
        verdict.note or None,
    ]


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


def _sources_above(found: Contrast) -> int:
    return sum(sum(values) > 0 for values in _by_source(found).values())


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

_COST = (
    Column("setting", "setting"),
    Column("runs", "conversations", "count"),
    Column("utterances", "utterances", "count"),
    Column("calls", "calls", "count"),
    Column("prompt_tokens", "tokens read", "count"),
    Column("reply_tokens", "tokens written", "count"),
    Column("model_s", "model time, s", "number", 1),
    Column("model_s_per_utterance", "s per utterance", "number", 2),
)


def cost_table(findings: Findings) -> Table:
    """Return a row per setting, and their sum, from the journal of calls."""
    costs = {setting: findings.costs[setting] for setting in findings.report.settings if setting in findings.costs}
    rows = [_cost_row(setting, cost) for setting, cost in [*costs.items(), ("all", total_cost(costs.values()))]]
    return Table("cost", "What the finished conversations took", _COST, rows)


def _cost_row(setting: str, spent: SettingCost) -> list[Cell]:
    each = spent.cost.seconds / spent.utterances if spent.utterances else None
    return [setting, spent.runs, spent.utterances, *astuple(spent.cost), each]


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
                yield [metric, setting, case, hours, figure.value, max(1, len(figure.without))]


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
