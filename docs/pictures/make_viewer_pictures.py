"""Make again the pictures of the viewer: `python docs/pictures/make_viewer_pictures.py [stills] [walk]`.

| argument | pictures |
|---|---|
| `stills` | viewer_turn.webp, viewer_minds.webp and viewer_compare.webp, of the shipped example |
| `walk` | viewer_walk.webp: the guided walk through the example, a few seconds a step |
| a store | viewer_experiment.webp, of its newest experiment (the arms of λ took an hour) |

Without arguments, the first two. Chromium is needed.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import tertulia as tt
from tertulia.storage.store import SqlStore
from tertulia.viewer.example import EXAMPLE_STORE, example_store

PICTURES = Path(__file__).parent
TERTULIA = [sys.executable, "-m", "tertulia.cli.main"]

#: Frames a second while something moves, and the size that they are shown in.
RATE, SIZE = 8, (1280, 800)

#: The guided walk: its steps, that at which λ is dragged, and the seconds that a step is shown.
WALK_STEPS, DRAGGED_STEP, WALK_STEP_S = 8, 4, 4.0


@contextmanager
def viewing(store: Path, *options: str) -> Iterator[str]:
    """Serve a store as a user would, and yield the address."""
    command = [*TERTULIA, "view", "--no-open", "--port", "0", *options]  # of the default store in its folder
    environment = {**os.environ, "PYTHONPATH": str(PICTURES.parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=store.parent, env=environment) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@contextmanager
def browsing(theme: str = "light", scale: float = 1.0) -> Iterator[Page]:
    """Open a page of the recording's size."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        width, height = SIZE
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, device_scale_factor=scale
        )
        yield context.new_page()
        browser.close()


class Recording:
    """Frames of a page, each with the milliseconds that it is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[tuple[Image.Image, int]] = []

    def hold(self, seconds: float = 1 / RATE) -> None:
        """Show what is there now for so long."""
        picture = Image.open(BytesIO(self.page.screenshot())).convert("RGB")
        if self.frames and self.frames[-1][0].tobytes() == picture.tobytes():
            before, shown = self.frames.pop()
            self.frames.append((before, shown + round(seconds * 1000)))
        else:
            self.frames.append((picture, round(seconds * 1000)))

    def save(self, file: Path) -> None:
        """Write the frames as an animated WebP, and print its size."""
        first, *others = (picture for picture, _ in self.frames)
        durations = [shown for _, shown in self.frames]
        first.save(file, save_all=True, append_images=others, duration=durations, loop=0, quality=60, method=6)
        print(
            f"{file.name}: {sum(durations) / 1000:.1f} s, {len(durations)} frames, {file.stat().st_size / 1e6:.2f} MB"
        )


def drag(film: Recording, factors: list[float]) -> None:
    """Move the slider, and stay a moment where it ends."""
    slider = film.page.get_by_role("slider", name="λ", exact=True)
    for factor in factors:
        slider.evaluate(
            """(input, value) => {
                Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, value);
                input.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            str(factor),
        )
        film.page.wait_for_timeout(60)
        film.hold()
    film.hold(1.0)


def make_stills(folder: Path) -> None:
    """Make still pictures of the example: how a line came about, the race of a meeting, a fork beside its parent."""
    store = example_store(folder)
    runs = tt.open_store(store).runs()
    fork = next(run for run in runs if run.parent is not None)
    parent = tt.open_store(store).run(fork.parent[0])
    meeting = next(run for run in runs if run.scenario == "mothers_house")
    photograph(store, "viewer_turn", f"#/runs/{parent.id}?turn=1&lambda=0.7", "light")
    photograph(store, "viewer_minds", f"#/runs/{meeting.id}?turn=4&pane=minds&thoughts=1", "dark")
    photograph(store, "viewer_compare", f"#/compare/{parent.id}/{fork.id}", "light")


def photograph_experiment(store: Path) -> None:
    """Make the picture of the newest experiment of a store, which `lab` commands have held."""
    with SqlStore.open(store) as opened:
        experiments = [record for record in opened.experiments.all() if not record.experiment.endswith(" (control)")]
    name = max(experiments, key=lambda record: record.created).experiment
    photograph(store, "viewer_experiment", f"#/experiments/{quote(name)}", "light")


def record_walk(folder: Path) -> None:
    """Record the guided walk, each step for as long as its text takes to read."""
    with viewing(folder / EXAMPLE_STORE, "--example") as address, browsing() as page:
        film = Recording(page)
        page.goto(address)
        walk = page.get_by_role("complementary", name="Guided walk")
        for number in range(1, WALK_STEPS + 1):
            walk.get_by_text(f"{number} of {WALK_STEPS}").wait_for()
            page.locator("[data-walk]").wait_for()
            settle(page)
            film.hold(WALK_STEP_S)
            if number == DRAGGED_STEP:
                drag(film, [step / 100 for step in (50, 60, 70, 80, 90, 75, 60, 50)])
            walk.get_by_role("button", name="Next" if number < WALK_STEPS else "Done").click()
        film.save(PICTURES / "viewer_walk.webp")


def settle(page: Page) -> None:
    """Wait until a view is read and drawn."""
    page.wait_for_timeout(1000)
    page.locator("html[data-reading]").wait_for(state="detached", timeout=300_000)
    page.wait_for_timeout(1000)


def photograph(store: Path, name: str, place: str, theme: str) -> None:
    """Make one still picture of a place of a store."""
    with viewing(store, "--store", store.name) as address, browsing(theme, scale=1.25) as page:
        page.add_init_script("localStorage.setItem('tertulia-walk', 'closed')")
        page.goto(f"{address.partition('#')[0]}{place}")
        settle(page)
        picture = Image.open(BytesIO(page.screenshot()))
        picture.save(PICTURES / f"{name}.webp", quality=70, method=6)
        print(json.dumps({name: (PICTURES / f"{name}.webp").stat().st_size}))


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["stills", "walk"]
    with tempfile.TemporaryDirectory() as name:
        for what in wanted:
            match what:
                case "stills":
                    make_stills(Path(name))
                case "walk":
                    record_walk(Path(name))
                case store:
                    photograph_experiment(Path(store).resolve())
