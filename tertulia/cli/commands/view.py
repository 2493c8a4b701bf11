"""`view`: a local page over a store."""

import asyncio
import secrets
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import configuration_folder, model_access, store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.addresses import DEFAULT_STORE, is_missing
from tertulia.storage.store import SqlStore

RunArgument = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="The run or simulation to show first: an id or @last."),
]
PortOption = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=65535, help="The port; if it is in use, the next free one. 0: any free port."),
]
NoOpenOption = Annotated[bool, typer.Option("--no-open", help="Open no browser.")]
AllowRunsOption = Annotated[
    bool,
    typer.Option(
        "--allow-runs",
        help="Let the page begin, fork and resume runs, check lines and give seats; implies --token.",
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="ID", help="A model that --allow-runs lets the page begin runs with; repeatable."),
]
ReportsOption = Annotated[
    Path,
    typer.Option("--reports", metavar="FOLDER", help="Where the reports of experiments are, as `lab --out` names it."),
]
TokenOption = Annotated[
    bool, typer.Option("--token", help="Answer only requests with the token of the printed address.")
]
ExampleOption = Annotated[
    bool,
    typer.Option(
        "--example", help="Show the shipped example, as tertulia-example.db in this folder: no model is needed."
    ),
]


def view(
    run: RunArgument = None,
    port: PortOption = 8017,
    no_open: NoOpenOption = False,
    allow_runs: AllowRunsOption = False,
    model: ModelsOption = None,
    token: TokenOption = False,
    reports: ReportsOption = Path("reports"),
    example: ExampleOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the runs of a store as a page in the browser, also while they go on; Ctrl-C ends it.

    It shows why each utterance was said, and is served on this machine only (docs/viewer.md).

    Example: tertulia view @last
    """
    from tertulia.viewer.browser import open_browser
    from tertulia.viewer.documents.places import place_of
    from tertulia.viewer.example import example_store
    from tertulia.viewer.server import build_app
    from tertulia.viewer.serving import PageServer, listen

    if model and not allow_runs:
        raise UsageError("--model names a model that the page may begin runs with; give --allow-runs with it")
    if example and store is not None:
        raise UsageError("--example shows the shipped store; leave out --store")
    path = example_store(Path.cwd()) if example else store_path(store)
    with SqlStore.open(path) as opened:
        place = "" if run is None else place_of(opened, run)
    if is_missing(path):
        named = "" if path == store_path(None) else f" --store {shlex.quote(str(path))}"
        page = "on the page, or " if allow_runs else ""
        progress().print(plain(f"there is no store {path} yet; begin {page}with: tertulia run tidewell{named}"))
    if isinstance(path, Path) and store_path(None) != Path(DEFAULT_STORE):
        path = path.absolute()  # commands to copy would find another store without its name
    secret = secrets.token_urlsafe(24) if allow_runs or token else None
    argv = [sys.executable, *sys.orig_argv[1 : 1 - len(sys.argv)]] if allow_runs else None
    seats = configuration_folder() / "seats.json" if allow_runs else None
    socket = listen(port)
    if port not in (0, taken := socket.getsockname()[1]):
        progress().print(f"port {port} is in use; this is port {taken}")
    address = f"http://127.0.0.1:{taken}/{f'?token={secret}' if secret else ''}{place}"

    def answers() -> None:
        if as_json:
            print_json({"schema_version": SCHEMA_VERSION, "url": address})
        else:
            print(address, flush=True)
        if not no_open:
            open_browser(address, bool(secret), lambda: progress().print("no browser opened; open the address"))

    check = _measure if allow_runs else None
    try:
        app = build_app(path, secret, argv, lambda id: model_access().embedder(id), reports, seats, check, model or ())
        PageServer(app, answers).run([socket])
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _measure(store: SqlStore, run: str, turn: int, part: str) -> None:
    """Measure the units that a turn's lines, or a thought in a meeting, leaned on, by their reader or writer model."""
    from tertulia.lab.annotations.leave_one_out import check_turn

    record = store.run(run)
    parameters = Parameters.model_validate(record.parameters)
    opened = partial(model_access().language_model, parameters=parameters)
    asyncio.run(check_turn(store, record, store.start(record.run), turn, opened, agent=part))
