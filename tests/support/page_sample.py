"""A report with every block there is, and texts that try to break the page they stand in."""

from tertulia.lab.pages.page import (
    Column,
    Commands,
    Figure,
    Items,
    Page,
    Panel,
    Paragraph,
    Point,
    Section,
    Series,
    Table,
)

#: What a setting's or a case's name may hold.
EVIL = "</td><script>alert(1)</script> | x $y_{1}$ `c` 公园 http://evil.example/x.png \x1b[31m\ud800"

TABLE = Table(
    "figures",
    "Figures by setting",
    (
        Column("setting", "setting"),
        Column("sim", "sim", "number"),
        Column("interval", "95 % interval", "interval"),
        Column("difference", "minus Full", "difference", 2),
        Column("n", "n", "count"),
    ),
    [
        ("Full", 0.79149, (0.75, 0.8123456), None, 20),
        (EVIL, 0.5, None, -0.004, 3),
        ("none", None, None, 0.125, 0),
    ],
)

LINES = Figure(
    "curve",
    "dist-3 against λ",
    [
        Panel(
            "dist-3",
            "λ",
            "dist-3",
            [
                Series("here", [Point(0.0, 0.5, 0.45, 0.55), Point(0.5, 0.55, 0.5, 0.6), Point(1.0, None)]),
                Series(EVIL, [Point(0.0, 0.4, 0.35, 0.45), Point(0.5, 0.5), Point(1.0, 0.62, 0.5, 0.7)]),
                Series("_paper", [Point(0.0, 0.53), Point(0.5, 0.56), Point(1.0, 0.8)], published=True, style=0),
            ],
        ),
        Panel("by index", "utterance", "", [Series("here", [Point(0, 0.9), Point(1, 0.7)])], whole_x=True),
    ],
)

BARS = Figure(
    "blocks",
    "sim by removed block",
    [
        Panel(
            "sim",
            "",
            "sim",
            [
                Series("paper", [Point("Full", 0.791), Point("RMm", 0.736), Point("RMbmpe", 0.511)], published=True),
                Series("here", [Point("Full", 0.8, 0.7, 0.9), Point("RMm", 0.7, 0.6, 0.75), Point(EVIL, 0.6)]),
            ],
            kind="bars",
            y_range=(0, 1),
        )
    ],
)


def a_page() -> Page:
    """Return the page."""
    return Page(
        "sample",
        "A sample",
        [
            Paragraph("Rehearsed: nothing here means anything.", is_warning=True),
            Commands(["tertulia lab table2 --quick"]),
        ],
        [
            Section(EVIL, [Paragraph(f"1. {EVIL}"), Paragraph("- no list"), TABLE, LINES]),
            Section("More", [Items([("model", EVIL), (None, "2) plain")]), BARS, Paragraph("")]),
        ],
    )
