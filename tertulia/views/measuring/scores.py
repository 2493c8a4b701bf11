"""Attention scores of a prompt from a file, for `tertulia score`, also as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.files import read_text
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Unit
from tertulia.state.scored_layers import layers_to_score
from tertulia.state.wrong_values import wrong_value

#: The largest prompt file that is read: a million tokens as JSON.
_MOST_PROMPT_BYTES = 16 * 10**6


class _PromptFile(BaseModel):
    """A prompt file: units in prompt order."""

    model_config = ConfigDict(defer_build=True)

    units: tuple[Unit, ...]


def read_prompt(file: Path) -> tuple[Unit, ...]:
    """Return the units of a prompt file, `{"units": [{"id", "block", "kind", "text", "removable"}]}`.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It can't be read as a prompt; the message names the place.
    """
    try:
        document = json.loads(read_text(file, _MOST_PROMPT_BYTES, may_be_pipe=True))
    except FileNotFoundError:
        raise NotFoundError(f"no prompt file {file}") from None
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{file} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise UsageError(f"{file} is not JSON: {error}") from None
    try:
        units = _PromptFile.model_validate(document).units
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "the file"
        raise UsageError(f"{file}: {place}: {wrong_value(problem)}") from None
    if not units:
        raise UsageError(f"{file} has no units; a prompt needs at least one")
    seen: set[str] = set()
    for unit in units:
        if unit.id in seen:
            raise UsageError(f"{file}: the unit id {unit.id!r} stands twice; ids must differ")
        seen.add(unit.id)
    return units


@dataclass(frozen=True)
class ScoredPrompt:
    """The attention score of every unit, with all that is needed to compute it again.

    Attributes:
        units: In prompt order.
        scores: By unit, averaged over the responses.
        token_spans: By unit, first and past-the-last token of the prompt.
        input_ids: The tokens of the prompt, as fed to the model.
        reducer: R of Eq. 1.
        layers: Over which attention was summed; `None`: over all.
    """

    units: tuple[Unit, ...]
    scores: Mapping[str, float]
    token_spans: Mapping[str, tuple[int, int]]
    input_ids: Sequence[int]
    responses: Sequence[Sequence[int]]
    model: str
    reducer: str
    precision: str
    layers: tuple[int, ...] | None = None


async def score_prompt(
    units: tuple[Unit, ...], responses: Sequence[str], model: LanguageModel, parameters: Parameters
) -> ScoredPrompt:
    """Return the attention score of every unit (Eq. 1 of APP), averaged over responses that are not empty.

    Raises:
        AttentionUnavailableError: No layer of the model sees the whole prompt.
        SettingError: It has no layer of a number in `scored_layers`.
    """
    from tertulia.prompts.render import render
    from tertulia.state.language_model import ScoringOptions

    rendered = render(Prompt(units=units, speaker="", layout="single_message"), model.tokenizer)
    tokens = [model.tokenizer.encode(response) for response in responses]
    longest = len(rendered.input_ids) + max(map(len, tokens), default=0)
    layers = layers_to_score(parameters.scored_layers, model, longest)
    reducer = parameters.reducer or "sum-mean"
    scored = await model.score(rendered, tokens, ScoringOptions(reducer=reducer, layers=layers))
    return ScoredPrompt(
        units=units,
        scores={unit.id: sum(scores[unit.id] for scores in scored) / len(scored) for unit in units},
        token_spans={unit.id: rendered.token_spans[unit.id] for unit in units},
        input_ids=rendered.input_ids,
        responses=tokens,
        model=model.id,
        reducer=reducer,
        precision=parameters.precision,
        layers=layers,
    )


def check_responses(responses: Sequence[str]) -> None:
    """Raise `UsageError` for an empty response."""
    for index, response in enumerate(responses, 1):
        if not response:
            raise UsageError(f"response {index} is empty; there is nothing whose attention could be scored")


def score_document(scored: ScoredPrompt) -> Document:
    """Return scores as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "model": scored.model,
        "reducer": scored.reducer,
        "precision": scored.precision,
        "scored_layers": None if scored.layers is None else list(scored.layers),
        "input_ids": list(scored.input_ids),
        "responses": [list(response) for response in scored.responses],
        "units": [
            {"id": unit.id, "token_span": list(scored.token_spans[unit.id]), "score": scored.scores[unit.id]}
            for unit in scored.units
        ],
    }
