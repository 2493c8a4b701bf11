"""Plots of two album chats over the rounds: both settings in each."""

from tertulia.lab.albums.album_comparison import AlbumComparison, Row
from tertulia.lab.pages.page import Figure, Panel, Point, Series
from tertulia.metrics.album import FIGURES

#: By name of a plot, the figures that it has a row of panels for, each with a column for every call that has it.
PLOTS = {
    "texts": ("len", "dist2", "dist2_equal", "without_sense", "repeated_lines", "sim"),
    "exchanges": (
        "names_partner",
        "asked_before",
        "names_picture",
        "chosen_before",
        "most_chosen",
        "distinct_pictures",
    ),
}

#: The name of a figure at its axis.
_NAMES = {
    "len": "words per text",
    "dist2": "dist-2",
    "dist2_equal": "dist-2, equal length",
    "without_sense": "without sense",
    "repeated_lines": "said before",
    "sim": "sim",
    "names_partner": "names the partner",
    "asked_before": "asked before",
    "names_picture": "names a picture",
    "chosen_before": "chosen before",
    "most_chosen": "most chosen picture",
    "distinct_pictures": "distinct pictures",
}


def album_plots(compared: AlbumComparison) -> list[Figure]:
    """Return the figures over the rounds, to be drawn."""
    return [
        Figure(
            name,
            f"Over the rounds: {', '.join(_NAMES[figure] for figure in figures)}",
            [_panel(compared, call, figure) for figure in figures for call in FIGURES if figure in FIGURES[call]],
        )
        for name, figures in PLOTS.items()
    ]


def _panel(compared: AlbumComparison, call: str, figure: str) -> Panel:
    rows = [row for row in compared.rounds if (row.call, row.figure) == (call, figure)]
    is_share = figure not in ("len", "sim", "distinct_pictures")
    return Panel(
        f"{call}: {_NAMES[figure]}",
        "round",
        "",
        [
            Series(title, [_point(row, side) for row in rows])
            for side, title in zip(("low", "high"), compared.titles, strict=True)
        ],
        interval="band",
        y_range=(None if figure == "sim" else 0, 1.05 if is_share else None),
        whole_x=True,
    )


def _point(row: Row, side: str) -> Point:
    estimate = getattr(row, side)
    return Point(row.round or 0, estimate.value, estimate.ci_low, estimate.ci_high)
