"""The report of an experiment from its place on the page: that file alone, in which nothing runs or leads anywhere."""

import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.experiment_case import a_grid
from support.requests_to_page import ask
from support.viewer_page import serving

from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.reported import report_html, report_page

TOKEN = "a-token_that-nobody-guesses"

HOSTILE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Grid</title>
<meta http-equiv="refresh" content="0;url=/api/runs"><style>h1 { color: rgb(1, 2, 3) }</style>
<script>document.title = "run"</script></head><body onload="document.title = 'run'">
<h1>The grid</h1><img src="/api/runs" onerror="document.title = 'run'"><iframe src="/"></iframe></body></html>"""


def write_report(folder: Path, name: str = "grid", html: str | None = HOSTILE, experiment: str = "grid") -> Path:
    """Write a report's data and page into a folder of reports; return its own folder."""
    own = folder / name
    own.mkdir(parents=True)
    said = {"experiment": experiment, "report": name, "finished": 0, "figures": [], "orderings": []}
    (own / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
    if html is not None:
        (own / f"{name}.html").write_text(html, encoding="utf-8")
    return own


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with the experiment, in a current folder whose `reports` has its report."""
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as opened:
        opened.experiments.save("grid", a_grid().model_dump(mode="json"))
    write_report(tmp_path / "reports")
    monkeypatch.chdir(tmp_path)
    return path


def test_the_page_of_an_experiment_opens_its_report_in_a_tab(page: Page, store: Path) -> None:
    answered: list[str] = []
    page.context.on("response", lambda response: answered.append(response.url))
    with serving(store, TOKEN) as address:
        page.goto(f"{address}?token={TOKEN}#/experiments/grid")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="The report as it was exported").click()
        report = opened.value
        expect(report.get_by_role("heading", name="The grid")).to_have_css("color", "rgb(1, 2, 3)")
        expect(report).to_have_title("Grid")  # nothing in it ran
        assert report.url.startswith(f"{address}report?experiment=grid")  # nor led elsewhere
        assert report.evaluate("window.origin") == "null"
        assert report.evaluate("window.opener") is None
    assert f"{address}api/runs" not in answered  # what its picture and its refresh ask for


def test_a_report_is_given_with_the_token_alone_and_is_inert(store: Path) -> None:
    with serving(store, TOKEN, ["false"]) as address:
        assert ask(address, "report?experiment=grid").status == 403
        assert ask(address, "report?experiment=grid&seat=none").status == 403
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert ask(address, f"report?experiment=grid&token={TOKEN}", foreign).status == 403
        answer = ask(address, f"report?experiment=grid&token={TOKEN}")
        assert (answer.status, answer.body.decode()) == (200, HOSTILE)
        policy = dict(answer.headers)["content-security-policy"].split("; ")
        assert {"sandbox", "default-src 'none'", "form-action 'none'", "frame-ancestors 'none'"} <= {*policy}
        assert not any(clause.startswith(("script-src", "connect-src")) for clause in policy)
        for name in ("other", "../grid", "", "grid/../../t.db"):
            missing = ask(address, f"report?experiment={quote(name, safe='')}&token={TOKEN}")
            assert (missing.status, b"no report" in missing.body) == (404, True)


def test_nothing_but_a_file_of_the_folder_is_given(tmp_path: Path) -> None:
    reports, secret = tmp_path / "reports", tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    own = write_report(reports, html=None)
    assert (report_html(reports, "grid"), report_page(reports, "grid")["has_html"]) == (None, False)
    (own / "grid.html").symlink_to(secret)
    assert (report_html(reports, "grid"), report_page(reports, "grid")["has_html"]) == (None, False)
    (own / "grid.html").unlink()
    os.mkfifo(own / "grid.html")
    assert report_html(reports, "grid") is None
    (own / "grid.html").unlink()
    with (own / "grid.html").open("wb") as large:
        large.truncate(20_000_000)
    assert report_html(reports, "grid") is None
    (own / "grid.html").write_text("<p>", encoding="utf-8")
    assert (report_html(reports, "grid"), report_page(reports, "grid")["has_html"]) == (b"<p>", True)
    outside = write_report(tmp_path / "elsewhere", "linked", experiment="linked")
    (reports / "linked").symlink_to(outside)
    assert report_html(reports, "linked") is None
    assert report_html(tmp_path / "none", "grid") is None
