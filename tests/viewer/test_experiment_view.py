"""An experiment as a place on the page: plots with the conversations behind each point, by mouse and by keyboard."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.experiment_case import a_grid, drive_here
from support.stored import NOW, a_case, a_run, write_turns
from support.viewer_page import serving
from support.viewer_views import text_of

from tertulia.lab.experiments.experiment import Experiment
from tertulia.state.records import Trial
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


def test_an_experiment_grows_under_an_open_page(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    settings = {"A": {"removal_factor": 0.0}, "B": {"removal_factor": 0.5}}
    experiment = Experiment(name="half", cases=("cafe",), settings=settings, trials=2)

    def finish(store: SqlStore, setting: str, trial: int) -> None:
        run = f"{setting.lower()}00{trial}"
        place = Trial(experiment="half", setting=setting, case="cafe", trial=trial, cohort=trial)
        store.create_run(a_run(run, created=NOW, trial=place, status="finished"), a_case())
        write_turns(store, run, 1, 2)

    with SqlStore.open(path, create=True) as store:
        store.experiments.save("half", experiment.model_dump(mode="json"))
        with serving(path) as address:
            page.goto(f"{address}#/experiments/half?measures=len")
            expect(page.get_by_text("No conversation of it has finished yet")).to_be_visible()
            expect(page.get_by_text("tertulia lab resume half")).to_be_visible()
            finish(store, "A", 1)
            finish(store, "B", 1)
            expect(page.get_by_text("2 of 4 conversations finished")).to_be_visible()
            expect(page.locator("circle.case")).to_have_count(2)
            finish(store, "A", 2)
            finish(store, "B", 2)
            expect(page.get_by_text("All 4 conversations finished")).to_be_visible()
            expect(page.get_by_text("words per utterance; 4 conversations")).to_be_visible(timeout=15_000)


def test_what_can_not_be_shown_is_said(page: Page, path: Path, tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.experiments.save("new", a_grid(name="new").model_dump(mode="json") | {"weather": "fair"})
    with serving(tmp_path / "t.db") as address:
        page.goto(f"{address}#/experiments/new")
        expect(page.get_by_text("update the program")).to_be_visible()
        page.goto(f"{address}#/experiments/old")
        expect(page.get_by_text("no experiment 'old'")).to_be_visible()


def test_verdicts_are_shown_as_they_were_reported(
    page: Page, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"value": 0.2, "interval": [0.1, 0.3], "cases": 2, "dialogues": 4}
    ordering = {"id": "a", "text": "dist-3 rises", "verdict": "reproduced", "primary": True, "here": here}
    ordering |= {"p_adjusted": 0.02, "control": None, "note": None}
    figures = [{"metric": "fluency", "setting": name, "here": here, "difference": None} for name in ("Full", "Half")]
    report = {"experiment": "grid", "report": "grid", "finished": 8, "figures": figures, "orderings": [ordering]}
    (tmp_path / "reports" / "grid").mkdir(parents=True)
    (tmp_path / "reports" / "grid" / "grid.json").write_text(json.dumps(report | {"tally": {"reproduced": 1}}))
    monkeypatch.chdir(tmp_path)
    with serving(path) as address:
        page.goto(f"{address}#/experiments/grid?measures=fluency")
        expect(page.get_by_text("of 1 orderings 1 reproduced")).to_be_visible()
        expect(page.get_by_role("region", name="Verdicts").get_by_text("dist-3 rises")).to_be_visible()
        expect(page.get_by_text("as the report has it, without cases")).to_be_visible()
        assert "0.2 (0.1 to 0.3)" in text_of(page)


def test_the_list_leads_to_an_experiment_and_names_people_and_first_lines(page: Page, path: Path) -> None:
    with SqlStore.open(path) as store:
        run = next(run for run in store.runs() if run.trial and run.trial.setting == "Half")
        names, first = store.start(run.run).names, store.turns(run.run)[0]
    with serving(path) as address:
        page.goto(f"{address}#/runs?find={run.run}")
        row = page.locator(f"[data-run='{run.run}']")
        expect(row.locator(".people")).to_have_text(", ".join(names))
        expect(row.locator(".first")).to_contain_text(first.text[:40])
        expect(page.locator(".store-name")).to_have_text("t.db")
        page.get_by_role("link", name="grid", exact=True).click()
        expect(page.get_by_role("heading", name="Experiment grid")).to_be_visible()


def test_experiments_are_listed_those_without_a_run_too(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with serving(path) as address:
        page.goto(f"{address}#/experiments")
        expect(page.get_by_text("There are no experiments yet")).to_be_visible()
    with SqlStore.open(path, create=True) as store:
        store.experiments.save("planned", a_grid().model_dump() | {"name": "planned"})
    with serving(path) as address:
        page.goto(f"{address}#/runs")
        page.get_by_label("Lists").get_by_role("link", name="Experiments").click()
        planned = page.locator("section").filter(has=page.get_by_role("link", name="planned"))
        expect(planned).to_contain_text(re.compile(r"0 of \d+ conversations finished"))
        page.get_by_role("link", name="planned").click()
        expect(page.get_by_role("heading", name="Experiment planned")).to_be_visible()
        with SqlStore.open(path) as store:
            store.experiments.save("newer", {"name": "newer", "unheard_of": 1})
        page.goto(f"{address}#/experiments")
        page.reload()
        newer = page.locator("section").filter(has=page.get_by_role("link", name="newer"))
        expect(newer).to_contain_text("the definition of experiment newer is damaged")
        expect(planned).to_contain_text(re.compile(r"0 of \d+ conversations finished"))
