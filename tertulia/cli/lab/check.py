"""`lab check`: how often the laboratory's verdicts err, on made figures of which the truth is known."""

from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.findings import print_page_table
from tertulia.state.documents import SCHEMA_VERSION


def check(
    repetitions: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Simulated experiments of each truth.")
    ] = 200,
    cases: Annotated[int, typer.Option(metavar="N", min=2, max=500, help="Cases of each experiment.")] = 16,
    sources: Annotated[
        int, typer.Option(metavar="N", min=1, max=500, help="Sources of the cases, where sources differ.")
    ] = 8,
    seed: options.SeedOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Simulate experiments of which the truth is known, and tell how often the laboratory's verdicts err.

    Example: tertulia lab check --repetitions 20
    """
    from tertulia.lab.check import check_verdicts, rates_table

    with exit_when_interrupted(), status_line("simulating") as line:
        rates = check_verdicts(repetitions, cases, sources, 1 if seed is None else seed, show=line.show)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "rates": [rate.model_dump() for rate in rates]})
        return
    data().print(plain(f"{rates[0].repetitions} experiments of each truth, {cases} cases, as Table 2 has them"))
    print_page_table(rates_table(rates))
