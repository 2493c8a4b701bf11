"""`score` and `metrics`: figures over what was written elsewhere."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ValidationError
from rich.table import Table

from cli.opening import open_embedding_model, open_language_model
from cli.options import JsonOption, NoStoreOption
from cli.output import SCHEMA_VERSION, data, number, plain, print_json, waiting
from state.errors import NotFoundError, UsageError
from state.parameters import Parameters
from state.records import Prompt, Unit


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(score)
    app.command()(metrics)


class _PromptFile(BaseModel):
    """A prompt file: units in prompt order."""

    units: tuple[Unit, ...]


def score(
    prompt: Annotated[Path, typer.Argument(help='A file {"units": [{"id", "block", "kind", "text", "removable"}]}.')],
    response: Annotated[list[str], typer.Option(help="A response to the prompt; may be repeated.")],
    model: Annotated[str, typer.Option(help="smollm2 (embedded), a folder, or a Hugging Face id.")] = "smollm2",
    reducer: Annotated[str, typer.Option(help="sum-mean (the paper's) or mean-mean.")] = "sum-mean",
    precision: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")] = "auto",
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score the units of a prompt by the attention that responses pay to them (Eq. 1), averaged over the responses.

    Example: tertulia score prompt.json --response "Good morning!" --precision float32 --json
    """
    parameters = Parameters().with_settings({"reducer": reducer, "precision": precision})
    units = _read_prompt(prompt)
    if empty := [index for index, text in enumerate(response, 1) if not text]:
        raise UsageError(f"response {empty[0]} is empty; there is nothing whose attention could be scored")
    from prompts.render import render
    from state.language_model import ScoringOptions

    language_model = open_language_model(model, parameters)
    rendered = render(Prompt(units=units, speaker="", layout="single_message"), language_model.tokenizer)
    responses = [language_model.tokenizer.encode(text) for text in response]
    options = ScoringOptions(reducer=parameters.reducer)
    with waiting(f"scoring {len(units)} units"):
        scored = asyncio.run(language_model.score(rendered, responses, options))
    scores = {unit.id: sum(one[unit.id] for one in scored) / len(scored) for unit in units}
    if as_json:
        rows = [{"id": u.id, "token_span": list(rendered.token_spans[u.id]), "score": scores[u.id]} for u in units]
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "model": language_model.id,
                "reducer": parameters.reducer,
                "precision": parameters.precision,
                "input_ids": list(rendered.input_ids),
                "responses": responses,
                "units": rows,
            }
        )
        return
    table = Table("unit", "block", "score", "text", box=None, pad_edge=False)
    for unit in units:
        table.add_row(plain(unit.id), plain(unit.block), number(scores[unit.id], 4), plain(unit.text))
    data().print(table)


def _read_prompt(file: Path) -> tuple[Unit, ...]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(f"no prompt file {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{file} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise UsageError(f"{file} is not JSON: {error}") from None
    try:
        units = _PromptFile.model_validate(document).units
    except ValidationError as error:
        problem = error.errors()[0]
        raise UsageError(f"{file}: {'.'.join(map(str, problem['loc'])) or 'the file'}: {problem['msg']}") from None
    if not units:
        raise UsageError(f"{file} has no units; a prompt needs at least one")
    seen: set[str] = set()
    for unit in units:
        if unit.id in seen:
            raise UsageError(f"{file}: the unit id {unit.id!r} stands twice; ids must differ")
        seen.add(unit.id)
    return units


def metrics(
    dialogues: Annotated[
        list[Path], typer.Argument(help='Lines {"case", "dialogue": [[speaker, text], …]}, or runs that export wrote.')
    ],
    embedder: Annotated[str, typer.Option(help="minilm (embedded), a folder, or a Hugging Face id.")] = "minilm",
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how diverse the dialogues of each case are: sim (lower is more diverse), dist-1 to dist-3, and length.

    Example: tertulia metrics dialogues.jsonl --json
    """
    from metrics.dialogue_file import read_dialogues
    from metrics.diversity import figures_of

    cases = read_dialogues(*dialogues)
    opened = open_embedding_model(embedder)
    with waiting(f"embedding {sum(map(len, cases.values()))} dialogues"):
        figures = figures_of(cases, opened).model_dump()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "embedder": embedder, **figures})
        return
    mean = figures["mean"]
    table = Table(box=None, pad_edge=False)
    for column in ("case", *mean):
        table.add_column(column, justify="left" if column == "case" else "right")
    for case, one in [*figures["cases"].items(), ("mean", mean)]:
        table.add_row(plain(case), *(number(value) for value in one.values()))
    data().print(table)
