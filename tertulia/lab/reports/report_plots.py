"""The plots of a report: curves with intervals, figures over simulated time or by index, or bars with the paper's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from tertulia.lab.pages.page import Figure, Panel, Point, Series
from tertulia.lab.reports.differences import has_intervals
from tertulia.lab.reports.papers import Curve, Efficient, metric_named
from tertulia.lab.reports.report import Findings

#: The name of the published figures in a legend.
_PAPER = "paper"

#: Parameters by the letters of the papers.
SYMBOLS = {"removal_factor": "λ", "context_strength": "α"}


def report_plots(findings: Findings) -> list[Figure]:
    """Return the figures of a report, to be drawn; their titles say how they are read, and whether it was rehearsed.

    Of a user's experiment, measures that are the same in every setting are left out.
    """
    metrics = _differing(findings) if findings.is_own else findings.metrics
    plots = _plots(findings, metrics) if metrics else []
    return [_warned(findings, plot) for plot in plots]


def _warned(findings: Findings, plot: Figure) -> Figure:
    warning = "Rehearsed, so that the figures mean nothing. " if findings.rehearsed else ""
    return replace(plot, title=f"{warning}{plot.title}")


def _differing(findings: Findings) -> list[str]:
    """Return the measures that differ between settings in any case; of one setting, all."""

    def differs(metric: str) -> bool:
        samples = [findings.figures.get(setting, {}).get(metric, {}) for setting in findings.rows]
        figures = [{case: figure.value for case, figure in sample.items()} for sample in samples]
        return len(figures) == 1 or any(other != figures[0] for other in figures[1:])

    return [metric for metric in findings.distinct_metrics if differs(metric)]


def _plots(findings: Findings, metrics: Sequence[str]) -> list[Figure]:
    plots = []
    on_curves = {setting for curve in findings.report.curves.values() for _, setting in curve.points}
    if findings.report.curves and not _x_title(findings):
        plots += [*_efficiencies(findings)]
    elif findings.report.curves:
        panels = [_curves(findings, metric) for metric in metrics]
        plots.append(Figure("curves", f"Means over cases along {_x_title(findings)}, {_read(findings)}", panels))
        plots += [*_efficiencies(findings)]
    elif findings.report.over_time:
        panels = [_over_time(findings, metric) for metric in metrics]
        plots.append(Figure("over_time", "The figures of every case, at the simulated time at which it begins", panels))
    if findings.report.by_index and findings.longest:
        panels = [_by_index(findings, metric) for metric in metrics]
        plots.append(Figure("by_index", f"Means over cases by utterance index, {_read(findings)}", panels))
    if any(":" in metric for metric in metrics):
        title = f"By person, or pole of a trait, {_read(findings)}"
        plots.append(Figure("people", title, [*_people(findings)], columns=2))
    settings = [setting for setting in findings.rows if setting not in on_curves]
    whole = [metric for metric in metrics if ":" not in metric and _is_measured(findings, metric, settings)]
    if settings and whole:
        shown = settings if not on_curves else list(dict.fromkeys((findings.report.baseline, *settings)))
        panels = [_bars(findings, metric, shown) for metric in whole]
        columns = 3 if len(shown) <= 6 else 2
        plots.append(Figure("bars", f"Means over cases by setting, {_read(findings)}", panels, columns))
    if findings.is_own and len(findings.rows) > 1 and has_intervals(findings):
        is_curve = {*findings.rows} <= on_curves and bool(_x_title(findings))
        panels = [_differences(findings, metric, is_curve) for metric in metrics if ":" not in metric]
        title = f"Differences to {findings.report.baseline}, paired by case, {_read(findings)}"
        plots += [Figure("differences", title, panels)] if panels else []
    return plots


def metric_plot(findings: Findings, metric: str) -> Figure:
    """Return the figure of one metric: along a number that differs between settings, or setting by setting."""
    is_curve = bool(findings.report.curves and _x_title(findings))
    panel = _curves(findings, metric) if is_curve else _bars(findings, metric, findings.rows)
    title = f"Means over cases, {_read(findings)}"
    return _warned(findings, Figure(metric, title, [replace(panel, title="", y_title=panel.title)]))


def _read(findings: Findings) -> str:
    """Return how lines and points of a plot are read: beside published figures cases are not drawn."""
    return f"{_intervals(findings)}{'' if findings.report.published else '; small points: cases'}"


def _intervals(findings: Findings) -> str:
    """Return the meaning of the lines at bars and points; of one case there are none."""
    return "with 95 % intervals" if has_intervals(findings) else "of one case, so without intervals"


def _is_measured(findings: Findings, metric: str, settings: Sequence[str]) -> bool:
    """Whether any of these settings has a figure: some are measured along curves alone."""
    return any(findings.mean(setting, metric).value is not None for setting in settings)


def _point(findings: Findings, setting: str, metric: str, x: float | str) -> Point:
    found = findings.mean(setting, metric)
    sample = {} if findings.report.published else findings.figures.get(setting, {}).get(metric, {})
    return Point(x, found.value, found.ci_low, found.ci_high, [figure.value for figure in sample.values()])


def _curves(findings: Findings, metric: str) -> Panel:
    """Return a metric along every curve of settings, with published points."""
    here = [
        Series(label, [_point(findings, setting, metric, x) for x, setting in curve.points], style=number)
        for number, (label, curve) in enumerate(findings.report.curves.items())
    ]
    paper = [
        Series(f"{label}, {_PAPER}", points, published=True, style=number)
        for number, (label, curve) in enumerate(findings.report.curves.items())
        if (points := _published(findings, metric, curve))
    ]
    return _panel(metric, _x_title(findings), [*here, *paper])


def _panel(metric: str, x_title: str, series: Sequence[Series]) -> Panel:
    """Return the panel of a measure; its axis begins at 0 or above if the measure can't be negative."""
    known = metric_named(metric)
    return Panel(known.title, x_title, "", series, least=0 if known.bounds[0] >= 0 else -inf)


def _differences(findings: Findings, metric: str, is_curve: bool) -> Panel:
    """Return the paired differences of a metric to the baseline, which is 0 on a curve and left out of categories."""

    def point(setting: str, x: float | str) -> Point:
        found = findings.difference(setting, metric)
        if found is None:
            return Point(x, 0.0 if setting == findings.report.baseline else None)
        return Point(x, found.value, found.ci_low, found.ci_high, [*found.by_case.values()])

    if is_curve:
        series = [
            Series(label, [point(setting, x) for x, setting in curve.points], style=number)
            for number, (label, curve) in enumerate(findings.report.curves.items())
        ]
        return Panel(metric_named(metric).title, _x_title(findings), "", series, has_zero=True)
    compared = [setting for setting in findings.rows if setting != findings.report.baseline]
    series = [Series("here", [point(setting, setting) for setting in compared], style=1)]
    return Panel(metric_named(metric).title, "", "", series, "bars", has_zero=True)


def _x_title(findings: Findings) -> str:
    """Return the parameter that all curves run along; empty if each has its own."""
    settings = findings.report.settings
    points = [point for curve in findings.report.curves.values() for point in curve.points]
    names = dict.fromkeys(name for _, setting in points for name in settings[setting])
    along = [name for name in names if all(settings[setting].get(name) == x for x, setting in points)]
    return ", ".join(SYMBOLS.get(name, name) for name in along)


def _published(findings: Findings, metric: str, curve: Curve) -> list[Point]:
    figures = [(x, findings.published(setting, metric)) for x, setting in curve.points]
    return [Point(x, figure) for x, figure in figures if figure is not None]


def _efficiencies(findings: Findings) -> Iterator[Figure]:
    """Yield curves over another metric, if something was said of that; settings by themselves are points."""
    claims = [v.ordering.claim for v in findings.verdicts if isinstance(v.ordering.claim, Efficient)]
    wanted = list(dict.fromkeys((claim.position, claim.metric) for claim in claims))
    on_curves = {setting for curve in findings.report.curves.values() for _, setting in curve.points}
    compared = {setting for claim in claims for setting in (*claim.better, *claim.worse)} - on_curves
    points = {setting: Curve(points=((0.0, setting),)) for setting in findings.rows if setting in compared}
    panels = []
    for position, metric in wanted:
        series = [
            Series(label, [*_over(findings, curve, position, metric)], style=number)
            for number, (label, curve) in enumerate({**findings.report.curves, **points}.items())
        ]
        if any(each.points for each in series):
            panels.append(_panel(metric, metric_named(position).title, series))
    is_removal = all(position.startswith("removed_") for position, _ in wanted)
    title = "What is won against what is removed" if is_removal else f"Variety over quality, {_intervals(findings)}"
    if panels:
        yield Figure("efficiency", title, panels)


def _over(findings: Findings, curve: Curve, position: str, metric: str) -> Iterator[Point]:
    for _, setting in curve.points:
        x, found = findings.mean(setting, position).value, findings.mean(setting, metric)
        if x is not None:
            yield Point(x, found.value, found.ci_low, found.ci_high)


def _over_time(findings: Findings, metric: str) -> Panel:
    """Return the figure of every case at its time."""
    first = min(findings.times.values(), default=0.0)
    series = []
    for setting in findings.rows:
        sample = findings.figures.get(setting, {}).get(metric, {})
        points = [Point(findings.times[case] - first, figure.value) for case, figure in sample.items()]
        series.append(Series(setting, sorted(points, key=lambda point: point.x)))
    return _panel(metric, "hours since the first case", series)


def _by_index(findings: Findings, metric: str) -> Panel:
    series = [
        Series(setting, [_point(findings, setting, f"{metric}@{at}", float(at)) for at in range(findings.longest)])
        for setting in findings.rows
    ]
    return replace(_panel(metric, "utterance index", series), whole_x=True)


def _bars(findings: Findings, metric: str, settings: Sequence[str]) -> Panel:
    """Return a bar per setting, next to the paper's if it has one."""
    paper = [(setting, findings.published(setting, metric)) for setting in settings]
    here = Series("here", [_point(findings, setting, metric, setting) for setting in settings], style=1)
    published = Series(_PAPER, [Point(setting, figure) for setting, figure in paper], published=True)
    has_paper = any(figure is not None for _, figure in paper)
    return replace(_panel(metric, "", [published, here] if has_paper else [here]), kind="bars")


def _people(findings: Findings) -> Iterator[Panel]:
    """Yield people's behaviour, a panel per metric and a bar per person."""
    by_metric: dict[str, list[str]] = {}
    for metric in findings.metrics:
        base, by, person = metric.partition(":")
        if by:
            by_metric.setdefault(base, []).append(person)
    for base, people in by_metric.items():
        series = []
        for number, setting in enumerate(findings.rows):
            paper = [(person, findings.published(setting, f"{base}:{person}")) for person in people]
            if any(figure is not None for _, figure in paper):
                series.append(Series(_PAPER, [Point(person, figure) for person, figure in paper], published=True))
            points = [_point(findings, setting, f"{base}:{person}", person) for person in people]
            series.append(Series(setting, points, style=number + 1))
        yield replace(_panel(base, "", series), kind="bars")
