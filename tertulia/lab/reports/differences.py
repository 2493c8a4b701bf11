"""An experiment in short: each measure in each setting, and a sentence on its differences to the baseline.

Of reports with published orderings, `verdicts.py` tells. Here, too, a difference is tested two-sided by Student's t
over cases, all differences as one family (Holm). A difference is small if its interval lies within a margin, by two
one-sided tests (Schuirmann 1987), a family of their own.
"""

from collections.abc import Iterator, Mapping

from tertulia.lab.experiments.cautions import ONE_CASE
from tertulia.lab.experiments.experiment import more_cases
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.pages.page import Column, Table, shown_cell
from tertulia.lab.reports.ordering_tests import ALPHA, Figures
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report import Findings, difference_of, mean_of
from tertulia.lab.reports.report_tables import interval_of, overview_table
from tertulia.metrics.inference import ROUNDING, holm
from tertulia.metrics.statistics import CaseMean, Contrast, contrast_of_cases, excludes_zero, trials_that_decide
from tertulia.state.text import counted

_NUMBER, _DIFFERENCE = Column("", "", "number"), Column("", "", "difference")


def first_table(findings: Findings) -> Table:
    """Return the means beside the published ones, or, without any, with their intervals."""
    return overview_table(findings) if findings.report.published else means_table(findings)


def means_table(findings: Findings) -> Table:
    """Return a row per metric and a column per setting: the mean over cases, with its 95 % interval.

    The last column has the means of the control, in the order of the settings; without a control there is none.
    """
    columns = [Column("metric", "95 % intervals" if has_intervals(findings) else "no intervals")]
    columns += [Column(f"setting_{at}", setting) for at, setting in enumerate(findings.rows)]
    rows = [
        [metric_named(metric).title, *(_with_interval(findings.mean(setting, metric)) for setting in findings.rows)]
        for metric in findings.distinct_metrics
    ]
    if (control := _control(findings)) is not None:
        columns.append(Column("control", f"control ({', '.join(findings.rows)})"))
        for row, metric in zip(rows, findings.distinct_metrics, strict=True):
            means = (mean_of(control, setting, metric).value for setting in findings.rows)
            row.append(", ".join(shown_cell(value, _NUMBER) for value in means))
    return Table("means", "Means over cases", columns, rows)


def has_intervals(findings: Findings) -> bool:
    """Return whether any mean has an interval: of one case there is none."""
    places = ((setting, metric) for setting in findings.rows for metric in findings.metrics)
    return any(findings.mean(*place).ci_low is not None for place in places)


def differences_in_words(findings: Findings) -> Iterator[str]:
    """Yield a sentence per metric on its differences to the baseline, and the method.

    Of one case, yield the reason why there is none.
    """
    others = [setting for setting in findings.rows if setting != findings.report.baseline]
    if not others or not findings.metrics:
        return
    if len(findings.report.cases) == 1:
        yield f"{ONE_CASE}. {more_cases(findings.report.cases[0])}"
        return
    same, unknown, within = [], [], _chances_within(findings)
    for metric in findings.distinct_metrics:
        title, found = metric_named(metric).title, [findings.difference(setting, metric) for setting in others]
        parts = [part for setting in others if (part := _in_words(findings, setting, metric, within)) is not None]
        if parts:
            yield f"{title}, against {findings.report.baseline}: {'; '.join(parts)}."
        elif any(difference is not None and difference.value is not None for difference in found):
            same.append(title)
        else:
            unknown.append(title)
    if same:
        yield f"The same in every setting: {', '.join(same)}."
    if unknown:
        yield f"Not compared, without a figure in the same case of {findings.report.baseline}: {', '.join(unknown)}."
    yield from _method(findings)


def _in_words(
    findings: Findings, setting: str, metric: str, within: Mapping[tuple[str, str], float | None]
) -> str | None:
    """Return the difference of a setting to the baseline; `None` if there is none in any case."""
    found = findings.difference(setting, metric)
    if found is None or found.value is None or not any(abs(of_case) > ROUNDING for of_case in found.by_case.values()):
        return None
    size, adjusted = _with_interval(found, _DIFFERENCE), findings.p_adjusted.get((setting, metric))
    direction = "higher" if found.value > 0 else "lower"
    if found.cases > 1 and max(found.by_case.values()) - min(found.by_case.values()) <= ROUNDING:
        return f"{setting} is {direction} by the same in every case, {size}"
    if adjusted is not None and adjusted <= ALPHA:
        return f"{setting} is {direction}, {size}{_beside_control(findings, setting, metric, found)}"
    chance = within.get((setting, metric))
    if chance is not None and chance <= ALPHA / 2:  # so that the interval lies within the margin
        return f"{setting} differs by less than {metric_named(metric).least:g}, {size}"
    among = " among so many comparisons" if excludes_zero(found) else ""
    return f"{setting} is undecided{among}, {size}{_would_decide(found, adjusted)}"


def _would_decide(found: Contrast, adjusted: float | None) -> str:
    """Return how many trials or cases decide a difference of that true size, every second time; empty if not known."""
    level = ALPHA * found.p / adjusted if found.p and adjusted else ALPHA  # that it has among all that are shown
    needed = trials_that_decide(found, 1 - level)
    if needed is None or needed.cases is None:
        return ""
    trials = f"{needed.trials:,} trials of each case or " if needed.trials_known and needed.trials is not None else ""
    return f"; if that is its size, about {trials}{needed.cases:,} cases decide with even odds"


def _chances_within(findings: Findings) -> dict[tuple[str, str], float | None]:
    """Return, by setting and metric, the chance of a difference so near 0 if the true one were as large as its margin.

    It is the larger of both sides, adjusted among all of them; `None` for metrics without a margin.
    """
    places = [(setting, metric) for metric in findings.distinct_metrics for setting in findings.rows]
    chances: list[float | None] = []
    for place in places:
        found, least = findings.difference(*place), metric_named(place[1]).least
        sides = [] if found is None or least is None else [found.p_below(least), found.p_above(-least)]
        known = [side for side in sides if side is not None]
        chances.append(max(known, default=None))
    return dict(zip(places, holm(chances), strict=True))


# --- the control ----------------------------------------------------------------------------------------------------


def _control(findings: Findings) -> Figures | None:
    """Return the figures of the control; `None` without one: a rehearsal is its own."""
    return None if findings.rehearsed else findings.control


def _beside_control(findings: Findings, setting: str, metric: str, found: Contrast) -> str:
    """Return whether the control differs as much in the same direction; empty without a control that differs."""
    control = _control(findings)
    there = None if control is None else difference_of(control, setting, findings.report.baseline, metric)
    if there is None or there.p is None or there.p > ALPHA or not there.value or there.value * (found.value or 0) <= 0:
        return ""
    sign = 1 if there.value > 0 else -1
    shared = found.by_case.keys() & there.by_case.keys()
    excess = contrast_of_cases(
        {case: sign * (found.by_case[case] - there.by_case[case]) for case in shared}, found.source_of_case
    ).p_above()
    is_more = excess is not None and excess <= ALPHA / 2
    return f", {'more' if is_more else 'but no more'} than the control: {_with_interval(there, _DIFFERENCE)}"


def _method(findings: Findings) -> Iterator[str]:
    """Yield how the sentences were found."""
    places = [place for place in findings.p_adjusted if place[1] in findings.distinct_metrics]
    differences = [findings.difference(*place) for place in places]
    cases = max((found.cases for found in differences if found is not None), default=0)
    if not differences:
        return
    sources = list(dict.fromkeys(source_of(case) for case in findings.report.cases))
    of = sources[0] if len(sources) == 1 else counted(len(sources), "source")
    among = f"all {len(differences)} comparisons together" if len(differences) > 1 else "this comparison"
    yield (
        f"Higher or lower: tested at 5 % for {among} (Holm), by Student's t over {counted(cases, 'case')} of {of}; it "
        "holds for cases like these alone. Intervals are 95 %, of each by itself. Undecided does not mean equal."
    )
    if _control(findings) is not None:
        yield (
            "Control: the same conversations of a stand-in without weights, which takes up words of its prompt and "
            "knows no language. A difference that it has, too, comes of the measure or the prompt."
        )


def _with_interval(found: CaseMean, column: Column = _NUMBER) -> str:
    interval = interval_of(found)
    shown = shown_cell(found.value, column)
    return shown if interval is None else f"{shown} {shown_cell(interval, column)}"
