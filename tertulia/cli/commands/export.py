"""`export`: runs as files: JSON lines that hold every record, a transcript, a page, and formats of other tools."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.lab.exports.writing import FORMATS, Export, chosen_runs
from tertulia.runs.files.exporting import exported_lines
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError
from tertulia.state.records import RunRecord
from tertulia.state.written_files import STANDARD_OUTPUT, check_file, write_lines
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore
from tertulia.viewer.html_file import built_page, html_of_run
from tertulia.views.wording.transcript import transcript

RunsOrNone = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN]...", help="Ids of runs or simulations, or @last; none with --experiment."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write the page of `view` as one file to open offline; -: standard output."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Write to --out: jsonl, csv, dialogues, messages (of chat models), sdialog (SDialog's JSON), inspect "
        "(Inspect's log), dataset (for Hugging Face's datasets), mlflow, or otel (OpenTelemetry's spans).",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where --format goes, else -; a folder for dataset, mlflow, and sdialog without .json at the end.",
    ),
]


def export(
    run: RunsOrNone = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every record as a line of JSON; -: standard output.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table, a row per turn; -: standard output.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a transcript for people; -: standard output.")
    ] = None,
    html: HtmlOption = None,
    thoughts: Annotated[
        bool,
        typer.Option("--thoughts", help="In the transcript: under every turn the thoughts, bids and removed units."),
    ] = False,
    format: FormatOption = None,
    out: OutOption = None,
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="All runs of an experiment (`tertulia lab list`).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write runs to files: JSON lines or a table, a transcript or a page for people, formats of other tools.

    `tertulia metrics` reads jsonl, dialogues, messages and sdialog; docs/exports.md names readers of the others.

    Example: tertulia export @last --jsonl run.jsonl --markdown run.md --thoughts
    """
    path = store_path(store)
    if out is not None and format is None:
        raise UsageError(f"--out {out} needs --format; give {', '.join(FORMATS)}")
    named = {"jsonl": jsonl, "csv": csv, "markdown": markdown, "html": html}
    with SqlStore.open(path, create=False) as opened, opened.reading():  # of a run that goes on, whole turns
        records = chosen_runs(opened, run or (), experiment)
        further = None if format is None else Export(opened, records, format, out or STANDARD_OUTPUT, force)
        others = further.files if further else []
        _check(named, others, path, thoughts, force, as_json, len(records))
        try:
            _write(opened, records, named, thoughts)
            if further:
                further.write()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    _report(records, named, others, as_json)


def _report(
    records: Sequence[RunRecord], named: Mapping[str, Path | None], others: Sequence[Path], as_json: bool
) -> None:
    if as_json:
        files = {name: str(file) if file else None for name, file in named.items()}
        further = {"runs": [record.run for record in records], "files": [str(file) for file in others]}
        print_json({"schema_version": SCHEMA_VERSION, "run": records[0].run, **files, **(further if others else {})})
    for file in (*named.values(), *others):
        if file not in (None, STANDARD_OUTPUT):
            progress().print(plain(f"wrote {file}"))


def _write(store: SqlStore, runs: Sequence[RunRecord], named: Mapping[str, Path | None], thoughts: bool) -> None:
    for format in ("jsonl", "csv"):
        if file := named[format]:
            write_lines(file, exported_lines(store, runs, format))
    if markdown := named["markdown"]:
        (run,) = runs
        write_lines(markdown, transcript(store, run, store.start(run.run), thoughts))
    if html := named["html"]:
        (run,) = runs
        write_lines(html, html_of_run(store, run.run))


def _check(
    named: Mapping[str, Path | None],
    others: Sequence[Path],
    store: StoreAddress,
    thoughts: bool,
    force: bool,
    as_json: bool,
    runs: int,
) -> None:
    """Raise `UsageError` if no file is named, a file can't be written, or the page is not built."""
    options = {f"--{name}": file for name, file in named.items() if file is not None}
    files = [*options.values(), *others]
    if not files:
        raise UsageError(
            "nothing to export to; give --jsonl FILE, --csv FILE, --markdown FILE, --html FILE, or several "
            "(-: standard output), or --format NAME"
        )
    if thoughts and "--markdown" not in options:
        raise UsageError("--thoughts is for the transcript; give --markdown FILE (JSON lines have them anyway)")
    for option, what in (("--markdown", "the transcript"), ("--html", "the page")):
        if option in options and runs > 1:
            raise UsageError(f"{option} is {what} of one run, and {runs} are given; write them one after another")
    if as_json and STANDARD_OUTPUT in files:
        raise UsageError("--json and a file - would both go to standard output; give one of them")
    resolved = [file.resolve() for file in options.values()]
    if doubled := [option for option, file in options.items() if resolved.count(file.resolve()) > 1]:
        raise UsageError(f"{' and '.join(doubled)} are both {options[doubled[0]]}; give a file for each")
    resolved = [file.resolve() for file in files]
    if twice := next((file for file in files if resolved.count(file.resolve()) > 1), None):
        raise UsageError(f"{twice} is given for two formats; give two files")
    for file in options.values():
        check_file(file, store, force)
    if "--html" in options:
        built_page()
