"""How quick the page is, and how small: `python -m benchmarks.viewer` prints a table; needs chromium.

A rehearsed dialogue of 1,000 turns is exported and opened from disk, one of 500 is served and looked at; one
of 2,000 is compared with a fork of it, which takes minutes to rehearse.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

import tertulia
from tertulia.files.written_files import write_lines
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run
from tertulia.viewer.server import BUILT

SERVED_TURNS, EXPORTED_TURNS, COMPARED_TURNS, SLIDER_STEPS = 500, 1000, 2000, 60

#: Turns to choose from, and the slider of λ for the chosen one.
_USABLE = ("[role=listbox] [role=option]", "input[type=range][aria-label=λ]")

#: Milliseconds from each step of the slider of λ to the frame that shows it.
_DRAG = """async (steps) => {
    const slider = document.querySelector("input[type=range][aria-label=λ]");
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const times = [];
    for (let step = 0; step < steps; step++) {
        const began = performance.now();
        set.call(slider, String((step % 20) / 20));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        times.push(performance.now() - began);
    }
    return times;
}"""


def main() -> None:
    """Print what was measured."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("there is no chromium; install it with: apt-get install chromium")
    table = Table("what", "measured", "limit")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        table.add_row(
            "built front end", f"{sum(file.stat().st_size for file in BUILT.iterdir()) / 1000:.0f} kB", "600 kB"
        )
        _measure_served(Path(folder), page, table)
        _measure_exported(Path(folder), page, table)
        _measure_compared(Path(folder), page, table)
        browser.close()
    Console().print(table)


def _measure_served(folder: Path, page: Page, table: Table) -> None:
    store = folder / "served.db"
    run = _rehearsed(store, SERVED_TURNS)
    with _viewing(store) as (address, answered_s):
        table.add_row("`view`: command to first answer", f"{answered_s:.2f} s", "1 s")
        began = time.perf_counter()
        page.goto(f"{address}#/runs/{run}?turn=2")
        _wait_until_usable(page)
        table.add_row(f"{SERVED_TURNS} turns: usable", f"{time.perf_counter() - began:.2f} s", "1.5 s")
        times = page.evaluate(_DRAG, SLIDER_STEPS)
        table.add_row("slider of λ, p95 a frame", f"{np.percentile(times, 95):.0f} ms", "50 ms")


def _measure_exported(folder: Path, page: Page, table: Table) -> None:
    store, file = folder / "exported.db", folder / "run.html"
    run = _rehearsed(store, EXPORTED_TURNS)
    began = time.perf_counter()
    with SqlStore.open(store) as opened:
        write_lines(file, html_of_run(opened, run))
    took_s = time.perf_counter() - began
    table.add_row(f"{EXPORTED_TURNS} turns as one file", f"{file.stat().st_size / 1e6:.2f} MB", "5 MB")
    table.add_row("written in", f"{took_s:.1f} s", "")
    began = time.perf_counter()
    page.goto(file.as_uri())
    _wait_until_usable(page)
    table.add_row("opened from disk: usable", f"{time.perf_counter() - began:.2f} s", "")


def _measure_compared(folder: Path, page: Page, table: Table) -> None:
    store = folder / "compared.db"
    run = _rehearsed(store, COMPARED_TURNS)
    fork = tertulia.open_store(store).run(run).fork(4, removal_factor=0.8, rounds=COMPARED_TURNS, progress=False)
    with _viewing(store) as (address, _):
        page.goto(f"{address}#/runs")
        page.get_by_text(fork.id).first.wait_for()
        began = time.perf_counter()
        page.goto(f"{address}#/compare/{run}/{fork.id}")
        page.locator(".turn-difference.chosen").wait_for()
        table.add_row(f"{COMPARED_TURNS} turns compared", f"{time.perf_counter() - began:.2f} s", "1 s")


def _wait_until_usable(page: Page) -> None:
    for wanted in _USABLE:
        page.locator(wanted).first.wait_for()


def _rehearsed(store: Path, turns: int) -> str:
    run = tertulia.run(
        "tidewell",
        rounds=turns,
        removal_factor=0.5,
        rehearse=True,
        store=store,
        settings={"ending": "off"},
        progress=False,
    )
    return run.id


@contextmanager
def _viewing(store: Path) -> Iterator[tuple[str, float]]:
    """Yield the address that `tertulia view` prints, and the seconds until it answers."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "tertulia.cli.main", "view", "--store", str(store), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            with urllib.request.urlopen(f"{address.partition('?')[0]}api/runs") as response:
                json.load(response)
            yield address, time.perf_counter() - began
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
