"""Plots of a report as SVG: readable in print, and without telling colours apart.

The same figure makes the same file. Words stay words in it, so that they can be searched, and are drawn in any script.
"""

import io
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from tertulia.lab.pages.page import Figure, Panel, Point, Series
from tertulia.state.optional import importing
from tertulia.state.text import clean, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


class _Style(NamedTuple):
    """Line, marker, colour and hatching of a series: each tells it apart by itself."""

    line: Any
    marker: str
    color: str
    hatch: str


#: Colours that stay apart without full sight of colours (Okabe and Ito 2008), dark enough for paper.
STYLES = (
    _Style("-", "o", "#000000", ""),
    _Style("--", "s", "#0072b2", "///"),
    _Style("-.", "^", "#d55e00", "..."),
    _Style(":", "D", "#009e73", "xxx"),
    _Style((0, (5, 1, 1, 1, 1, 1)), "v", "#cc79a7", "\\\\\\"),
    _Style((0, (8, 2)), "P", "#e69f00", "ooo"),
    _Style((0, (1, 3)), "X", "#56b4e9", "+++"),
    _Style((0, (3, 1, 1, 1)), "*", "#7f7f7f", "---"),
    _Style((0, (6, 1, 2, 1)), "<", "#7a4419", "||"),
)

#: A paper's values: lighter, and hollow.
PUBLISHED = "#666666"

#: The size of a panel in inches.
_WIDTH, _HEIGHT = 3.0, 2.3

#: The least size in inches of a figure with a title and one panel.
_ALONE = 5.0, 3.4

#: The size of letters in points.
FONT_SIZE = 8

#: Most characters of a label, and the width of one in points.
_LABEL, _LETTER = 32, 5

_SETTINGS: Any = {
    "svg.hashsalt": "tertulia",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": FONT_SIZE,
    "hatch.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def check_plots() -> None:
    """Refuse to plot if matplotlib is not installed.

    Raises:
        UsageError: It is not.
    """
    with importing("matplotlib", "lab", "plots"):
        import matplotlib  # noqa: F401


def file_of(figure: Figure) -> str:
    """Return the name of the file that a figure is drawn into."""
    return f"{figure.name}.svg"


def drawn(figure: Figure, is_titled: bool = True) -> str:
    """Return a figure as SVG, with its title above it unless the page has that.

    Raises:
        UsageError: matplotlib is not installed.
    """
    import matplotlib

    canvas = canvas_of(figure, is_titled=is_titled)
    written = io.StringIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the file's viewer has its own fonts
        canvas.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def drawn_panels(figure: Figure) -> list[str]:
    """Return each panel as an SVG of its own, without the title, so that a page can wrap them.

    Raises:
        UsageError: matplotlib is not installed.
    """
    return [drawn(replace(figure, panels=[panel]), is_titled=False) for panel in figure.panels]


def canvas_of(figure: Figure, kind: "type[Canvas] | None" = None, is_titled: bool = True) -> "Canvas":
    """Return a figure as one of matplotlib; its title is above it, in lines as wide as it is.

    Args:
        kind: Its class; that of matplotlib by default.

    Raises:
        UsageError: matplotlib is not installed.
    """
    check_plots()
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(_SETTINGS):
        columns = min(figure.columns, len(figure.panels))
        lines = -(-len(figure.panels) // columns)
        is_alone = is_titled and len(figure.panels) == 1
        width, height = max(_width(figure), _ALONE[0] if is_alone else 0), _ALONE[1] if is_alone else _HEIGHT
        canvas = (kind or Canvas)(figsize=(width * columns, height * lines), layout="constrained")
        axes = canvas.subplots(lines, columns, squeeze=False).flat
        for panel, axis in zip(figure.panels, axes, strict=False):
            _draw(axis, panel)
        for axis in axes:  # places that are left
            axis.axis("off")
        letters = int(72 * canvas.get_figwidth() / _LETTER)
        handles = {label: handle for axis in canvas.axes for handle, label in _legend(axis)}
        if len(handles) > 1:
            entries = max(1, min(len(handles), letters // (max(map(len, handles)) + 8)))
            place: Any = "outside lower left" if is_titled else "outside upper left"
            canvas.legend(handles.values(), handles, loc=place, ncols=entries, frameon=False)
        if is_titled:
            canvas.suptitle(_lines(figure.title.replace(" %", "\N{NO-BREAK SPACE}%"), letters), fontsize=FONT_SIZE)
    return canvas


def _width(figure: Figure) -> float:
    """Return the width of a panel: bars need room for the labels below them."""
    most = max((len(_categories(panel)) for panel in figure.panels if panel.kind == "bars"), default=0)
    return max(_WIDTH, 0.55 * most + 0.8)


def _legend(axis: "Axes") -> list[tuple[Any, str]]:
    return list(zip(*axis.get_legend_handles_labels(), strict=True))


def _draw(axis: "Axes", panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    for place, series in enumerate(panel.series):
        style = STYLES[(place if series.style is None else series.style) % len(STYLES)]
        if panel.kind == "bars":
            _bars(axis, panel, place, style)
        else:
            _line(axis, series, style, panel.interval == "band")
    axis.set_title(_lines(panel.title, _LABEL))
    axis.set_xlabel(_lines(panel.x_title, _LABEL))
    axis.set_ylabel(_lines(panel.y_title, _LABEL))
    if panel.has_zero:
        axis.axhline(0, color=PUBLISHED, linewidth=0.8, zorder=0)
    low, high = panel.y_range
    axis.set_ylim(bottom=max(axis.get_ylim()[0], panel.least) if low is None else low, top=high)
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _line(axis: "Axes", series: Series, style: _Style, is_band: bool) -> None:
    """Draw points over numbers, joined if none is missing between them."""
    color = PUBLISHED if series.published else style.color
    _cases(axis, [(float(point.x), point) for point in series.points], color)
    axis.plot(
        [point.x for point in series.points],
        [nan if point.y is None else point.y for point in series.points],
        label=_label(series.name),
        linestyle=":" if series.published else style.line,
        marker=style.marker,
        color=color,
        markerfacecolor="none" if series.published else color,
        markersize=3.5,
        linewidth=1,
    )
    _intervals(axis, [(float(point.x), point) for point in series.points], color, is_band)


def _cases(axis: "Axes", points: Sequence[tuple[float, Point]], color: str) -> None:
    """Draw the cases of points at these places, small."""
    cases = [(x, value) for x, point in points for value in point.cases]
    if cases:
        axis.scatter([x for x, _ in cases], [y for _, y in cases], s=9, color=color, alpha=0.45, linewidths=0)


def _intervals(axis: "Axes", points: Sequence[tuple[float, Point]], color: str, is_band: bool = False) -> None:
    """Draw the intervals of points at these places, as bars with ends, or as a band."""
    bounds = [
        (x, point.low, point.high)
        for x, point in points
        if point.y is not None and point.low is not None and point.high is not None
    ]
    xs, lows, highs = ([bound[part] for bound in bounds] for part in range(3))
    if is_band:
        axis.fill_between(xs, lows, highs, alpha=0.15, linewidth=0, color=color)
        return
    axis.vlines(xs, lows, highs, color=color, linewidth=0.9)
    for ends in (lows, highs):
        axis.plot(xs, ends, linestyle="none", marker="_", markersize=4, color=color)


def _bars(axis: "Axes", panel: Panel, place: int, style: _Style) -> None:
    """Draw the bars of a series, each next to those of the other series over the same category."""
    series, categories = panel.series[place], _categories(panel)
    width = 0.8 / len(panel.series)
    known = [
        (categories.index(point.x) - 0.4 + width * (place + 0.5), point)
        for point in series.points
        if point.y is not None
    ]
    color = PUBLISHED if series.published else style.color
    axis.bar(
        [x for x, _ in known],
        [point.y or 0.0 for _, point in known],
        width * 0.92,
        label=_label(series.name),
        facecolor="none" if series.published else lighter(color),
        edgecolor=color,
        hatch="" if series.published else style.hatch,
        linewidth=0.8,
        linestyle=":" if series.published else "-",
    )
    _cases(axis, known, "#000000")
    _intervals(axis, known, "#000000")
    labels = [_label(str(category)) for category in categories]
    slanted = any(len(label) > 6 for label in labels)
    axis.set_xticks(range(len(categories)), labels, rotation=35 if slanted else 0, ha="right" if slanted else "center")


def lighter(color: str) -> str:
    """Return a colour `#rrggbb` mixed with twice as much white, on which hatching can be seen."""
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round((part + 510) / 3):02x}" for part in parts)


def _categories(panel: Panel) -> list[float | str]:
    return list(dict.fromkeys(point.x for series in panel.series for point in series.points))


def _label(text: str) -> str:
    """Return text of any origin as a short label; matplotlib passes over those that begin with `_`."""
    shown = _sendable(shortened(clean(text), _LABEL))
    return f" {shown}" if shown.startswith("_") else shown


def _lines(text: str, letters: int) -> str:
    """Return text of any origin in lines of at most so many letters."""
    return _sendable("\n".join(textwrap.wrap(clean(text), letters)))


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
