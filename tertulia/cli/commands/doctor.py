"""`doctor`: installed parts, the hardware they run on, the remedy for each missing part; or features of a server."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from rich.table import Table

from tertulia.cli.environment import cache_folder, key_of, store_path
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.runs.access.installation import installation_document, installation_rows
from tertulia.runs.access.server_tables import server_table, table_document, table_rows
from tertulia.state.errors import UsageError

ServerOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL#NAME",
        help="Ask this server instead, by some two dozen small requests, what it honours of what runs send.",
    ),
]
KeepOption = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="With --server: the run of this server that keeps the table.")
]


def doctor(
    server: ServerOption = None, run: KeepOption = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Show installed parts, the device, precision and threads to be used, and the remedy for each missing part.

    With --server, show what a model's server honours instead.

    Example: tertulia doctor
    """
    if server is not None:
        return _check_server(server, run, store, as_json)
    if run is not None:
        raise UsageError("--run keeps the table of a server; give --server with it")
    report = installation_document(cache_folder(), store_path(store), key_of)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    if report["missing"]:
        raise typer.Exit(1)


def _check_server(server: str, run: str | None, store: str | None, as_json: bool) -> None:
    with nullcontext() if run is None else open_existing(store) as opened:
        table = server_table(server, key_of, opened, run or "")
    if as_json:
        print_json(table_document(table))
    else:
        _print_rows(table_rows(table))


def _print_rows(rows: Iterable[tuple[str, ...]]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        table.add_row(*map(plain, row))
    data().print(table)


def _print_report(report: dict[str, Any]) -> None:
    _print_rows(installation_rows(report))
    if report["install"] is None:
        data().print("everything is there")
    else:
        data().print("something is missing; this installs it:")
        data().print(plain(report["install"]), soft_wrap=True)
