"""Plots of two album chats over the rounds: both settings in each, readable without colours."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.album import AlbumComparison, Row
from metrics.album import FIGURES
from state.errors import UsageError, extra_hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: By file, the figures that it has a row of plots for, each with a column for every call that has it.
PLOTS = {
    "texts.svg": ("len", "dist2", "dist2_equal", "sim"),
    "exchanges.svg": ("names_partner", "asked_before", "chosen_before", "most_chosen", "distinct_pictures"),
}

#: What a figure is called at its axis.
_NAMES = {
    "len": "words per text",
    "dist2": "dist-2",
    "dist2_equal": "dist-2, equal length",
    "sim": "sim",
    "names_partner": "names the partner",
    "asked_before": "asked before",
    "chosen_before": "chosen before",
    "most_chosen": "most chosen picture",
    "distinct_pictures": "distinct pictures",
}

#: Line, marker and colour of each setting: told apart in print, and by who can't tell colours apart.
_STYLES: dict[str, dict[str, Any]] = {
    "low": {"linestyle": "-", "marker": "o", "color": "#000000"},
    "high": {"linestyle": "--", "marker": "s", "color": "#0072b2"},
}

#: Plots beside each other, and the size of each in inches.
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.3, 2.2


def check_plots() -> None:
    """Refuse to plot where matplotlib is not installed.

    Raises:
        UsageError: It is not.
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError(f"plots need matplotlib, which is not installed; run: {extra_hint('lab')}") from None


def write_plots(compared: AlbumComparison, folder: Path) -> list[str]:
    """Draw the figures over the rounds into files of a folder, and return their names.

    Raises:
        UsageError: matplotlib is not installed.
        OSError: A file can't be written.
    """
    check_plots()
    import matplotlib
    from matplotlib.figure import Figure

    # The same figures make the same file: no date, and no ids that are drawn.
    with matplotlib.rc_context({"svg.hashsalt": "tertulia", "font.size": 8, "axes.spines.top": False}):
        for name, figures in PLOTS.items():
            panels = [(call, figure) for figure in figures for call in FIGURES if figure in FIGURES[call]]
            lines = -(-len(panels) // _COLUMNS)
            drawn = Figure(figsize=(_WIDTH * _COLUMNS, _HEIGHT * lines), layout="constrained")
            axes = drawn.subplots(lines, _COLUMNS, squeeze=False).flat
            for (call, figure), axis in zip(panels, axes, strict=False):
                _draw(axis, compared, call, figure)
            for axis in axes:  # places that are left
                axis.axis("off")
            drawn.legend(*drawn.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
            drawn.savefig(folder / name, metadata={"Date": None})
    return [*PLOTS]


def _draw(axis: "Axes", compared: AlbumComparison, call: str, figure: str) -> None:
    """Draw a figure of a call over the rounds."""
    from matplotlib.ticker import MaxNLocator

    rows = [row for row in compared.rounds if (row.call, row.figure) == (call, figure)]
    for side, title in zip(("low", "high"), compared.titles, strict=True):
        _line(axis, rows, side, title)
    axis.set_title(f"{call}: {_NAMES[figure]}")
    axis.set_xlabel("round")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.spines["right"].set_visible(False)
    if figure not in ("len", "sim", "distinct_pictures"):
        axis.set_ylim(0, 1.05)
    elif figure != "sim":
        axis.set_ylim(bottom=0)


def _line(axis: "Axes", rows: Sequence[Row], side: str, title: str) -> None:
    estimates = [(row.round, getattr(row, side)) for row in rows]
    known = [(round, found) for round, found in estimates if round is not None and found.value is not None]
    rounds = [round for round, _ in known]
    axis.plot(rounds, [found.value for _, found in known], label=title, markersize=3, linewidth=1, **_STYLES[side])
    banded = [(round, found) for round, found in known if found.ci_low is not None]
    lows, highs = [found.ci_low for _, found in banded], [found.ci_high for _, found in banded]
    within = [round for round, _ in banded]
    axis.fill_between(within, lows, highs, alpha=0.15, linewidth=0, color=_STYLES[side]["color"])
