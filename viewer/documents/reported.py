"""The report of an experiment as it was exported: the newest one in the folder in which `lab` writes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.text import first_line

#: Folders that are looked at, and bytes of a report's data, at most.
_FOLDERS, _MOST_BYTES = 500, 16_000_000

#: What of a report the page shows.
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
    """Return what the newest report of an experiment says, and the files that it is in.

    `report` is `None` where there is none; `problem` says what could not be read.

    Args:
        folder: Has a folder for each report, as `--out` of the laboratory's commands names it.
    """
    problem = None
    for file in _newest_first(folder):
        try:
            found = _read(file)
        except (OSError, ValueError) as error:
            problem = problem or f"{file} can't be read: {first_line(error)}"
            continue
        if found.get("experiment") == experiment and isinstance(found.get("figures"), list):
            page = file.with_suffix(".html")
            return _document(experiment, None) | {
                "report": {name: found.get(name) for name in _SHOWN},
                "page": str(page if page.is_file() else file),
            }
    return _document(experiment, problem)


def _document(experiment: str, problem: str | None) -> Document:
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment,
        "report": None,
        "page": None,
        "problem": problem,
    }


def _newest_first(folder: Path) -> Iterator[Path]:
    """Yield the data files of reports: `NAME/NAME.json`, which are no links."""
    try:
        folders = [found for found in folder.iterdir() if found.is_dir()][:_FOLDERS]
    except OSError:
        return
    files = [file for found in folders if (file := found / f"{found.name}.json").is_file() and not file.is_symlink()]
    yield from sorted(files, key=lambda file: -file.stat().st_mtime)


def _read(file: Path) -> dict[str, Any]:
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError("it is too large for a report")
    found = json.loads(file.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}
