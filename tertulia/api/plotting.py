"""A metric of an experiment as a figure of matplotlib, as reports draw it."""

import io
from typing import TYPE_CHECKING

from tertulia.lab.pages.plots import canvas_of, check_plots
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.report_plots import metric_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plotted(findings: Findings, metric: str) -> "Figure":
    """Return a figure of a metric: means with intervals, and the cases as points.

    Raises:
        UsageError: matplotlib is not installed.
    """
    check_plots()
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that a notebook shows whether or not it has loaded pyplot."""

        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", dpi=110)
            return written.getvalue()

    return canvas_of(metric_plot(findings, metric), ShownFigure)
