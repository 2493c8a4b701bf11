"""`lab album`: album chats of the low and the high setting, run and compared."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted, store_hint
from tertulia.cli.environment import model_access, print_note, store_path
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.option_values import read_model, read_seed, read_settings
from tertulia.cli.terminal.completion import complete_run
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.runs.driving.events import Event, Noted, RunEnded, RunStarted, StepStarted
from tertulia.runs.planning.starting import DEFAULT_SEED
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore


def album(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOW HIGH]",
            help="Stored runs of the low and of the high setting; without them both are run first.",
            autocompletion=complete_run,
        ),
    ] = None,
    agents: Annotated[int | None, typer.Option(metavar="N", min=2, help="Run both: how many villagers.")] = None,
    rounds: Annotated[int | None, typer.Option(metavar="N", min=1, help="Run both: how many rounds.")] = None,
    seed: options.SeedOption = None,
    model: options.ModelOption = None,
    rehearse: options.RehearseOption = False,
    settings: options.SettingsOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the page, the tables (CSV) and plots into this folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    embedder: Annotated[
        str, typer.Option(metavar="ID", help="What sim is measured with: minilm (embedded), a folder, or an id.")
    ] = "minilm",
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Compare album chats of the low and the high setting: length, variety, naming, repetition and choice, by call.

    Example: tertulia lab album --agents 8 --rounds 2 --rehearse --out album
    """
    from tertulia.lab.albums.album_comparison import album_document, compare_albums, page, plan_both, run_both
    from tertulia.lab.albums.album_files import check_folder, write_folder

    chosen = read_settings(settings, seed=seed, agents=agents, max_turns=rounds)
    is_new = bool(chosen or model or rehearse)
    if len(runs or ()) not in (0, 2) or is_new is bool(runs):
        raise UsageError("give two runs, LOW and HIGH, or what both are to be run with, such as --agents 8 --rounds 2")
    path = store_path(store)
    if out is not None:
        check_folder(out, path, force)
    plans = plan_both(chosen, read_model(model, rehearse), read_seed(chosen, DEFAULT_SEED)) if is_new else []
    with SqlStore.open(path, create=is_new) as opened:
        if is_new:
            with exit_when_interrupted(), status_line("loading") as line:
                runs = run_both(opened, plans, model_access(line), lambda event: _show(opened, line, event))
        low, high = runs or ("", "")
        similarity = open_embedding_model(embedder)
        with status_line("comparing"):
            compared = compare_albums(opened, low, high, similarity, embedder)
    for file in write_folder(compared, out) if out is not None else ():
        progress().print(plain(f"wrote {file}"))
    if as_json:
        print_json(album_document(compared))
    else:
        print("\n".join(page(compared)))


def _show(store: SqlStore, line: StatusLine, event: Event) -> None:
    """Show the progress of the runs, and how to go on with one that stopped."""
    match event:
        case RunStarted():
            with line.pause():
                progress().print(plain(f"run {event.run.run} ({event.run.parameters.get('setting')})"))
        case StepStarted():
            line.show(f"turn {event.turn}: {event.agent}")
        case Noted():
            with line.pause():
                print_note(event.text)
        case RunEnded() if event.status != "finished":
            with line.pause():
                progress().print(plain(f"to go on: tertulia {event.way_on}{store_hint(store)}"))
