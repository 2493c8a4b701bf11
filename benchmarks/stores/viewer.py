"""How quick the page is, and how small: `python -m benchmarks.stores.viewer` prints a table; needs chromium.

1. `served`: a rehearsed dialogue of 500 turns is looked at.
2. `exported`: one of 1,000 is exported, and opened from disk.
3. `listed`: the list of 5,000 runs.
4. `meeting`: a meeting of 2,000 rounds, which opens on its minds.
5. `compared`: a dialogue of 2,000 turns beside a fork of it that is as long.

Stores of the last three are written, not rehearsed (`viewer_stores`). Each view is visited several times: the fastest
and the median visit are shown, and, for busy machines, the processor time of the fastest, of server and page together.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright
from rich.console import Console
from rich.table import Table

import tertulia
from benchmarks.stores.viewer_stores import compared_store, list_store, meeting_store
from tertulia.state.written_files import write_lines
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import html_of_run
from tertulia.viewer.server import BUILT

SERVED_TURNS, EXPORTED_TURNS, SLIDER_STEPS = 500, 1000, 60
LISTED_RUNS, MEETING_ROUNDS, COMPARED_TURNS = 5000, 2000, 2000

#: How often a view is opened.
VISITS = 7

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


class Server(NamedTuple):
    """A running `tertulia view`: its address, the seconds until it answered, and its process."""

    address: str
    answered_s: float
    process: int

    def processor_s(self) -> float:
        """Return the processor time that it has used; 0 where the system does not tell."""
        stat = Path(f"/proc/{self.process}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(MEASURES)}; default: all of them")
    parts = parser.parse_args(arguments).parts or list(MEASURES)
    if unknown := set(parts) - MEASURES.keys():
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are {', '.join(MEASURES)}")
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
        for part in parts:
            MEASURES[part](Path(folder), page, table)
        browser.close()
    Console().print(table)


def _measure_served(folder: Path, page: Page, table: Table) -> None:
    store = folder / "served.db"
    run = _rehearsed(store, SERVED_TURNS)
    with _viewing(store) as server:
        table.add_row("`view`: command to first answer", f"{server.answered_s:.2f} s", "1 s")
        began = time.perf_counter()
        page.goto(f"{server.address}#/runs/{run}?turn=2")
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


def _measure_listed(folder: Path, page: Page, table: Table) -> None:
    store = folder / "listed.db"
    newest = list_store(store, LISTED_RUNS)
    with _viewing(store) as server:
        measured = _visits(page, server, "#/runs", f"[data-run='{newest}']")
        table.add_row(f"list of {LISTED_RUNS:,} runs", measured, "0.3 s")


def _measure_meeting(folder: Path, page: Page, table: Table) -> None:
    store = folder / "meeting.db"
    run = meeting_store(store, MEETING_ROUNDS)
    with _viewing(store) as server:
        measured = _visits(page, server, f"#/runs/{run}", ".race", "[role=listbox] [role=option]")
        table.add_row(f"meeting of {MEETING_ROUNDS:,} rounds, with its minds", measured, "1 s")


def _measure_compared(folder: Path, page: Page, table: Table) -> None:
    store = folder / "compared.db"
    run, fork = compared_store(store, COMPARED_TURNS)
    with _viewing(store) as server:
        measured = _visits(page, server, f"#/compare/{run}/{fork}", ".turn-difference.chosen")
        table.add_row(f"{COMPARED_TURNS:,} turns compared", measured, "1 s")


def _visits(page: Page, server: Server, place: str, *wanted: str) -> str:
    """Open a view again and again, from an empty page, until all that is wanted is there; return the times in words."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    times: list[tuple[float, float]] = []
    for _ in range(VISITS):
        page.goto("about:blank")
        used_s = server.processor_s()
        began = time.perf_counter()
        page.goto(f"{server.address}{place}", wait_until="commit")
        for selector in wanted:
            page.locator(selector).first.wait_for()
        times.append((time.perf_counter() - began, server.processor_s() - used_s + _page_s(session)))
        page.locator("html:not([data-reading])").wait_for(state="attached")
    fastest_s, processor_s = min(times)
    median_s = float(np.median([taken_s for taken_s, _ in times]))
    return f"{fastest_s:.2f} s (median {median_s:.2f}; {processor_s:.2f} s of processor time)"


def _page_s(session: CDPSession) -> float:
    """Return the processor time of the page's own thread since it was opened."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def _wait_until_usable(page: Page) -> None:
    for wanted in _USABLE:
        page.locator(wanted).first.wait_for()


def _rehearsed(store: Path, turns: int) -> str:
    settings = {"ending": "off"}
    run = tertulia.run(
        "tidewell", rounds=turns, removal_factor=0.5, rehearse=True, store=store, settings=settings, progress=False
    )
    return run.id


@contextmanager
def _viewing(store: Path) -> Iterator[Server]:
    """Yield a server of `tertulia view` that has answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "tertulia.cli.main", "view", "--store", str(store), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            with urllib.request.urlopen(f"{address.partition('?')[0]}api/runs") as response:
                json.load(response)
            yield Server(address, time.perf_counter() - began, server.pid)
        finally:
            server.terminate()


#: What is measured by the name of the part.
MEASURES = {
    "served": _measure_served,
    "exported": _measure_exported,
    "listed": _measure_listed,
    "meeting": _measure_meeting,
    "compared": _measure_compared,
}

if __name__ == "__main__":
    main()
