"""`doctor`: installed parts, the hardware they run on, the remedy for each missing part; or features of a server."""

from typing import Annotated, Any

import typer
from rich.table import Table

from tertulia.cli.environment import cache_folder, key_of, store_path
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.runs.access.installation import installation_document, installation_rows
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError
from tertulia.state.server_table import STEP, ServerTable

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
        _check_server(server, run, store, as_json)
        return
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
    from tertulia.models.served.chat_names import is_same_served, key_variable
    from tertulia.models.served.server_check import check_server

    if run is None:
        table = check_server(server, key_of(key_variable(server)))
    else:
        with open_existing(store) as opened:
            record = opened.run(run)
            if not is_same_served(record.model, server):
                raise UsageError(f"the model of {record.run} is {record.model}, and not one of {server}")
            table = check_server(server, key_of(key_variable(server)))
            opened.save_step(record.run, 0, "", STEP, table)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **table.model_dump(mode="json")})
    else:
        _print_table(table)


def _print_table(table: ServerTable) -> None:
    words = {True: "yes", False: "no", None: "unknown"}
    shown = Table(box=None, pad_edge=False, show_header=False)
    for finding in table.findings:
        shown.add_row(plain(finding.feature), words[finding.honoured], plain(finding.seen, "dim"))
    data().print(shown)
    data().print(plain(f"{table.requests} requests to {table.server}", "dim"))


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
