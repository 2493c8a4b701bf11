"""`lab faithfulness`: whether scores tell which units a line depended on."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import model_access, store_path
from tertulia.cli.lab.reports import ForceOption, OutOption
from tertulia.cli.opening import open_existing
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.findings import print_page_table


def faithfulness(
    targets: Annotated[list[str], typer.Argument(metavar="NAME", help="Experiments, ids of runs, or @last; pooled.")],
    turns: Annotated[int, typer.Option(metavar="N", min=1, help="Lines, evenly drawn over sources and cases.")] = 20,
    ablations: Annotated[int, typer.Option(metavar="N", min=8, max=1000, help="Random ablations of each line.")] = 32,
    scorers: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Which scorers, with commas between; all.")
    ] = None,
    setting: Annotated[
        str | None, typer.Option(metavar="SETTING", help="Of an experiment; the one that others are compared with.")
    ] = None,
    drops: Annotated[bool, typer.Option("--drops/--no-drops", help="Whether top-k drops are measured, too.")] = True,
    report_only: Annotated[bool, typer.Option("--report-only", help="Measure nothing: report what is stored.")] = False,
    out: OutOption = Path("reports"),
    force: ForceOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Remove units of stored prompts at random, and tell which scorer knows the units that the spoken line depended on.

    Measured lines are kept in the store: after an interrupt the same command goes on with the rest.

    Example: tertulia lab faithfulness @last --turns 4 --ablations 16
    """
    from tertulia.lab.annotations.ablations import AblationFigures
    from tertulia.lab.faithfulness import TOPS, chosen_lines, measure_faithfulness, models_for, read_scorers
    from tertulia.lab.faithfulness_page import (
        NAME,
        comparisons_table,
        faithfulness_document,
        faithfulness_page,
        figures_table,
        headline,
    )
    from tertulia.lab.pages.page_files import check_report_folder, write_page

    chosen, folder = read_scorers(scorers), out / NAME
    with open_existing(store) as opened:
        lines = chosen_lines(opened, targets, setting, turns)
        check_report_folder(folder, NAME, ", ".join(targets), store_path(store), force)
        with exit_when_interrupted(), status_line("reading") as line:
            models = models_for(lines[0].record, model_access(line), report_only)
            figures = AblationFigures(opened, lines[0].record.model, models)
            found = measure_faithfulness(figures, lines, ablations, chosen, line.show, TOPS if drops else ())
    document = faithfulness_document(found, targets)
    files = write_page(faithfulness_page(found, shlex.join(["tertulia", *sys.argv[1:]])), document, folder)
    if as_json:
        print_json(document | {"files": [str(file) for file in files]})
    else:
        print_page_table(figures_table(found))
        data().print()
        print_page_table(comparisons_table(found))
        data().print(plain(headline(found)))
    progress().print(plain(f"wrote {files[0]}, {files[1].name}, and {len(files) - 2} files of plots and data"))
