"""A metric of an experiment as a figure of matplotlib: means with intervals along an axis, and the cases as points."""

import io
from typing import TYPE_CHECKING

from tertulia.api.measuring import Measure, Measures
from tertulia.lab.experiments.axes import Axis
from tertulia.lab.pages.plots import STYLES, check_plots
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report_plots import SYMBOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width and height in inches.
_SIZE = 5.0, 3.4


def plotted(measures: Measures, metric: str, axis: Axis | None) -> "Figure":
    """Return a figure of a metric; without an axis the settings stand side by side.

    Raises:
        UsageError: matplotlib is not installed.
    """
    check_plots()
    figure = _figure()
    plot = figure.subplots()
    found = {measure.setting: measure for measure in measures if measure.metric == metric}
    if axis is None:
        places = {setting: float(at) for at, setting in enumerate(found)}
        plot.set_xticks([*places.values()], [*places], rotation=30 if len(places) > 3 else 0)
        _draw(plot, found, places, "", 0)
    else:
        for number, series in enumerate(dict.fromkeys(axis.series.values())):
            _draw(plot, found, {s: x for s, x in axis.values.items() if axis.series[s] == series}, series, number)
        plot.set_xlabel(SYMBOLS.get(axis.parameter, axis.parameter))
    plot.set_ylabel(metric_named(metric).title)
    rehearsed = "rehearsed, the figures mean nothing\n" if measures.is_rehearsed else ""
    plot.set_title(f"{rehearsed}means over cases, 95 % intervals; points: cases", fontsize=8)
    if plot.get_legend_handles_labels()[1]:
        plot.legend(frameon=False)
    return figure


def _draw(plot: "Axes", found: dict[str, Measure], places: dict[str, float], series: str, number: int) -> None:
    """Draw the settings of one line: means joined in the order of their places, intervals, and cases."""
    style = STYLES[number % len(STYLES)]
    ordered = [(x, found[setting]) for setting, x in sorted(places.items(), key=lambda place: place[1])]
    known = [(x, measure, measure.value) for x, measure in ordered if measure.value is not None]
    cases = [(x, value) for x, measure, _ in known for value in measure.by_case.values()]
    plot.scatter([x for x, _ in cases], [y for _, y in cases], s=16, color=style.color, alpha=0.45, linewidths=0)
    below = [value - (value if measure.ci_low is None else measure.ci_low) for _, measure, value in known]
    above = [(value if measure.ci_high is None else measure.ci_high) - value for _, measure, value in known]
    plot.errorbar(
        [x for x, *_ in known],
        [value for *_, value in known],
        yerr=[below, above],
        label=series or None,
        linestyle=style.line,
        marker=style.marker,
        color=style.color,
        markersize=4,
        linewidth=1,
        capsize=3,
    )


def _figure() -> "Figure":
    """Return an empty figure that a notebook shows whether or not it has loaded pyplot."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", dpi=110)
            return written.getvalue()

    return ShownFigure(figsize=_SIZE, layout="constrained")
