"""`diff`: two runs beside each other."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.comparison import print_comparison
from tertulia.views.reading.comparing import compare, comparison_document, diversity
from tertulia.views.wording.comparison_phrases import sameness


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="The id of a run, or @last.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The id of the run to compare it with.")],
    turn: Annotated[
        int | None, typer.Option(metavar="N", help="Compare this turn alone, to its last record; 0: the preparation.")
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 4 if anything differs.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs: their settings, the point at which they part, and every turn; ids and dates are disregarded.

    Example: tertulia diff k3f9 @last --exit-code
    """
    with open_existing(store) as opened:
        compared = compare(opened, a, b, turn)
    figures = {}
    if turn is None:
        with status_line("measuring both conversations"):
            figures = diversity(compared)
    if as_json:
        print_json(comparison_document(compared, figures))
    elif compared.is_same:
        data().print(plain(sameness(compared)))
    else:
        print_comparison(data(), compared, figures)
    if exit_code and not compared.is_same:
        raise typer.Exit(4)
