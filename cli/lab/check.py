"""`lab check`: how often the laboratory's verdicts err, on made figures of which the truth is known."""

from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.terminal.tables import Row, print_table
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
    from tertulia.lab.check import check_verdicts
    from tertulia.lab.reports.verdicts import OUTCOMES

    with exit_when_interrupted(), status_line("simulating") as line:
        rates = check_verdicts(repetitions, cases, sources, 1 if seed is None else seed, show=line.show)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "rates": [rate.model_dump() for rate in rates]})
        return
    shown = [outcome for outcome in OUTCOMES if any(rate.outcomes[outcome] for rate in rates)]
    headings = ["truth", "sources", *shown, "experiments with a wrong verdict", "large effects reproduced"]
    rows = [
        Row(
            [
                rate.truth,
                str(rate.sources),
                *(f"{rate.outcomes[outcome]:.1%}" for outcome in shown),
                *("–" if share is None else f"{share:.1%}" for share in (rate.families_wrong, rate.large)),
            ]
        )
        for rate in rates
    ]
    first = rates[0]
    data().print(plain(f"{first.repetitions} experiments of each truth, {first.cases} cases, as Table 2 has them"))
    print_table(data(), headings, rows, right=headings[1:])
