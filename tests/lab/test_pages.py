"""Pages of the laboratory: what texts hold can't break them, and every form says the same."""

import csv
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

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
    shown_cell,
)
from tertulia.lab.pages.page_data import csv_lines, frame, write_parquet
from tertulia.lab.pages.page_files import check_report_folder, write_page
from tertulia.lab.pages.page_html import html_page
from tertulia.lab.pages.page_markdown import markdown
from tertulia.lab.pages.plots import drawn, drawn_panels
from tertulia.state.errors import UsageError

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
            Commands(["tertulia lab report table2 --quick"]),
        ],
        [
            Section(EVIL, [Paragraph(f"1. {EVIL}"), Paragraph("- no list"), TABLE, LINES]),
            Section("More", [Items([("model", EVIL), (None, "2) plain")]), BARS, Paragraph("")]),
        ],
    )


CALLED = {"a", "img", "link", "script", "iframe", "object", "embed", "base", "form"}


class Seen(HTMLParser):
    """The elements, ids, addresses and words of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "action"):
                self.addresses.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words += data


def seen(page: Page) -> Seen:
    parser = Seen()
    parser.feed("\n".join(html_page(page, {figure.name: drawn_panels(figure) for figure in page.figures()})))
    return parser


def test_an_html_page_has_its_plots_in_it_and_asks_for_nothing() -> None:
    found = seen(a_page())
    assert found.tags.count("svg") == 3  # a panel each, so that they wrap
    assert not CALLED & set(found.tags)
    assert all(address.startswith("#") for address in found.addresses)
    assert len(found.ids) == len(set(found.ids))  # ids of one plot are not those of another
    assert "<script>alert(1)</script>" in found.words  # as words
    text = "\n".join(html_page(a_page(), {}))
    assert "default-src 'none'" in text
    assert "@media print" in text
    assert "<svg" not in text


def test_a_markdown_page_shows_texts_as_they_are() -> None:
    text = "\n".join(markdown(a_page(), {"curve": "curve.svg"}))
    html = MarkdownIt().enable("table").render(text)
    assert "<script>" not in html
    assert html.count("<h2>") == 2
    assert html.count("<tr>") == 1 + len(TABLE.rows)
    assert "<ol>" not in html  # what begins like a list stands in a paragraph
    assert html.count('src="curve.svg"') == 1
    assert "blocks.svg" not in text  # a figure without a file
    assert text.startswith("# A sample\n\n> **Rehearsed")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_name_stays_one_cell_of_a_table(name: str) -> None:
    table = Table("t", "t", (Column("a", "a"), Column("b", "b")), [(name, "x")])
    html = MarkdownIt().enable("table").render("\n".join(markdown(Page("p", "p", [table]), {})))
    assert html.count("<td>") == 2
    assert "<td>x</td>" in html


@pytest.mark.parametrize("start", ["- a", "1. a", "12) a", "# a", "> a", "+ a", "=== a", "| a", "    a"])
def test_a_paragraph_begins_no_other_block(start: str) -> None:
    html = MarkdownIt().enable("table").render("\n".join(markdown(Page("p", "p", [Paragraph(start)]), {})))
    assert html.splitlines()[1] == f"<p>{start.strip().replace('>', '&gt;')}</p>"


def test_cells_are_rounded_on_pages_and_whole_in_data() -> None:
    number, difference = Column("a", "a", "number"), Column("d", "d", "difference", 2)
    assert shown_cell(0.79149, number) == "0.791"
    assert shown_cell(-0.0004, number) == "0.000"
    assert shown_cell(-1.5, number) == "−1.500"
    assert shown_cell(0.126, difference) == "+0.13"
    assert shown_cell(-0.126, difference) == "−0.13"
    assert shown_cell(0.001, difference) == "0.00"
    assert shown_cell(None, number) == "–"
    assert shown_cell((0.1, -0.25), Column("i", "i", "interval")) == "[0.100, −0.250]"
    rows = list(csv.DictReader(csv_lines(TABLE)))
    assert (rows[0]["sim"], rows[0]["interval_low"], rows[0]["difference"]) == ("0.79149", "0.75", "")
    assert rows[1]["interval_high"] == ""


def test_parquet_has_the_types_of_the_columns(tmp_path: Path) -> None:
    import pandas

    write_parquet(TABLE, tmp_path / "t.parquet")
    read = pandas.read_parquet(tmp_path / "t.parquet")
    assert list(read.columns) == ["setting", "sim", "interval_low", "interval_high", "difference", "n"]
    assert read["sim"][0] == 0.79149
    assert read["sim"].isna().tolist() == [False, False, True]
    assert read["n"].tolist() == [20, 3, 0]
    assert read["n"].dtype == "int64" or read["n"].dtype == "Int64"
    assert frame(Table("e", "e", TABLE.columns, [])).dtypes["sim"] == "float64"


def test_series_differ_in_more_than_their_colour() -> None:
    series = [Series(f"s{number}", [Point(0, number), Point(1, number)]) for number in range(8)]
    drawing = drawn(Figure("many", "many", [Panel("", "", "", series)]))
    lines = re.findall(r'<g id="line2d_\d+">\s*<path d="[^"]*" clip-path="[^"]*" style="(fill: none; [^"]*)"', drawing)
    dashes = {re.sub("stroke: #[0-9a-f]+", "", line) for line in lines}
    bars = drawn(Figure("bars", "bars", [Panel("", "", "", [Series(s.name, [Point("a", 1)]) for s in series], "bars")]))
    assert len(dashes) == len(lines) == 8
    assert bars.count("<pattern") >= 7


def test_files_of_a_page_are_written_again_to_the_same_bytes(tmp_path: Path) -> None:
    page = a_page()
    first = write_page(page, {"experiment": "x"}, tmp_path)
    before = {file.name: file.read_bytes() for file in first}
    again = write_page(page, {"experiment": "x"}, tmp_path)
    assert {file.name: file.read_bytes() for file in again} == before
    assert {"sample.md", "sample.html", "sample.json", "sample_curve.svg", "sample_figures.csv"} <= set(before)
    assert {file.suffix for file in first} == {".md", ".html", ".json", ".svg", ".csv", ".parquet"}
    assert EVIL[:20] in (tmp_path / "sample_figures.csv").read_text()


def test_only_the_same_report_is_overwritten_unasked(tmp_path: Path) -> None:
    store = tmp_path / "tertulia.db"
    folder = tmp_path / "out"
    check_report_folder(folder, "sample", "x", store)
    write_page(a_page(), {"experiment": "x"}, folder)
    check_report_folder(folder, "sample", "x", store)
    with pytest.raises(UsageError, match=r"sample\.md exists already"):
        check_report_folder(folder, "sample", "y", store)
    check_report_folder(folder, "sample", "y", store, force=True)
    (folder / "sample.json").write_text("[]")
    with pytest.raises(UsageError, match=r"sample\.md exists already"):
        check_report_folder(folder, "sample", "x", store)
    with pytest.raises(UsageError, match="this is a file"):
        check_report_folder(folder / "sample.md", "sample", "x", store)


@pytest.mark.parametrize(("module", "named"), [("matplotlib", "plots need"), ("pyarrow", "Parquet files need pyarrow")])
def test_what_is_not_installed_is_named_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, named: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=named) as raised:
        check_report_folder(tmp_path / "out", "sample", "x", tmp_path / "tertulia.db")
    assert "pip install --editable '.[lab]'" in str(raised.value)
