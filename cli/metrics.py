"""`metrics`: how diverse dialogues are, of stored runs and of files."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cli.environment import store_path
from cli.opening import open_embedding_model
from cli.options import JsonOption, StoreOption
from cli.terminal.completion import complete_run, complete_setting_name
from cli.terminal.output import data, plain, print_json, progress
from cli.terminal.status_line import status_line
from cli.terminal.tables import Row, print_table
from storage.store import SqliteStore
from tertulia.measuring import collect_cases, is_dialogue_file, mean_figures, measure, metrics_document
from tertulia.phrases import number


def metrics(
    dialogues: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE",
            help='Stored runs, lines {"case", "dialogue": [[speaker, text], …]}, or files that export wrote.',
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
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how diverse the dialogues of each case are: sim (lower is more diverse), dist-1 to dist-3, and length.

    Runs of a scenario are the dialogues of one case; a run that is given twice, say as an export too, is counted once.

    Example: tertulia metrics k3f9 @last --by lambda --json
    """
    files = [Path(given) for given in dialogues if is_dialogue_file(given)]
    runs = [given for given in dialogues if not is_dialogue_file(given)]
    with SqliteStore.open(store_path(store), create=False) if runs else nullcontext() as opened:
        cases = collect_cases(files, runs, opened, by)
    for run in cases.repeated:
        progress().print(plain(f"run {run} is given more than once; it is counted once"))
    opened_embedder = open_embedding_model(embedder)
    with status_line(f"embedding {sum(map(len, cases.dialogues.values()))} dialogues"):
        figures = measure(cases, opened_embedder)
    if as_json:
        print_json(metrics_document(cases, figures, embedder))
        return
    mean = mean_figures(figures)
    names = tuple(mean.model_dump())
    rows = [
        Row((case, *(number(value) for value in figure.model_dump().values())))
        for case, figure in [*figures.items(), ("mean", mean)]
    ]
    print_table(data(), ("case", *names), rows, right=names)
    if cases.rehearsed:
        data().print(plain("rehearsed: the figures mean nothing", "dim"))
