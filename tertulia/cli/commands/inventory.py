"""`inventory`: a model's answers to a personality inventory about everybody in stored conversations."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.option_values import named_model
from tertulia.cli.options import JsonOption, PaperOption, RunsArgument, StoreOption
from tertulia.cli.terminal.asking import ask
from tertulia.cli.terminal.output import data, print_json
from tertulia.views.reading.exchanges import check_is_no_album_chat


def inventory(
    runs: RunsArgument,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Who answers; each run's own model if it is not given.")
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Let a stand-in without weights answer.")] = False,
    paper: PaperOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a model fill in the 44 items of the Big Five Inventory about everybody, per 30 turns (ChatAgents, Table I).

    Answers are kept with the run, and an answered item is not asked again.

    Example: tertulia inventory @last --model smollm2
    """
    from tertulia.cli.views.inventory import print_inventory
    from tertulia.lab.annotations.inventory import inventory_document, inventory_report, inventory_requests

    asked = named_model(model, rehearse)
    with open_existing(store) as opened:
        records = list({record.run: record for record in map(opened.run, runs)}.values())
        for record in records:
            check_is_no_album_chat(record, "inventory")
        answers = {
            record.run: ask(opened, record, asked, inventory_requests(opened.turns(record.run))) for record in records
        }
        report = inventory_report(opened, records, answers)
    if as_json:
        print_json(inventory_document(report, paper))
    else:
        print_inventory(data(), report, paper)
