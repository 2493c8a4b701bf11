"""`lab stability`: how stable scores and removed sets are when the scoring responses are drawn anew."""

from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import model_access
from tertulia.cli.opening import open_existing
from tertulia.cli.terminal.output import print_json
from tertulia.cli.terminal.status_line import status_line


def stability(
    runs: options.RunsArgument,
    draws: Annotated[int, typer.Option(metavar="K", min=2, max=100, help="How often the responses are drawn.")] = 4,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Draw the scoring responses of stored turns anew, and tell how far scores and removals by λ stay the same.

    Example: tertulia lab stability @last --draws 4
    """
    from tertulia.lab.stability import measure_stability, stability_document, stability_page

    with open_existing(store) as opened:
        records = list({run.run: run for run in map(opened.run, runs)}.values())
        with exit_when_interrupted(), status_line("drawing") as line:
            found = measure_stability(opened, records, model_access(line), draws, line.show)
    if as_json:
        print_json(stability_document(found, records))
    else:
        print("\n".join(stability_page(found, records)))
