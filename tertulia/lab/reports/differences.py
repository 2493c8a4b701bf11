"""An experiment in short: each measure in each setting, and a sentence on its differences to the baseline.

Of reports with published orderings, `verdicts.py` tells. Here, too, a difference is tested two-sided by Student's t
over cases, all differences as one family (Holm). A difference is small if its interval lies within a margin, by two
one-sided tests (Schuirmann 1987), a family of their own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tertulia.lab.experiments.cautions import ONE_CASE
from tertulia.lab.experiments.experiment import ALL_CASES, cases_of_source, more_cases
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.pages.page import Column, Table, shown_cell
from tertulia.lab.reports.ordering_tests import ALPHA, Figures
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report import METRICS, Findings, difference_of, mean_of
from tertulia.lab.reports.report_tables import interval_of, overview_table
from tertulia.metrics.inference import ROUNDING, holm
from tertulia.metrics.statistics import CaseMean, Contrast, contrast_of_cases, excludes_zero, trials_that_decide
from tertulia.state.text import counted, shell_argument

#: Cases from which a difference may be called small. The spread of three is less than a quarter of the true one in one
#: sample of 17 (χ²), so that their interval is then too narrow for "equal"; that of four in one of 49.
_LEAST_CASES = 4

_NUMBER, _DIFFERENCE = Column("", "", "number"), Column("", "", "difference")


def few_cases(findings: Findings) -> Iterator[str]:
    """Yield a warning of intervals from two or three numbers, with the way to more."""
    cases = findings.report.cases
    if not 1 < len(cases) < _LEAST_CASES or findings.report.published:
        return
    sources = {source_of(case) for case in cases}
    has_more = [source for source in sources if len(sources) == 1 and (cases_of_source(source) or 0) > len(cases)]
    way = "".join(f" (tertulia sweep {shell_argument(source + ALL_CASES)} …)" for source in has_more)
    number = "two" if len(cases) == 2 else "three"
    yield f"{len(cases)} cases: each interval is from {number} numbers; take more{way}"


def first_table(findings: Findings) -> Table:
    """Return the means beside the published ones, or, without any, with their intervals."""
    return overview_table(findings) if findings.report.published else means_table(findings)


def means_table(findings: Findings) -> Table:
    """Return a row per metric and a column per setting: the mean over cases, with its 95 % interval.

    The last column has the means of the control, in the order of the settings; without a control there is none.
    """
    columns = [Column("metric", "95 % intervals" if has_intervals(findings) else "no intervals")]
    columns.append(Column("more_varied", "more varied"))
    columns += [Column(f"setting_{at}", setting) for at, setting in enumerate(findings.rows)]
    rows = [
        [metric.title, f"if {metric.more_varied}" if metric.more_varied else "", *map(_with_interval, means)]
        for metric, means in (
            (metric_named(name), [findings.mean(setting, name) for setting in findings.rows])
            for name in findings.distinct_metrics
        )
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
    compared = [setting for setting in findings.rows if setting != findings.report.baseline]
    if not compared or not findings.metrics:
        return
    if len(findings.report.cases) == 1:
        yield f"{ONE_CASE}. {more_cases(findings.report.cases[0])}"
        return
    same, unknown, within = [], [], _chances_within(findings)
    sources = {source_of(case) for case in findings.report.cases}
    available = cases_of_source(*sources) if len(sources) == 1 else None
    verdicts: dict[tuple[str, str], _Verdict] = {}
    for metric in findings.distinct_metrics:
        title = metric_named(metric).title
        found = {at: _verdict(findings, at, metric, within, available) for at in compared}
        of_metric = {at: verdict for at, verdict in found.items() if verdict is not None}
        verdicts |= {(at, metric): verdict for at, verdict in of_metric.items()}
        if parts := [f"{at} {verdict.words}" for at, verdict in of_metric.items() if verdict.words]:
            yield f"{title}, against {findings.report.baseline}: {'; '.join(parts)}."
        elif of_metric:
            same.append(title)
        else:
            unknown.append(title)
    if same:
        yield f"The same in every setting: {', '.join(same)}."
    if unknown:
        yield f"Not compared, without a figure in the same case of {findings.report.baseline}: {', '.join(unknown)}."
    yield from _method(findings)
    for setting in compared:
        yield from _on_variety(findings, setting, verdicts)


@dataclass(frozen=True)
class _Verdict:
    """What is found of a difference: in words behind its setting, empty if it is 0, and for the sentence on variety."""

    words: str
    on_variety: str


def _verdict(
    findings: Findings,
    setting: str,
    metric: str,
    within: Mapping[tuple[str, str], float | None],
    available: int | None,
) -> _Verdict | None:
    """Return the verdict on the difference of a setting to the baseline; `None` if no case has it."""
    found = findings.difference(setting, metric)
    if found is None or found.value is None:
        return None
    if not any(abs(of_case) > ROUNDING for of_case in found.by_case.values()):
        return _Verdict("", "the same")
    size, adjusted = _with_interval(found, _DIFFERENCE), findings.p_adjusted.get((setting, metric))
    measure, direction = metric_named(metric), "higher" if found.value > 0 else "lower"
    varied = "more" if measure.more_varied == direction else "less"
    shown = f"{direction} ({varied} varied)" if measure.more_varied else direction
    if adjusted is None:  # no test is possible
        where = "by the same in every case" if found.cases > 1 else "in the only case that has it"
        return _Verdict(f"is {shown} {where}, {size}", f"{varied}, without a test,")
    if adjusted <= ALPHA:
        there = _control_difference(findings, setting, metric, found)
        if there is None:
            return _Verdict(f"is {shown}, {size}", varied)
        beside = f"than the control: {_with_interval(there, _DIFFERENCE)}"
        if _exceeds(found, there):
            return _Verdict(f"is {shown}, {size}, more {beside}", varied)
        return _Verdict(f"is {shown}, {size}, but no more {beside}", f"{varied}, but no more so than the control,")
    chance = within.get((setting, metric))
    if chance is not None and chance <= ALPHA / 2:  # so that the interval lies within the margin
        return _Verdict(f"differs by less than {measure.least:g}, {size}", f"less than {measure.least:g} apart")
    if chance is not None and not excludes_zero(found) and _is_within(found, measure.least):
        return _Verdict(f"is within {measure.least:g}, but not among so many comparisons, {size}", "undecided")
    among = " among so many comparisons" if excludes_zero(found) else ""
    return _Verdict(f"is undecided{among}, {size}{_would_decide(found, adjusted, available)}", "undecided")


def _on_variety(findings: Findings, setting: str, verdicts: Mapping[tuple[str, str], _Verdict]) -> Iterator[str]:
    """Yield whether a setting is more varied than the baseline, by all measures of variety that were compared."""
    titles: dict[str, list[str]] = {}
    for (at, metric), verdict in verdicts.items():
        if at == setting and metric_named(metric).more_varied:
            titles.setdefault(verdict.on_variety, []).append(metric_named(metric).title)
    if not titles:
        return
    parts = [f"{verdict} by {', '.join(found)}" for verdict, found in sorted(titles.items())]
    if len(titles) == 1 and (count := len(*titles.values())) > 1:
        parts = [f"{next(iter(titles))} by {'both' if count == 2 else f'all {count}'} measures"]
    yield f"Variety at {setting}, against {findings.report.baseline}: {'; '.join(parts)}."


def _is_within(found: Contrast, least: float | None) -> bool:
    """Return whether the interval by itself lies within the margin."""
    if least is None or found.ci_low is None or found.ci_high is None:
        return False
    return -least < found.ci_low and found.ci_high < least


def _would_decide(found: Contrast, adjusted: float, available: int | None) -> str:
    """Return how many trials or cases decide a difference of that true size, every second time; empty if not known.

    Args:
        available: The cases of the only source; `None` for several sources, or if that is not known.
    """
    level = ALPHA * found.p / adjusted if found.p and adjusted else ALPHA  # that it has among all that are shown
    needed = trials_that_decide(found, 1 - level)
    if needed is None:
        return ""
    ways = [f"{_rounded(needed.trials)} trials of each case"] if needed.trials_known and needed.trials else []
    if available is not None and (needed.cases is None or needed.cases > available):
        ways.append(f"more cases than the {available} that there are")
    elif needed.cases is not None:
        ways.append(f"{_rounded(needed.cases)} cases")
    if not ways:
        return ""
    return f"; if the true difference is this large, {', or '.join(ways)} would find it half the time"


def _rounded(number: int) -> str:
    """Return a number in words, above 99 to two digits."""
    return str(number) if number < 100 else f"about {round(number, 2 - len(str(number))):,}"


def _chances_within(findings: Findings) -> dict[tuple[str, str], float | None]:
    """Return, by setting and metric, the chance of a difference so near 0 if the true one were as large as its margin.

    It is the larger of both sides, adjusted among all of them; `None` for metrics without a margin, and for fewer than
    `_LEAST_CASES` cases.
    """
    places = [(setting, metric) for metric in findings.distinct_metrics for setting in findings.rows]
    chances: list[float | None] = []
    for place in places:
        found, least = findings.difference(*place), metric_named(place[1]).least
        sides = []
        if found is not None and least is not None and found.cases >= _LEAST_CASES:
            sides = [found.p_below(least), found.p_above(-least)]
        known = [side for side in sides if side is not None]
        chances.append(max(known, default=None))
    return dict(zip(places, holm(chances), strict=True))


# --- the control ----------------------------------------------------------------------------------------------------


def _control(findings: Findings) -> Figures | None:
    """Return the figures of the control; `None` without one: a rehearsal is its own."""
    return None if findings.rehearsed else findings.control


def _control_difference(findings: Findings, setting: str, metric: str, found: Contrast) -> Contrast | None:
    """Return the difference that the control has, too; `None` if it has none in the same direction."""
    control = _control(findings)
    there = None if control is None else difference_of(control, setting, findings.report.baseline, metric)
    if there is None or there.p is None or there.p > ALPHA or (there.value or 0) * (found.value or 0) <= 0:
        return None
    return there


def _exceeds(found: Contrast, there: Contrast) -> bool:
    """Return whether a difference is larger than the control's in the same direction, by the cases of both."""
    sign = 1 if (there.value or 0) > 0 else -1
    shared = found.by_case.keys() & there.by_case.keys()
    excess = contrast_of_cases(
        {case: sign * (found.by_case[case] - there.by_case[case]) for case in shared}, found.source_of_case
    ).p_above()
    return excess is not None and excess <= ALPHA / 2


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
        f"Higher or lower: tested at 5 % for {among} (Holm), by Student's t over {counted(cases, 'case')} of {of}. "
        "The result holds for such cases, and says nothing of others. Intervals are 95 %, of each by "
        f"itself{_without_interval(findings)}. Undecided does not mean equal.{_chosen_after(findings)}"
    )
    if _control(findings) is not None:
        yield (
            "Control: the same conversations of a stand-in without weights, which takes up words of its prompt and "
            "knows no language. A difference that it has, too, comes from the measure or the prompt."
        )


def _chosen_after(findings: Findings) -> str:
    """Return that these measures were not planned, as a further sentence; empty for all, or if the plan named them."""
    planned = {*re.findall(r"[\w@:]+", findings.plan)}  # its question may name them
    metrics = {*findings.report.metrics}
    if not findings.is_own or metrics >= {*METRICS} or planned >= metrics:
        return ""
    name = shell_argument(findings.results.experiment.name)
    return f" These measures were chosen after the conversations; with all of them: tertulia lab compare {name}."


def _without_interval(findings: Findings) -> str:
    """Return why some means have no interval, as the rest of a sentence; empty if all have one."""
    means = [findings.mean(setting, metric) for setting in findings.rows for metric in findings.distinct_metrics]
    if all(mean.value is None or mean.ci_low is not None for mean in means):
        return ""
    return "; a mean without one is of one case, or the same in every case"


def _with_interval(found: CaseMean, column: Column = _NUMBER) -> str:
    interval = interval_of(found)
    shown = shown_cell(found.value, column)
    return shown if interval is None else f"{shown} {shown_cell(interval, column)}"
