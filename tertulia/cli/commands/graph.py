"""`graph`: a graph as Mermaid text."""

from typing import Annotated

import typer

from tertulia.cli.environment import additions
from tertulia.cli.option_values import read_settings
from tertulia.cli.options import ExtensionOption, JsonOption, NoStoreOption, SettingsOption
from tertulia.cli.terminal.output import print_json
from tertulia.runs.catalog.drawing import GRAPHS, draw_graph, drawing_document


def graph(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"{', '.join(GRAPHS[:-1])} or {GRAPHS[-1]}."),
    ],
    scenario: Annotated[
        str | None,
        typer.Option(metavar="SCENARIO", help="A scenario that composes it; the defaults without one."),
    ] = None,
    xray: Annotated[
        bool, typer.Option("--xray/--no-xray", help="Draw the steps of the graphs inside, or each as one box.")
    ] = True,
    settings: SettingsOption = None,
    extension: ExtensionOption = None,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a graph as Mermaid text, with the nodes that stand in it.

    Example: tertulia graph group_chat --set nodes.score=length
    """
    drawing = draw_graph(name, scenario, read_settings(settings), additions(extension), xray)
    if as_json:
        print_json(drawing_document(drawing))
    else:
        print(drawing.mermaid, end="")
