"""`score`: how much attention responses pay to the units of a prompt."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.opening import open_language_model
from tertulia.cli.options import CodeOption, JsonOption, NoStoreOption
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.state.parameters import Parameters
from tertulia.state.text import number
from tertulia.views.measuring.scores import check_responses, read_prompt, score_document, score_prompt


def score(
    prompt: Annotated[
        Path, typer.Argument(metavar="FILE", help='A file {"units": [{"id", "block", "kind", "text", "removable"}]}.')
    ],
    response: Annotated[list[str], typer.Option(metavar="TEXT", help="A response to the prompt; may be repeated.")],
    model: Annotated[
        str, typer.Option(metavar="ID", help="smollm2 (embedded), a folder, or a Hugging Face id.")
    ] = "smollm2",
    reducer: Annotated[
        str, typer.Option(metavar="NAME", help="sum-mean (the paper's), mean-mean, beyond-neutral, capped or learned.")
    ] = "sum-mean",
    scored_layers: Annotated[str, typer.Option(metavar="NAME", help="auto, all, full, or numbers: 0,5,11.")] = "auto",
    precision: Annotated[str, typer.Option(metavar="NAME", help="auto, float32, bfloat16 or float16.")] = "auto",
    trust_remote_code: CodeOption = None,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score the units of a prompt by the attention that responses pay to them (Eq. 1), averaged over the responses.

    Example: tertulia score prompt.json --response "Good morning!" --precision float32 --json
    """
    chosen = {"reducer": reducer, "precision": precision, "scored_layers": scored_layers}
    parameters = Parameters().with_settings(chosen)
    units = read_prompt(prompt)
    check_responses(response)
    language_model = open_language_model(model, parameters, trust_remote_code)
    with status_line(f"scoring {len(units)} units"):
        scored = asyncio.run(score_prompt(units, response, language_model, parameters))
    if as_json:
        print_json(score_document(scored))
        return
    rows = [Row((unit.id, unit.block, number(scored.scores[unit.id], 4), unit.text)) for unit in scored.units]
    print_table(data(), ("unit", "block", "score", "text"), rows, right=("score",))
