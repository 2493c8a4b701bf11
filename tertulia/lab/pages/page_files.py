"""The folder of a report: its page as Markdown and as HTML, plots, and data as CSV, Parquet and JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

from tertulia.lab.pages.page import Page
from tertulia.lab.pages.page_data import check_parquet, csv_lines, data_tables, write_parquet
from tertulia.lab.pages.page_html import html_page
from tertulia.lab.pages.page_markdown import markdown
from tertulia.lab.pages.plots import check_plots, drawn, drawn_panels, file_of
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.written_files import check_file, refuse_link, write_lines
from tertulia.storage.addresses import StoreAddress

_PAGES = (".md", ".html", ".json")

#: The files of each table and each plot's points, in a folder of reports.
_DATA = (".csv", ".parquet")


def check_report_folder(folder: Path, name: str, experiment: str, store: StoreAddress, force: bool = False) -> None:
    """Refuse a folder that a report can't be written into, before anything is run; make it if there is none.

    Files of the same report of the same experiment are overwritten; others only with `force`.

    Raises:
        UsageError: It is a file, or has another report of this name; or the writers of plots and data are not
            installed.
        OSError: It can't be made.
    """
    check_plots()
    check_parquet()
    is_same = _experiment_in(folder / f"{name}.json") == experiment
    for path in (folder.parent, folder):
        refuse_link(path)
        if path.exists() and not path.is_dir():
            raise UsageError(f"--out {path}: this is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for ending in _PAGES:
        check_file(folder / f"{name}{ending}", store, force or is_same)


def _experiment_in(file: Path) -> str | None:
    """Return the experiment of a report that was written before; `None` if there is none."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    found = document.get("experiment") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


def write_page(page: Page, document: Document, folder: Path) -> list[Path]:
    """Write a page, and its document with the `experiment`, into an existing folder; return the files, the pages first.

    Raises:
        UsageError: The writer of plots or data is not installed.
        OSError: A file can't be written.
    """
    figures = page.figures()
    plots = {figure.name: f"{page.name}_{file_of(figure)}" for figure in figures}
    files = [folder / f"{page.name}{ending}" for ending in _PAGES]
    write_lines(files[0], markdown(page, plots))
    write_lines(files[1], html_page(page, {figure.name: drawn_panels(figure) for figure in figures}))
    write_lines(files[2], [json.dumps(document)])
    for figure in figures:
        files.append(folder / plots[figure.name])
        write_lines(files[-1], drawn(figure).splitlines())
    for ending, text in page.beside.items():
        files.append(folder / f"{page.name}_{ending}")
        write_lines(files[-1], text.splitlines())
    return [*files, *_write_data(page, folder)]


def _write_data(page: Page, folder: Path) -> Iterator[Path]:
    for table in data_tables(page):
        as_csv, as_parquet = (folder / f"{page.name}_{table.name}{ending}" for ending in _DATA)
        write_lines(as_csv, csv_lines(table))
        write_parquet(table, as_parquet)
        yield from (as_csv, as_parquet)
