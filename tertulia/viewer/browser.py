"""Open an address in the user's browser, without waiting for it and without its output."""

import html
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

#: After so long the browser has started, and has read the file with the token.
_OPENED_WITHIN_S = 20

#: In a process of its own: some browsers stay in the foreground, and all of them print.
_OPEN = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


def open_browser(address: str, is_secret: bool, failed: Callable[[], None]) -> None:
    """Open an address in a browser.

    Args:
        is_secret: Whether other users of the machine may not see it. They see the arguments of processes, so the
            browser is redirected by a file that only this user can read.
        failed: Called in another thread if no browser can be opened.
    """
    threading.Thread(target=_open, args=(address, is_secret, failed), daemon=True).start()


def _open(address: str, is_secret: bool, failed: Callable[[], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="tertulia-") as folder:  # for this user alone
        opened = address
        if is_secret:
            page = Path(folder) / "open.html"
            page.write_text(f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">', encoding="utf-8")
            opened = page.as_uri()
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _OPEN, opened],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            is_opened = process.wait(_OPENED_WITHIN_S) == 0
        except subprocess.TimeoutExpired:  # it is in the foreground of its process
            is_opened = True
        if not is_opened:
            failed()
        elif is_secret:
            threading.Event().wait(_OPENED_WITHIN_S)
