"""A run as one file: complete, small, the same every time, opened from disk; and in the cell of a notebook."""

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.commands import Cli
from support.exported_page import read_exported
from support.viewer_page import serving
from support.viewer_views import text_at, text_of, watched

import tertulia
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import READERS, document_at
from tertulia.viewer.html_file import html_of_run


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dialogue, a fork of it, a meeting and an album chat."""
    path = tmp_path_factory.mktemp("file") / "file.db"
    how = {"rehearse": True, "store": path, "progress": False, "removal_factor": 0.5}
    tertulia.run("tidewell", rounds=3, **how).fork(3, removal_factor=0.9, progress=False)
    tertulia.run("team_building", rounds=2, **how)
    tertulia.run("villagers", rounds=2, agents=3, rehearse=True, store=path, progress=False)
    return path


def runs_of(store: Path) -> list[str]:
    with SqlStore.open(store) as opened:
        return [run.run for run in opened.runs()]


def exported(store: Path, run: str) -> str:
    with SqlStore.open(store) as opened:
        return "\n".join(html_of_run(opened, run))


@pytest.fixture(scope="module")
def files(store: Path) -> dict[str, Path]:
    """By run, its page beside the store."""
    written = {run: store.with_name(f"{run}.html") for run in runs_of(store)}
    for run, file in written.items():
        file.write_text(exported(store, run), encoding="utf-8")
    return written


# --- what is in it --------------------------------------------------------------------------------------------------


def test_every_document_of_a_run_is_in_its_file_as_the_server_answers_it(store: Path) -> None:
    for run in runs_of(store):
        documents, missing = read_exported(exported(store, run))
        with SqlStore.open(store) as opened:
            assert [row["run"] for row in documents.pop("runs")["runs"]] == [run]
            answered = {path: document_at(opened, path) for path in documents}
            for path in [path for path in answered if path.endswith("/actions")]:
                answered[path]["store"] = []  # where the store lies on this machine concerns nobody else
            for making in [
                making for answer in answered.values() for making in (answer, *answer.get("parts", {}).values())
            ]:
                making |= {"forks": [], "more_forks": 0} if "forks" in making else {}
                if "scorers" in making:
                    making["scorers"] = [scorer for scorer in making["scorers"] if scorer["run"] == run]
            assert answered == documents
            assert str(store) not in json.dumps(documents)
            numbers = [turn.turn for turn in opened.turns(run)]
            names = [quote(name) for name in opened.start(run).names]
        filled = {"turns": numbers, "agents": names}
        expected = {
            pattern.replace("*", run, 1).replace("*", str(value))
            for pattern in READERS
            if pattern.startswith("runs/")
            for value in (filled[pattern.split("/")[2]] if pattern.count("*") > 1 else [""])
        }
        assert documents.keys() | missing.keys() == expected
        assert not documents.keys() & missing.keys()


def test_a_file_has_nothing_of_other_runs_but_the_id_of_its_parent(tmp_path: Path) -> None:
    path, length = tmp_path / "t.db", {"nodes.score": "length"}
    run = tertulia.run("tidewell", rounds=3, rehearse=True, removal_factor=0.5, store=path, progress=False)
    alone = exported(path, run.id)
    fork = run.fork(at=2, settings=length, label="by length", progress=False)
    with SqlStore.open(path) as opened:
        scorers = document_at(opened, f"runs/{run.id}/turns/2")["scorers"]
    assert {scorer["run"] for scorer in scorers} == {run.id, fork.id}
    assert exported(path, run.id) == alone
    documents, _ = read_exported(exported(path, fork.id))
    assert documents[f"runs/{fork.id}"]["parent"] == {"run": run.id, "turn": 2}


def test_a_file_is_the_same_every_time(cli: Cli, store: Path, tmp_path: Path) -> None:
    run = runs_of(store)[0]
    for name in ("a.html", "b.html"):
        assert cli("export", run, "--store", store, "--html", tmp_path / name).code == 0
    printed = cli("export", run, "--store", store, "--html", "-").out
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes() == printed.encode()


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_it_shows_from_disk_what_the_server_shows(store: Path, files: dict[str, Path], page: Page) -> None:
    requests = watched(page)
    of_all, of_some = ("", "/figures", "?turn=2"), ("/minds", "/album")
    with serving(store) as address:
        # Not the parent: its fork is a dialogue too.
        album, meeting, fork, _ = files
        views = [*((run, view) for run in (album, meeting, fork) for view in of_all)]
        views += [*zip((meeting, album), of_some, strict=True)]
        served = {(run, view): text_at(page, f"{address}#/runs/{run}{view}") for run, view in views}
    for (run, view), text in served.items():
        requests.clear()
        shown = text_at(page, f"{files[run].as_uri()}#/runs/{run}{view}").splitlines()
        # What needs the server is left out of a file; nothing else is different, and nothing failed.
        assert SequenceMatcher(None, shown, text.splitlines(), autojunk=False).ratio() > 0.9, view
        assert [url for url in requests if not url.startswith(files[run].as_uri())] == []


def test_its_policy_lets_nothing_else_act(files: dict[str, Path], page: Page) -> None:
    file = next(iter(files.values()))
    html = file.read_text(encoding="utf-8")
    (policy,) = re.findall(r'<head>\s*<meta http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    page.goto(file.as_uri())
    text_of(page)
    page.evaluate(
        """async () => {
            window.refused = [];
            addEventListener("securitypolicyviolation", (event) => window.refused.push(event.effectiveDirective));
            document.body.insertAdjacentHTML("beforeend", '<img src="x:" onerror="window.ran = 1">');
            const script = document.createElement("script");
            script.textContent = "window.ran = 1";
            document.body.append(script);
            const image = new Image();
            image.src = "http://127.0.0.1:9/x.png";
            while (window.refused.length < 4) await new Promise((done) => setTimeout(done, 10));
        }"""
    )
    assert page.evaluate("window.ran") is None


def test_a_damaged_file_says_so(files: dict[str, Path], page: Page, tmp_path: Path) -> None:
    html = next(iter(files.values())).read_text(encoding="utf-8")
    file = tmp_path / "damaged.html"
    file.write_text(re.sub(r'(class="chunk">.{40}).{8}', r"\1AAAAAAAA", html), encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("main")).to_contain_text("This file is damaged")


# --- in a notebook --------------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(store: Path, page: Page) -> Iterator[Page]:
    """A page that shows what `view()` gives a notebook."""
    run = tertulia.open_store(store).run(runs_of(store)[-1])
    page.set_content(f"<title>notebook</title><h1>Cells</h1>{run.view(height=500)._repr_html_()}")
    yield page
    assert (page.title(), page.url) == ("notebook", "about:blank")


def test_a_cell_shows_the_run_and_its_links_lead_on_inside(notebook: Page, store: Path) -> None:
    run = tertulia.open_store(store).run(runs_of(store)[-1])
    cell = notebook.frame_locator("iframe")
    expect(cell.get_by_role("heading", level=1)).to_contain_text(run.id)
    expect(cell.locator("main")).to_contain_text(run.turns[1].text)
    cell.get_by_role("link", name="Figures").click()
    expect(cell.get_by_role("link", name="Figures")).to_have_attribute("aria-current", "page")
    cell.get_by_role("link", name="Tertulia").click()
    expect(cell.get_by_role("heading", name="Runs")).to_be_visible()
    expect(cell.get_by_text("one file")).to_be_visible()


def test_a_cell_reaches_neither_the_notebook_nor_a_host(notebook: Page) -> None:
    frame = notebook.frames[1]
    reached = """async () => {
        const tried = [];
        for (const attempt of [
            () => parent.document.title, () => top.location.href, () => (top.location = "about:blank#moved"),
            () => localStorage.length, () => document.cookie, () => open("about:blank").x,
            () => fetch("http://127.0.0.1:9/"),
        ]) {
            try { await attempt(); tried.push("reached"); } catch { tried.push("kept out"); }
        }
        return tried;
    }"""
    assert set(frame.evaluate(reached)) == {"kept out"}


def test_a_terminal_says_where_to_look(store: Path) -> None:
    run = tertulia.open_store(store).run("@last")
    assert f"tertulia view {run.id} --store {store}" in repr(run.view())
    with pytest.raises(UsageError, match="height"):
        run.view(height=0)
    with pytest.raises(UsageError, match="height"):
        run.view(height="tall")  # type: ignore[arg-type]
