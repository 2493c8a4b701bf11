"""An experiment in short: each measure in each setting, and a sentence on its differences to the baseline.

Of reports with published orderings, `verdicts.py` tells.
"""

from collections.abc import Iterator

from tertulia.lab.pages.page import Column, Table, shown_cell
from tertulia.lab.reports.ordering_tests import ALPHA
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.report_tables import interval_of, overview_table
from tertulia.metrics.inference import ROUNDING
from tertulia.metrics.statistics import CaseMean, excludes_zero, trials_that_decide

_NUMBER, _DIFFERENCE = Column("", "", "number"), Column("", "", "difference")


def first_table(findings: Findings) -> Table:
    """Return the means beside the published ones, or, without any, with their intervals."""
    return overview_table(findings) if findings.report.published else means_table(findings)


def means_table(findings: Findings) -> Table:
    """Return a row per metric and a column per setting: the mean over cases, with its 95 % interval."""
    columns = [Column("metric", "95 % intervals" if has_intervals(findings) else "no intervals")]
    columns += [Column(f"setting_{at}", setting) for at, setting in enumerate(findings.rows)]
    rows = [
        [metric_named(metric).title, *(_with_interval(findings.mean(setting, metric)) for setting in findings.rows)]
        for metric in _shown(findings)
    ]
    return Table("means", "Means over cases", columns, rows)


def _shown(findings: Findings) -> list[str]:
    """Return the metrics that are shown: where no dialogue is truncated, those of whole dialogues are the same."""
    return [name for name in findings.metrics if findings.truncated or not name.endswith("_untruncated")]


def has_intervals(findings: Findings) -> bool:
    """Return whether any mean has an interval: of one case there is none."""
    places = ((setting, metric) for setting in findings.rows for metric in findings.metrics)
    return any(findings.mean(*place).ci_low is not None for place in places)


def differences_in_words(findings: Findings) -> Iterator[str]:
    """Yield a sentence per metric on its differences to the baseline; of one case, the reason why there is none."""
    others = [setting for setting in findings.rows if setting != findings.report.baseline]
    if not others or not findings.metrics:
        return
    if len(findings.report.cases) == 1:
        yield (
            "One case has no interval, however many trials it has, so nothing here is told from chance. Sweep several "
            "cases, such as all of a town: tertulia sweep tidewell:all …"
        )
        return
    same = []
    for metric in _shown(findings):
        parts = [part for setting in others if (part := _in_words(findings, setting, metric)) is not None]
        if parts:
            yield f"{metric_named(metric).title}, against {findings.report.baseline}: {'; '.join(parts)}."
        else:
            same.append(metric_named(metric).title)
    if same:
        yield f"The same in every setting: {', '.join(same)}."


def _in_words(findings: Findings, setting: str, metric: str) -> str | None:
    """Return the difference of a setting to the baseline; `None` if there is none in any case."""
    found = findings.difference(setting, metric)
    if found is None or found.value is None or not any(abs(of_case) > ROUNDING for of_case in found.by_case.values()):
        return None
    size, adjusted = _with_interval(found, _DIFFERENCE), findings.p_adjusted.get((setting, metric))
    if adjusted is not None and adjusted <= ALPHA:
        return f"{setting} is {'higher' if found.value > 0 else 'lower'}, {size}"
    level = ALPHA * found.p / adjusted if found.p and adjusted else ALPHA  # that it has among all that are shown
    needed = trials_that_decide(found, 1 - level)
    among = " among so many comparisons" if excludes_zero(found) else ""
    cases = "" if needed is None or needed.cases is None else f"; about {needed.cases:,} cases would decide"
    return f"{setting} is undecided{among}, {size}{cases}"


def _with_interval(found: CaseMean, column: Column = _NUMBER) -> str:
    interval = interval_of(found)
    shown = shown_cell(found.value, column)
    return shown if interval is None else f"{shown} {shown_cell(interval, column)}"
