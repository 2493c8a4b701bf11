"""`outcomes`: what came of stored conversations for their people."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_embedding_model, open_existing
from tertulia.cli.options import JsonOption, RunsArgument, StoreOption
from tertulia.cli.terminal.asking import ask
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.views.reading.exchanges import check_is_no_album_chat


def outcomes(
    runs: RunsArgument,
    judge: Annotated[
        str | None, typer.Option(metavar="ID", help="A model that scores the same beside the rules.")
    ] = None,
    embedder: Annotated[
        str, typer.Option(metavar="ID", help="What lines are compared with, as of behaviour.")
    ] = "minilm",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score what came of conversations for everybody: goals, tone, secrets, news, sense (Sotopia's dimensions).

    Example: tertulia outcomes @last --judge smollm2
    """
    from tertulia.cli.views.outcomes import print_outcomes
    from tertulia.lab.annotations.outcomes import judged_outcomes, outcome_requests
    from tertulia.lab.annotations.outcomes_report import OutcomesReport, RunOutcomes, outcomes_document
    from tertulia.views.measuring.outcomes import read_outcomes

    with open_existing(store) as opened:
        records = list({record.run: record for record in map(opened.run, runs)}.values())
        for record in records:
            check_is_no_album_chat(record, "outcomes")
        model, found = open_embedding_model(embedder), []
        for record in records:
            start = opened.start(record.run)
            requests = outcome_requests(start, opened.turns(record.run)) if judge else []
            judged = judged_outcomes(ask(opened, record, judge, requests) if requests else [])
            with status_line(f"reading {record.run}"):
                found.append(RunOutcomes(record, read_outcomes(opened, record, start, model), judged))
    report = OutcomesReport(found, embedder, judge)
    if as_json:
        print_json(outcomes_document(report))
    else:
        print_outcomes(data(), report)
