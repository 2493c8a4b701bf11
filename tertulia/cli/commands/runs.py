"""`runs`: list runs, label them, remove them."""

from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.commands import Group, add
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import can_ask
from tertulia.cli.terminal.tables import print_columns
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.records import RunStatus
from tertulia.storage.addresses import is_missing
from tertulia.storage.store import SqlStore
from tertulia.views.reading.listing import HEADINGS, RunList, delete, list_runs, plan_deletion, runs_document, set_label

#: The columns that a narrow terminal leaves out, in this order.
_DROPPED = ("seed", "order", "model", "from", "λ", "ended_by", "date", "turns", "label")

_STATUSES = get_args(RunStatus)


def list_all(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only runs of this scenario."),
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Only runs of this status: {', '.join(_STATUSES)}.")
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="Only runs with this label.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many, the newest.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first; forks are listed under their origin, a simulation's conversations as one.

    A narrow terminal shows fewer columns: seed goes first, then order, model, from, λ, date, turns and label.

    Example: tertulia runs --scenario tidewell --status finished --limit 10
    """
    if context.invoked_subcommand is not None:
        filters = {"--scenario": scenario, "--status": status, "--label": label, "--limit": limit}
        if given := next((name for name, value in filters.items() if value is not None), None):
            raise UsageError(f"{given} filters the list; it does not go with `runs {context.invoked_subcommand}`")
        return
    if status is not None and status not in _STATUSES:
        raise UsageError(f"--status {status}: unknown{nearest_hint(status, _STATUSES)}")
    path = store_path(store)
    listed = RunList()
    if not is_missing(path) or not Path(str(path)).parent.is_dir():  # the latter is an error, told by opening it
        with SqlStore.open(path, create=False) as opened:
            listed = list_runs(opened, scenario, cast("RunStatus | None", status), label, limit)
    if as_json:
        print_json(runs_document(listed))
    elif not listed.runs:
        is_filtered = any(value is not None for value in (scenario, status, label))
        hint = f"no such runs in {path}" if is_filtered else f"no runs in {path}; begin with: tertulia run tidewell"
        data().print(plain(hint))
    else:
        _print_runs(listed)


def _print_runs(listed: RunList) -> None:
    rows = listed.rows
    print_columns(HEADINGS, [listed.cells(row) for row in rows], right=("λ", "seed", "turns"), drop=_DROPPED)
    if any(row.conversations for row in rows):
        data().print(plain("the conversations of a simulation: tertulia days SIM --encounters", "dim"))


def rm(
    context: typer.Context,
    run: Annotated[list[str], typer.Argument(metavar="RUN", help="Ids of runs, or @last.")],
    with_forks: Annotated[
        bool, typer.Option("--with-forks", help="Remove their forks too; without this, forks are a reason to refuse.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove runs with all that hangs on them: turns, thoughts, scores, calls of models, checkpoints.

    Example: tertulia runs rm k3f9 --with-forks
    """
    store, as_json = _inherited(context, store, as_json)
    path = store_path(store)
    with SqlStore.open(path, create=False) as opened:
        opened.clear_locks()
        deletion = plan_deletion(opened, run, with_forks)
        progress().print(plain(f"to be removed: {deletion}"))
        if not yes:
            _confirm()
        delete(opened, deletion)
    if as_json:
        gone = [record.run for record in (*deletion.runs, *deletion.forks)]
        print_json(
            {"schema_version": SCHEMA_VERSION, "removed": gone, "turns": deletion.turns, "bytes": deletion.bytes}
        )
    else:
        progress().print(plain("removed"))


def _confirm() -> None:
    """Ask whether to remove, and exit with 1 if not; `UsageError` if nobody can be asked."""
    if not can_ask():
        raise UsageError("nobody can be asked here; to remove it without a question, give --yes")
    if not typer.confirm("remove it?", err=True):
        progress().print("nothing was removed")
        raise typer.Exit(1)


def label(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, or @last.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The label; '' takes it away.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a run a label, by which `runs --label` finds it.

    Example: tertulia runs label @last pilot
    """
    store, as_json = _inherited(context, store, as_json)
    with open_existing(store) as opened:
        record = set_label(opened, run, text)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "run": record.run, "label": text or None})
    else:
        progress().print(plain(f"{record.run} is labelled {text}" if text else f"{record.run} has no label"))


def _inherited(context: typer.Context, store: StoreOption, as_json: bool) -> tuple[StoreOption, bool]:
    """Return `--store` and `--json`, which may also precede the name of the command."""
    above = context.parent.params if context.parent is not None else {}
    return store or above.get("store"), as_json or bool(above.get("as_json"))


runs = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)
runs.callback()(list_all)
add(runs, rm)
add(runs, label)
