"""The views of the page over a store that has something for each of them, and how a test reads them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from playwright.sync_api import Page
from support.experiment_case import a_grid, drive_here
from support.in_process import command

import tertulia
from tertulia.storage.store import SqlStore

#: The panes of a turn.
PANES = ("prompt", "candidates", "minds", "states", "cost")

#: Shown while a document is read.
_READING = "Reading…"

_SETTLED = """async (reading) => {
    const isReading = () => document.documentElement.hasAttribute("data-reading");
    const text = () => (isReading() ? reading : (document.querySelector("main")?.innerText ?? reading));
    const next = () => new Promise((done) => setTimeout(done, 25));
    let last = null;
    for (let same = 0, waited = 0; same < 4; waited++) {
        if (waited > 800) throw new Error(`the view does not come to rest: ${last.slice(0, 200)}`);
        const now = text();
        same = now === last && !now.includes(reading) ? same + 1 : 0;
        last = now;
        await next();
    }
    return last;
}"""


def watched(page: Page) -> list[str]:
    """Return a list to which the addresses of all requests of a page are added."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    return requests


def text_of(page: Page) -> str:
    """Return what the view shows, once nothing in it changes any more."""
    return str(page.evaluate(_SETTLED, _READING))


def text_at(page: Page, address: str) -> str:
    """Return what the view of an address shows."""
    page.goto(address)
    return text_of(page)


def resize(page: Page, width: int) -> None:
    """Give the window a width, and wait until it is drawn anew."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")


class Runs(NamedTuple):
    """A run of each kind, a fork of the dialogue, a simulation, and beside them an experiment."""

    dialogue: str
    fork: str
    meeting: str
    album: str
    simulation: str
    agent: str

    def views(self) -> dict[str, str]:
        """Return a place in every view, by its name."""
        of_meeting = {f"pane {pane}": f"#/runs/{self.meeting}?turn=2&pane={pane}" for pane in PANES}
        return of_meeting | {
            "runs": "#/runs",
            "dialogue": f"#/runs/{self.dialogue}?turn=2&lambda=0.8",
            "meeting": f"#/runs/{self.meeting}",
            "thoughts": f"#/runs/{self.meeting}?thoughts=1",
            "minds": f"#/runs/{self.meeting}/minds",
            "agent": f"#/runs/{self.meeting}/minds?agent={quote(self.agent)}",
            "figures": f"#/runs/{self.meeting}/figures",
            "compare": f"#/compare/{self.dialogue}/{self.fork}",
            "experiments": "#/experiments",
            "experiment": "#/experiments/grid",
            "experiment by setting": "#/experiments/grid?axis=settings&setting=Half&case=tidewell:0",
            "town": f"#/towns/{self.simulation}",
            "album": f"#/runs/{self.album}/album",
            "exchanges": f"#/runs/{self.album}?turn=1",
            "no run": "#/runs/none",
            "no page": "#/nothing",
        }


def _rehearse_experiment(path: Path) -> None:
    with SqlStore.open(path) as store:
        drive_here(store, a_grid(trials=1, rounds=2))


def rehearse_all(path: Path) -> Runs:
    """Rehearse a run of each kind, and two days of a town, into a store."""
    how = {"rehearse": True, "store": path, "progress": False}
    dialogue = tertulia.run("tidewell", rounds=5, removal_factor=0.5, **how)  # type: ignore[arg-type]
    fork = dialogue.fork(3, removal_factor=0.9, progress=False)
    meeting = tertulia.run("team_building", rounds=4, removal_factor=0.4, **how)  # type: ignore[arg-type]
    album = tertulia.run("villagers", rounds=2, agents=4, **how)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        thread.submit(_rehearse_experiment, path).result()
        days = ("simulate", "tidewell", "--days", "2", "--encounters-per-day", "2", "--rehearse", "--store", path)
        result = thread.submit(command, *days).result()
    assert result.code == 0, result.err
    simulation = tertulia.open_store(path).run("@last").id.partition("-")[0]
    return Runs(dialogue.id, fork.id, meeting.id, album.id, simulation, meeting.turns[1].speaker or "")
