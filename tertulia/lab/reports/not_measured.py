"""Why a report has no figure of a metric: its measurer is not there, or the conversations do not have it."""

from collections.abc import Iterator

from tertulia.lab.reports.paper_files import base_of
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report import METRICS, Findings

#: Of metrics that some conversations have and others don't, the lacking part, by beginnings of names.
_LACKING = {
    ("sim", "vendi"): "as no case has two dialogues to compare",
    ("max_sim", "excl"): "as no settings are put beside each other here",
    ("attention_", "removed_attention"): "as no turn has scores of units",
    ("inconsistency",): "as no line was judged",
    ("against_", "left_", "removed_"): "as no prompt is stored from which anything was removed",
    ("trait",): "as nobody's inventory was asked",
}


def not_measured(findings: Findings) -> dict[str, str]:
    """Return why each metric of a report that has no figure has none, in the order of the report."""
    if not findings.longest and not findings.skipped:
        return {}
    found = {metric: findings.skipped.get(metric) or _lacking(findings, metric) for metric in findings.report.metrics}
    has_figure = set(findings.metrics)
    return {metric: why for metric, why in found.items() if metric not in has_figure} | dict(findings.skipped)


def not_measured_lines(findings: Findings) -> Iterator[str]:
    """Yield a line for each reason, with the metrics that were not measured for it."""
    missing = not_measured(findings)
    for why in dict.fromkeys(missing.values()):
        titles = ", ".join(metric_named(metric).title for metric, reason in missing.items() if reason == why)
        yield f"Not measured: {titles}, {why}"


def _lacking(findings: Findings, metric: str) -> str:
    name = base_of(metric).partition(":")[0]
    if "@" in metric and int(metric.partition("@")[2]) >= findings.longest:
        return "as no conversation has so many lines"
    if name in ("repeated_lines", "duplicate_rate") and (findings.longest < 2 or metric.endswith("@0")):
        return "as every conversation has one line" if findings.longest < 2 else "as a first line repeats none"
    for beginnings, why in _LACKING.items():
        if name.startswith(beginnings):
            return why
    if name in METRICS:
        return "as these conversations are too short for it"
    is_of_two = all(found.run.kind == "dialogue" for found in findings.results.runs)
    return "as only meetings have it" if is_of_two else "as none of these conversations has it"
