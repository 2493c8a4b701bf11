"""The report of an experiment as it was exported: the newest one in the folder in which `lab` writes them."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.text import first_line

#: Folders that are looked at, and bytes of a report's data or of its page, at most.
_FOLDERS, _MOST_BYTES = 500, 16_000_000

#: The parts of a report that the page shows.
_SHOWN = (
    "report",
    "rehearsed",
    "baseline",
    "finished",
    "missing",
    "figures",
    "orderings",
    "tally",
    "not_measured",
    "plan",
)


def report_page(folder: Path, experiment: str) -> Document:
    """Return the contents of the newest report of an experiment, and the files that it is in.

    `report` is `None` if there is none; `problem` names an unreadable file. `page` names its file, which
    `report_html` reads if `has_html` is true.

    Args:
        folder: Has a folder for each report, as `--out` of the laboratory's commands names it.
    """
    file, found, problem = _newest(folder, experiment)
    if file is None:
        return _document(experiment, problem)
    page = file.with_suffix(".html")
    return _document(experiment, None) | {
        "report": {name: found.get(name) for name in _SHOWN},
        "page": str(page if page.is_file() else file),
        "has_html": page.is_file() and not page.is_symlink(),
    }


def report_html(folder: Path, experiment: str) -> bytes | None:
    """Return the page of the newest report of an experiment, `NAME/NAME.html`; `None` if there is none.

    It follows no link, and reads nothing but a regular file of at most 16 MB.
    """
    file, _, _ = _newest(folder, experiment)
    if file is None:
        return None
    try:
        opened = os.open(file.with_suffix(".html"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(opened, "rb") as page:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        html = page.read(_MOST_BYTES + 1)
    return html if len(html) <= _MOST_BYTES else None


def _newest(folder: Path, experiment: str) -> tuple[Path | None, dict[str, Any], str | None]:
    """Return the data file of the newest report with its contents; without one, the problem of an unreadable file."""
    problem = None
    for file in _newest_first(folder):
        try:
            found = _read(file)
        except (OSError, ValueError) as error:
            problem = problem or f"{file} can't be read: {first_line(error)}"
            continue
        if found.get("experiment") == experiment and isinstance(found.get("figures"), list):
            return file, found, None
    return None, {}, problem


def _document(experiment: str, problem: str | None) -> Document:
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment,
        "report": None,
        "page": None,
        "has_html": False,
        "problem": problem,
    }


def _newest_first(folder: Path) -> Iterator[Path]:
    """Yield the data files of reports: `NAME/NAME.json`, in which nothing is a link."""
    try:
        folders = [found for found in folder.iterdir() if found.is_dir() and not found.is_symlink()][:_FOLDERS]
    except OSError:
        return
    files = [file for found in folders if (file := found / f"{found.name}.json").is_file() and not file.is_symlink()]
    yield from sorted(files, key=lambda file: -file.stat().st_mtime)


def _read(file: Path) -> dict[str, Any]:
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError("it is too large for a report")
    found = json.loads(file.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}
