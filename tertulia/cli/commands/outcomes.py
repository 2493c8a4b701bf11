"""`outcomes`: a model's scores for the outcome of stored conversations for their people."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, RunsArgument, StoreOption
from tertulia.cli.terminal.asking import ask
from tertulia.cli.terminal.output import data, print_json
from tertulia.views.reading.exchanges import check_is_no_album_chat


def outcomes(
    runs: RunsArgument,
    judge: Annotated[str, typer.Option(metavar="ID", help="The model that reads the conversations and scores them.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a model score the outcome of conversations for everybody: goals, tone, secrets, news, sense (Sotopia).

    Example: tertulia outcomes @last --judge smollm2
    """
    from tertulia.cli.views.outcomes import print_outcomes
    from tertulia.lab.annotations.outcomes import (
        OutcomesReport,
        RunOutcomes,
        judged_outcomes,
        lines_by_person,
        outcome_requests,
        outcomes_document,
    )

    with open_existing(store) as opened:
        records = list({record.run: record for record in map(opened.run, runs)}.values())
        for record in records:
            check_is_no_album_chat(record, "outcomes")
        found = []
        for record in records:
            start, turns = opened.start(record.run), opened.turns(record.run)
            requests = outcome_requests(start, turns)
            judged = judged_outcomes(ask(opened, record, judge, requests) if requests else [])
            found.append(RunOutcomes(record, lines_by_person(start, turns), judged))
    report = OutcomesReport(found, judge)
    if as_json:
        print_json(outcomes_document(report))
    else:
        print_outcomes(data(), report)
