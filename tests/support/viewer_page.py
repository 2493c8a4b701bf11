"""A store served to a real browser: Debian's chromium through Playwright."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tertulia.state.language_model import Embedder
from tertulia.viewer.checks import Check
from tertulia.viewer.server import build_app
from tertulia.viewer.serving import PageServer, listen

#: What chromium needs in a container, and what keeps it from looking for hosts of its own.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


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
    open_embedder: Callable[[], Embedder] | None = None,
    check: Check | None = None,
) -> Iterator[str]:
    """Serve a store on the loopback, and yield the address, which ends with a slash.

    Args:
        store: The store file.
        token: What every request must have.
        command: What starts runs, before its arguments.
        port: The port, or the next free one; 0 for any.
        open_embedder: Opens what similarity is measured with.
        check: Measures what a line leaned on.
    """
    listening = listen(port)
    port = listening.getsockname()[1]
    server = PageServer(build_app(store, token, command, open_embedder, check=check))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(5)
