"""`lab population`: whether the people of stored conversations stay themselves."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.environment import store_path
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.terminal import asking
from tertulia.cli.terminal.completion import complete_run
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.storage.store import SqlStore

NamesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN|SIM|EXPERIMENT",
        help="Runs and simulations, or one experiment, whose settings are compared.",
        autocompletion=complete_run,
    ),
]
AskOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="A model that fills in the 44 items as each person of a meeting, before and after."
    ),
]


def population(
    names: NamesArgument,
    baseline: Annotated[
        str | None, typer.Option(metavar="SETTING", help="Of an experiment: what the others are compared with.")
    ] = None,
    ask: AskOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the page, tables (CSV) and plots into this folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    embedder: Annotated[
        str, typer.Option(metavar="ID", help="What lines are compared with: minilm (embedded), a folder, or an id.")
    ] = "minilm",
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Measure whether people become one another: how far apart they are, whether they can be told, and pull.

    Example: tertulia lab population @last --out population
    """
    from tertulia.lab.pages.page_files import check_report_folder, write_page
    from tertulia.lab.pages.page_markdown import markdown
    from tertulia.lab.population import gather, measure_population, questionnaires
    from tertulia.lab.population_page import NAME, population_document, population_page

    path = store_path(store)
    with SqlStore.open(path, create=False) as opened:
        gathered = gather(opened, names, baseline)
        if out is not None:
            check_report_folder(out, NAME, gathered.experiment, path, force)
        requests = questionnaires(opened, gathered) if ask is not None else {}
        answers = {run: asking.ask(opened, opened.run(run), ask, of_run) for run, of_run in requests.items()}
        model = open_embedding_model(embedder)
        with status_line("measuring") as line:
            report = measure_population(gathered, model, embedder, answers, line.show)
    page, document = population_page(report), population_document(report)
    for file in write_page(page, document, out) if out is not None else ():
        progress().print(plain(f"wrote {file}"))
    if as_json:
        print_json(document)
    else:
        print("\n".join(markdown(page, {})))
