"""`export`: a run as a file: JSON lines from which every table can be made, and a transcript that people read."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.environment import store_path
from cli.options import JsonOption, RunArgument, StoreOption
from cli.terminal.output import plain, print_json, progress
from state.errors import UsageError
from storage.store import SqliteStore
from tertulia.documents import SCHEMA_VERSION
from tertulia.exporting import run_records
from tertulia.transcript import transcript
from tertulia.written_files import STANDARD_OUTPUT, check_file, write_lines


def export(
    run: RunArgument,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every record as a line of JSON; -: standard output.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a transcript for people; -: standard output.")
    ] = None,
    thoughts: Annotated[
        bool,
        typer.Option("--thoughts", help="In the transcript: under every turn the thoughts, bids and removed units."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a run to files: JSON lines for programs, a Markdown transcript for people.

    Example: tertulia export @last --jsonl run.jsonl --markdown run.md --thoughts
    """
    path = store_path(store)
    _check(jsonl, markdown, path, thoughts, force, as_json)
    with SqliteStore.open(path, create=False) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        try:
            if jsonl is not None:
                write_lines(jsonl, map(json.dumps, run_records(opened, record, start)))
            if markdown is not None:
                write_lines(markdown, transcript(opened, record, start, thoughts))
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    written = {"jsonl": jsonl, "markdown": markdown}
    if as_json:
        files = {name: str(file) if file else None for name, file in written.items()}
        print_json({"schema_version": SCHEMA_VERSION, "run": record.run, **files})
    for file in written.values():
        if file not in (None, STANDARD_OUTPUT):
            progress().print(plain(f"wrote {file}"))


def _check(jsonl: Path | None, markdown: Path | None, store: Path, thoughts: bool, force: bool, as_json: bool) -> None:
    """Refuse what can't be written, before anything is.

    Raises:
        UsageError: No file is named, or one that can't be it.
    """
    files = [file for file in (jsonl, markdown) if file is not None]
    if not files:
        raise UsageError("nothing to export to; give --jsonl FILE, --markdown FILE, or both (-: standard output)")
    if thoughts and markdown is None:
        raise UsageError("--thoughts is for the transcript; give --markdown FILE (JSON lines have them anyway)")
    if as_json and STANDARD_OUTPUT in files:
        raise UsageError("--json and a file - would both go to standard output; give one of them")
    if len(files) == 2 and files[0].resolve() == files[1].resolve():
        raise UsageError(f"--jsonl and --markdown are both {jsonl}; give two files")
    for file in files:
        check_file(file, store, force)
