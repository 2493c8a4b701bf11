"""Arguments and options that several reading commands share."""

from typing import Annotated

import typer

from cli.terminal.completion import complete_run

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="The id of a run, or @last.", autocompletion=complete_run)
]
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Ids of runs, or @last; several are pooled.", autocompletion=complete_run),
]
PaperOption = Annotated[bool, typer.Option("--paper", help="With the figures that ChatAgents published.")]
