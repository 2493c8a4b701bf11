"""`metrics`: how diverse dialogues are, of stored runs and of files."""

import asyncio
from contextlib import nullcontext
from typing import Annotated

import typer

from cli.environment import store_path
from cli.opening import open_embedding_model, open_language_model
from cli.options import JsonOption, StoreOption
from cli.terminal.completion import complete_run, complete_setting_name
from cli.terminal.output import data, plain, print_json, progress
from cli.terminal.status_line import status_line
from state.parameters import Parameters
from storage.store import SqliteStore
from tertulia.measuring import collect, is_stored_run


def metrics(
    dialogues: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE|LOG",
            help="Stored runs; files, and folders of files, as export writes them, or as others do (lines of dialogues "
            "or chat messages, SDialog's JSON); and the logged dialogues of ga:FOLDER.",
            autocompletion=complete_run,
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tell runs of a scenario apart by this: lambda, model, scenario, seed, or any parameter.",
            autocompletion=complete_setting_name,
        ),
    ] = None,
    embedder: Annotated[
        str, typer.Option(metavar="ID", help="minilm (embedded), a folder, or a Hugging Face id.")
    ] = "minilm",
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN|FILE",
            help="How exclusive the dialogues are against these of the same cases; may be repeated.",
            autocompletion=complete_run,
        ),
    ] = None,
    by_index: Annotated[
        bool, typer.Option("--by-index", help="Measure the utterances at each place of the dialogues, too.")
    ] = False,
    fluency: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Measure how likely utterances are under this model, such as smollm2."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how diverse the dialogues of each case are: sim (lower is more diverse), dist-1 to dist-3, and length.

    Beside them: dist-N at equal length, Vendi score, repetition, and of stored runs what was removed.

    Runs of a scenario are the dialogues of one case; a run that is given twice, say as an export too, is counted once.

    Example: tertulia metrics k3f9 @last --by lambda --json
    """
    from cli.views.metrics import print_measurement
    from tertulia.measurement import measure_cases

    with (
        SqliteStore.open(store_path(store), create=False)
        if any(map(is_stored_run, [*dialogues, *(against or [])]))
        else nullcontext() as opened
    ):
        cases = collect(dialogues, opened, by)
        others = collect(against, opened, by) if against else None
        for run in cases.repeated:
            progress().print(plain(f"run {run} is given more than once; it is counted once"))
        opened_embedder = open_embedding_model(embedder)
        model = open_language_model(fluency, Parameters()) if fluency else None
        with status_line(f"measuring {sum(map(len, cases.dialogues.values()))} dialogues"):
            measured = asyncio.run(
                measure_cases(cases, opened_embedder, embedder, opened, others, model, with_index=by_index)
            )
    if as_json:
        print_json(measured.document())
    else:
        print_measurement(data(), measured)
