"""An experiment as a place on the page: plots with the conversations behind each point, by mouse and by keyboard."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.experiment_case import a_grid, drive_here
from support.viewer_page import serving

from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.measures import measure_page


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiment") / "t.db"

    def rehearse() -> None:
        with SqlStore.open(path, create=True) as store:
            drive_here(store, a_grid(trials=2, rounds=2))

    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        thread.submit(rehearse).result()
    return path


def test_a_plot_has_a_point_for_each_mean_and_case_and_a_table_of_them(page: Page, path: Path) -> None:
    with SqlStore.open(path) as store:
        measure = measure_page(store, "grid", "dist3")
    with serving(path) as address:
        page.goto(f"{address}#/experiments/grid?measures=dist3")
        plot = page.locator(".measure")
        expect(plot.locator("circle.mean")).to_have_count(3)  # one of them in the legend
        expect(plot.locator("circle.case")).to_have_count(4)
        expect(page.get_by_text("All 8 conversations finished")).to_be_visible()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the figures of “dist-3” as CSV").click()
        rows = [line.split(",") for line in saved.value.path().read_text(encoding="utf-8").splitlines()[1:]]
        means = {row[0]: float(row[3]) for row in rows if row[2] == "mean"}
        assert means == {figures["setting"]: figures["value"] for figures in measure["settings"]}
        table = page.get_by_role("region", name="dist-3 by setting")
        expect(table.get_by_role("row")).to_have_count(3)
        page.get_by_role("combobox", name="along").select_option("settings")
        expect(plot.locator("circle.case")).to_have_count(4)
        assert "axis=settings" in page.url


def test_a_point_opens_its_conversations_side_by_side(page: Page, path: Path) -> None:
    with SqlStore.open(path) as store:
        runs = {(r.trial.setting, r.trial.case, r.trial.trial): r.run for r in store.runs() if r.trial}
    with serving(path) as address:
        page.goto(f"{address}#/experiments/grid?measures=dist3")
        keys = page.get_by_role("group", name="dist-3: arrow keys")
        keys.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        said = page.locator(".said").inner_text()
        case = re.search(r"Half, (tidewell:\d)", said)
        assert case, said
        page.keyboard.press("Enter")
        pair = "/".join(runs["Half", case[1], trial] for trial in (1, 2))
        expect(page).to_have_url(re.compile(f"#/compare/{pair}$"))
        page.go_back()
        keys.locator("circle.mean").last.click()
        behind = page.get_by_role("region", name="Conversations behind a point")
        expect(behind.get_by_role("heading")).to_be_focused()
        expect(behind.get_by_role("listitem")).to_have_count(4)
        expect(behind.get_by_role("link", name="beside Full").first).to_be_visible()
        page.reload()
        expect(behind).to_be_visible()
        behind.get_by_role("button", name="Close").click()
        expect(behind).to_be_hidden()
