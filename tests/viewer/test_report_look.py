"""A report can be read by everybody, in both themes, and fetches nothing."""

import pytest
from playwright.sync_api import Page
from support.viewer_page import violations
from support.viewer_views import watched

from tertulia.lab.pages.page import Column, Commands, Figure, Items, Panel, Paragraph, Point, Section, Series, Table
from tertulia.lab.pages.page import Page as Report
from tertulia.lab.pages.page_html import html_page
from tertulia.lab.pages.plots import drawn_panels

_SMALLEST = """() => {
    const words = (element) => element.tagName === "text" || (!element.closest("svg") && element.textContent.trim());
    const shown = (element) => {
        const svg = element.closest("svg");
        const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
        return parseFloat(getComputedStyle(element).fontSize) * scale;
    };
    return Math.min(...[...document.querySelectorAll("main *")].filter(words).map(shown));
}"""


def a_report() -> Report:
    columns = (Column("setting", "setting"), *(Column(f"m{n}", f"measure {n}, here", "number") for n in range(14)))
    table = Table("figures", "Means over cases", columns, [(name, *[0.5] * 14) for name in ("Full", "Half")])
    series = [Series(name, [Point(0.0, 0.5, 0.4, 0.6), Point(1.0, 0.7, 0.6, 0.8)]) for name in ("Full", "Half")]
    lines = Figure("curve", "dist-3 along λ", [Panel("dist-3", "λ", "dist-3", series)] * 3)
    bars = Panel("sim", "", "sim", [Series("paper", [Point("Full", 0.8)], True), Series("here", [Point("Full", 0.7)])])
    drawings = [lines, Figure("bars", "sim by setting", [Panel(**{**bars.__dict__, "kind": "bars"})])]
    head = [
        Paragraph("A stand-in: nothing here means anything.", is_warning=True),
        Commands(["tertulia lab report arms"]),
    ]
    about = Items([("model", "smollm2"), ("cases", "24 cases of 18 sources")])
    return Report(
        "arms", "The arms of λ", [*head, about, Items([(None, "x" * 300)])], [Section("Figures", [table, *drawings])]
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report's file."""
    file, page = tmp_path_factory.mktemp("report") / "arms.html", a_report()
    file.write_text("\n".join(html_page(page, {figure.name: drawn_panels(figure) for figure in page.figures()})))
    return file.as_uri()


@pytest.mark.access
@pytest.mark.parametrize("width", [390, 1000])
def test_panels_wrap_so_that_none_is_cut_off(page: Page, report: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(report)
    cut = "figure => figure.scrollWidth > figure.clientWidth"
    assert page.evaluate(f"[...document.querySelectorAll('figure .scroller')].filter({cut}).length") == 0


@pytest.mark.access
@pytest.mark.parametrize("width", [390, 1280])
def test_a_report_can_be_read_by_everybody(page: Page, report: str, width: int) -> None:
    requests = watched(page)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(report)
    assert page.evaluate(_SMALLEST) >= 13
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert requests == [report]  # nothing is fetched
    assert violations(page) == []
