"""A store served to a real browser: Debian's chromium through Playwright."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tertulia.state.language_model import Embedder
from tertulia.viewer.checks import Check
from tertulia.viewer.server import build_app
from tertulia.viewer.serving import PageServer, listen

#: What chromium needs in a container, and what keeps it from looking for hosts of its own.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

AXE = Path(__file__).parents[2] / "tertulia" / "viewer" / "page" / "node_modules" / "axe-core" / "axe.min.js"

_FOUND = """async () => {
    const shown = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`;
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(shown).join(" | ")}`);
}"""


def violations(page: Page) -> list[str]:
    """Return what axe finds in a page, in a light and a dark theme; skip the test where it is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; install it with: make viewer-packages")
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {line}" for line in page.evaluate(_FOUND)]
    return found


def chromium() -> str:
    """Return the browser's program; skip the test where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium; install it with: apt-get install chromium")
    return program


@contextmanager
def serving(
    store: Path,
    token: str | None = None,
    command: Sequence[str] | None = None,
    port: int = 0,
    open_embedder: Callable[[str], Embedder] | None = None,
    check: Check | None = None,
    models: Sequence[str] = (),
) -> Iterator[str]:
    """Serve a store on the loopback, and yield the address, which ends with a slash.

    Args:
        store: The store file.
        token: What every request must have.
        command: What starts runs, before its arguments.
        port: The port, or the next free one; 0 for any.
        open_embedder: Opens what similarity is measured with.
        check: Measures what a line leaned on.
        models: Those that the page may use besides the shipped ones.
    """
    listening = listen(port)
    port = listening.getsockname()[1]
    seats = store.with_name(f"{store.name}.seats")
    server = PageServer(build_app(store, token, command, open_embedder, seats_file=seats, check=check, models=models))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(5)
