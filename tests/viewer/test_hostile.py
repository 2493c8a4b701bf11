"""Texts that attack the page: nothing of them acts, nothing is asked of another host, and the page stays usable."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Route
from support.hostile_page import ATTACKS, FLAG, LONG, NAMES, write_hostile_store
from support.viewer_page import serving
from support.viewer_views import PANES, resize, text_at, text_of

from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run

#: What an attack would have changed, anywhere.
_TRACES = f"""() => ({{
    ran: window.{FLAG} ?? null,
    elements: document.querySelectorAll("main iframe, main script, main style, main meta, main base").length
        + document.querySelectorAll('main img:not([src^="data:image/"])').length,
    handlers: [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes])
        .filter(({{ name }}) => name.startsWith("on")).length,
    links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href"))
        .filter((href) => !/^(#|blob:)/.test(href)).length,
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}})"""
_NONE = {"ran": None, "elements": 0, "handlers": 0, "links": 0, "wider": 0}


class Guarded:
    """A page in which requests to other hosts, dialogs, and what the security policy refused are noted."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page = self.context.new_page()
        self.origin = "file://"
        self.foreign: list[str] = []
        self.noted: list[str] = []
        self.page.set_default_timeout(10_000)
        self.page.on("dialog", lambda dialog: self.noted.append(dialog.message) or dialog.dismiss())
        self.page.on("pageerror", lambda error: self.noted.append(str(error)))
        self.page.on("popup", lambda _page: self.noted.append("popup"))
        self.page.on(
            "console", lambda message: self.noted.append(message.text) if "Content Security" in message.text else None
        )
        self.context.route("**/*", self._pass)

    def _pass(self, route: Route) -> None:
        if route.request.url.startswith((self.origin, "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()


@pytest.fixture
def guarded(browser: Browser) -> Iterator[Guarded]:
    """The test fails where anything acted, or asked anything of another host."""
    guarded = Guarded(browser)
    yield guarded
    guarded.context.close()
    assert (guarded.foreign, guarded.noted) == ([], [])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.db"
    write_hostile_store(path)
    return path


@pytest.fixture(scope="module")
def address(hostile: Path) -> Iterator[str]:
    with serving(hostile) as served:
        yield served


@pytest.fixture
def served(address: str, guarded: Guarded) -> Guarded:
    """A guarded page to which the store is served."""
    guarded.origin = address
    return guarded


VIEWS = (
    "#/runs",
    *(f"#/runs/d1a1?turn={len(ATTACKS)}&pane={pane}" for pane in PANES),
    *(f"#/runs/m33t?turn=7&pane={pane}" for pane in PANES),
    f"#/runs/d1a1?turn={len(ATTACKS) + 1}",
    *(f"#/runs/{part}" for part in ("d1a1/figures", "m33t/minds", "m33t/figures", "a1b2/album")),
    *(f"#/runs/m33t/minds?agent={quote(name, safe='')}" for name in NAMES[:3]),
    "#/runs/a1b2?turn=2",
    "#/compare/d1a1/d1a2",
    f"#/runs/{quote(ATTACKS[4], safe='')}",
    f"#/{quote(ATTACKS[0], safe='')}/%E0%A4%A?turn={quote(ATTACKS[4])}&pane=__proto__",
    "#/runs/d1a1?turn=__proto__&pane=%3Cscript%3E&lambda=NaN",
    "#/towns/constructor",
)  # fmt: skip


def test_nothing_acts_in_the_served_page(served: Guarded) -> None:
    for view in VIEWS:
        text_at(served.page, f"{served.origin}{view}")
        for width in (360, 1280):
            resize(served.page, width)
            assert served.page.evaluate(_TRACES) == _NONE, (width, view)


def test_nothing_acts_in_an_exported_file(hostile: Path, guarded: Guarded, tmp_path: Path) -> None:
    for run in ("d1a1", "m33t", "a1b2"):
        file = tmp_path / f"{run}.html"
        with SqlStore.open(hostile) as store:
            file.write_text("\n".join(html_of_run(store, run)), encoding="utf-8")
        for view in ("", *(view for view in VIEWS if run in view)):
            guarded.page.goto(file.as_uri() + view)
            text_of(guarded.page)
            assert guarded.page.evaluate(_TRACES) == _NONE, view


def test_attacks_are_shown_as_they_were_written(served: Guarded) -> None:
    for turn in (1, 2, 5, 8):
        text = text_at(served.page, f"{served.origin}#/runs/d1a1?turn={turn}")
        assert ATTACKS[turn - 1] in text
        assert NAMES[turn % 2] in text


def test_a_line_of_a_hundred_thousand_letters_is_not_drawn_whole(served: Guarded) -> None:
    text = text_at(served.page, f"{served.origin}#/runs/d1a1?turn={len(ATTACKS) + 1}")
    assert LONG[:100] in text
    assert len(text) < len(LONG) / 4
    served.page.get_by_role("link", name="Figures").click()
    figures = served.page.get_by_role("link", name="Figures", exact=True)
    figures.and_(served.page.locator("[aria-current=page]")).wait_for()
