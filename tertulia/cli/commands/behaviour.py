"""`behaviour`: the people that lead, mediate, propose and get things done in a stored conversation."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_embedding_model, open_existing
from tertulia.cli.options import JsonOption, RunArgument, StoreOption
from tertulia.cli.terminal.asking import ask
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.views.reading.exchanges import check_is_no_album_chat

_PROTOTYPES = "prototypes"


def behaviour(
    run: RunArgument,
    labelled_by: Annotated[
        str, typer.Option(metavar="LABELLER", help="prototypes (sentences typical of each act), or a model.")
    ] = _PROTOTYPES,
    embedder: Annotated[
        str,
        typer.Option(
            metavar="ID", help="What lines are compared with: minilm (embedded), a folder, or a Hugging Face id."
        ),
    ] = "minilm",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which people lead, mediate, propose and get things done, with the lines that show it (ChatAgents, Fig. 5).

    Example: tertulia behaviour @last --labelled-by prototypes
    """
    from tertulia.cli.views.behaviour import print_behaviour
    from tertulia.lab.annotations.behaviour_report import behaviour_document, behaviour_report
    from tertulia.lab.annotations.speech_acts import acts_by_model, speech_act_requests

    with open_existing(store) as opened:
        record = opened.run(run)
        check_is_no_album_chat(record, "behaviour")
        turns = opened.turns(record.run)
        count = sum(turn.speaker is not None for turn in turns)
        acts = None
        if count and labelled_by != _PROTOTYPES:
            acts = acts_by_model(turns, ask(opened, record, labelled_by, speech_act_requests(turns)))
        compared_with = open_embedding_model(embedder, "") if count else None
        with status_line(f"comparing {count} lines"):
            report = behaviour_report(opened, record, compared_with, embedder, acts, labelled_by)
    if as_json:
        print_json(behaviour_document(report))
    else:
        print_behaviour(data(), report)
