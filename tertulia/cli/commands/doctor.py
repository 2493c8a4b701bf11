"""`doctor`: installed parts, the hardware they run on, and the remedy for each missing part."""

from typing import Any

import typer
from rich.table import Table

from tertulia.cli.environment import cache_folder, key_of, store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.runs.access.installation import installation_document, installation_rows


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show installed parts, the device, precision and threads to be used, and the remedy for each missing part.

    Example: tertulia doctor
    """
    report = installation_document(cache_folder(), store_path(store), key_of)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    if report["missing"]:
        raise typer.Exit(1)


def _print_report(report: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in installation_rows(report):
        table.add_row(name, plain(value))
    data().print(table)
    if report["install"] is None:
        data().print("everything is there")
    else:
        data().print("something is missing; this installs it:")
        data().print(plain(report["install"]), soft_wrap=True)
