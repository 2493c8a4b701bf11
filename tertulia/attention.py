"""Attention as a library: how much a reply attends to each unit of a prompt, and which units λ removes.

::

    from tertulia.attention import prune, unit_scores

    units = ["Ana sold the boat in March.", "Ana likes rain."]
    messages = [{"role": "user", "content": "You are Ana. " + " ".join(units) + " What about the boat?"}]
    scores = unit_scores("smollm2", messages, units, "I sold it in March.")
    kept, removed, reached = prune(units, scores, 0.5)

The numbers are those of a run (APP §3.1, Eq. 1 and Algorithm 1). Nothing is stored, and no graph runs.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tertulia.nodes.utterance.prune import WALKS
from tertulia.prompts.remove import removed_with_blocks
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.language_model import LanguageModel, RenderedPrompt, Role, ScoringOptions, Tokenizer
from tertulia.state.records import Prompt, Unit
from tertulia.state.scored_layers import layers_to_score

if TYPE_CHECKING:
    from tertulia.state.parameters import Reducer, Walk

#: A local model by name, one that transformers has opened with its tokenizer, or one of `open_model`.
Model: TypeAlias = str | tuple[Any, Any] | LanguageModel

#: Units: texts that differ, texts by id, or units of a run.
Units: TypeAlias = Sequence[str] | Mapping[str, str] | Sequence[Unit]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "human": "user",
    "ai": "assistant",
}


class Pruned(NamedTuple):
    """The rest of a prompt after removal by λ.

    Attributes:
        kept, removed: Ids of units, in the order of the prompt.
        reached: The share of the removable units' total score that was removed, in [0, 1]; 0 if the total is 0.
    """

    kept: list[str]
    removed: list[str]
    reached: float


def open_model(name: str, cache: Path | str | None = None, precision: str = "auto") -> LanguageModel:
    """Return a local model, for several calls of `unit_scores`.

    Args:
        name: `smollm2` (embedded), a folder, or a hub id `owner/name`.
        cache: The folder of converted models; `~/.cache/tertulia` if it is not given.
        precision: Of the weights: `float32`, `bfloat16`, `float16`, or `auto`, the one that suits this machine.

    Raises:
        NotFoundError: There is no such model.
        ModelError: It can't be loaded.
        AttentionUnavailableError: It shows no attention, or not exactly.
    """
    from tertulia.runs.access.engines import ModelAccess
    from tertulia.state.parameters import Parameters

    access = ModelAccess() if cache is None else ModelAccess(Path(cache))
    model = access.naming([name]).language_model(name, Parameters().with_settings({"precision": precision}))
    if model.traits.text_only:
        raise UsageError(f"model={name}: shows no attention, as all that is seen of it is text; take a local model")
    return model


def unit_scores(
    model: Model,
    messages: Sequence[Any] | str,
    units: Units,
    reply: str | Sequence[int],
    *,
    reply_prefix: str = "",
    reducer: "Reducer" = "sum-mean",
    layers: str = "auto",
) -> dict[str, float]:
    """Return how much a reply attends to each unit of a prompt, ≥ 0, by id. Source: APP §3.1, Eq. 1.

    A unit's score is the attention to its tokens, mean over heads, summed over layers and over its tokens, and averaged
    over the tokens of the reply. Each unit is tokenised by itself.

    Args:
        model: The name of a local model, `(model, tokenizer)` of transformers, or a model of `open_model`.
        messages: The prompt: `{"role": …, "content": …}`, LangChain messages, or a text, which is one message of the
            user. The last is not the assistant's: the model's turn follows.
        units: The parts of the messages that are scored, in their order: texts, texts by id, or units of a run. The id
            of a text is the text.
        reply: The reply: a text, or exactly its tokens.
        reply_prefix: A beginning of the reply that counts as the end of the prompt.
        reducer: `sum-mean` (Eq. 1), `mean-mean` (App. C), `beyond-neutral` or `capped` (docs/measuring.md).
        layers: `auto` (those that see the whole prompt), `all`, or numbers such as `0,5,11`.

    Raises:
        UsageError: A unit does not stand in the messages, or two have one id; the reply is empty.
        AttentionUnavailableError: The model's attention can't be had exactly.
        ModelError: The model can't be loaded, or failed.
    """
    named, read = _as_units(units), _as_messages(messages)
    with _opened(model) as language_model:
        prompt = render_messages(read, named, language_model.tokenizer, reply_prefix)
        tokens = language_model.tokenizer.encode(reply) if isinstance(reply, str) else [int(token) for token in reply]
        if not tokens:
            raise UsageError("reply: is empty; there is nothing whose attention could be scored")
        chosen = layers_to_score(layers, language_model, len(prompt.input_ids) + len(tokens))
        options = ScoringOptions(reducer=reducer, layers=chosen)
        (scores,) = _completed(language_model.score(prompt, [tokens], options))
    return scores


def prune(units: Units, scores: Mapping[str, float], removal_factor: float, walk: "Walk" = "paper") -> Pruned:
    """Return the units that λ keeps and those that it removes. Source: APP §3.1, Algorithm 1.

    Units are removed, the highest score first, as long as the removed share of the total stays within λ. Of units of a
    run, those that are not removable stay, and the instructions of a block go with its last item.

    Args:
        units: As of `unit_scores`.
        scores: By id, ≥ 0.
        removal_factor: λ in [0, 1].
        walk: The rule for a unit that would overshoot (`tertulia settings removal_walk`).

    Raises:
        SettingError: λ is outside of [0, 1].
        UsageError: A removable unit has no score, or two have one id.
    """
    if isinstance(removal_factor, bool) or not isinstance(removal_factor, int | float) or not 0 <= removal_factor <= 1:
        raise SettingError("removal_factor", removal_factor, ": a number in [0, 1] is expected")
    named = _as_units(units)
    if without := next((unit.id for unit in named if unit.removable and unit.id not in scores), None):
        raise UsageError(f"scores: has none for the unit {without!r:.60}; unit_scores gives one for each")
    chosen = WALKS[walk](named, scores, removal_factor, "descending")
    removed = list(removed_with_blocks(Prompt(units=named, speaker="", layout=""), chosen))
    total = sum(scores[unit.id] for unit in named if unit.removable)
    reached = sum(scores[unit] for unit in chosen) / total if total else 0.0
    return Pruned([unit.id for unit in named if unit.id not in set(removed)], removed, reached)


def render_messages(
    messages: Sequence[tuple[Role, str]], units: Sequence[Unit], tokenizer: Tokenizer, reply_prefix: str = ""
) -> RenderedPrompt:
    """Return messages as tokens, with the span of each unit; tokens between units belong to none.

    Raises:
        UsageError: A unit does not stand behind the one before it.
    """
    markup = tokenizer.chat_markup(tuple(role for role, _ in messages))
    tokens: list[int] = []
    spans: dict[str, tuple[int, int]] = {}
    waiting = list(units)
    for before, (_, content) in zip(markup, messages, strict=False):
        tokens += before
        while waiting and (at := content.find(waiting[0].text)) >= 0:
            unit = waiting.pop(0)
            tokens += tokenizer.encode(content[:at]) if at else []
            start = len(tokens)
            tokens += tokenizer.encode(unit.text)
            spans[unit.id] = (start, len(tokens))
            content = content[at + len(unit.text) :]
        tokens += tokenizer.encode(content) if content else []
    if waiting:
        raise UsageError(
            f"units: {waiting[0].text!r:.60} does not stand in the messages, or not behind the units before it; units "
            "are parts of the messages, letter by letter and in their order"
        )
    tokens += markup[-1]
    tokens += tokenizer.encode(reply_prefix)
    return RenderedPrompt(tuple(tokens), spans, {unit.id: unit.block for unit in units}, reply_prefix)


def _as_units(units: Units) -> tuple[Unit, ...]:
    if isinstance(units, str) or not isinstance(units, Sequence | Mapping) or not units:
        raise UsageError(f"units={units!r:.60}: takes a list of texts, or texts by id")
    pairs = list(units.items()) if isinstance(units, Mapping) else [(unit, unit) for unit in units]
    found: list[Unit] = []
    for id, given in pairs:
        if isinstance(given, Unit):
            found.append(given)
        elif isinstance(given, str) and isinstance(id, str) and given:
            found.append(Unit(id=id, block=id, kind="item", text=given, removable=True))
        else:
            raise UsageError(f"units: {given!r:.60} is no text")
    ids = [unit.id for unit in found]
    if twice := next((id for number, id in enumerate(ids) if id in ids[:number]), None):
        raise UsageError(f"units: {twice!r:.60} stands twice; give texts that are the same ids: {{'first': …}}")
    return tuple(found)


def _as_messages(messages: Sequence[Any] | str) -> list[tuple[Role, str]]:
    if isinstance(messages, str):
        return [("user", messages)]
    found: list[tuple[Role, str]] = []
    for message in messages:
        fields = message if isinstance(message, Mapping) else {}
        role = fields.get("role", getattr(message, "type", None))
        content = fields.get("content", getattr(message, "content", None))
        if role not in _ROLES or not isinstance(content, str):
            raise UsageError(f"messages: {message!r:.60} is none such as {{'role': 'user', 'content': 'Hello'}}")
        found.append((_ROLES[role], content))
    if not found or found[-1][0] == "assistant":
        raise UsageError("messages: the last is a message of the system or the user, to which the model replies")
    return found


@contextmanager
def _opened(model: Model) -> Iterator[LanguageModel]:
    if isinstance(model, str):
        yield open_model(model)
    elif isinstance(model, tuple):
        from tertulia.models.local.opened import opened_model

        with opened_model(*model) as opened:
            yield opened
    elif hasattr(model, "score") and hasattr(model, "tokenizer"):
        yield model
    else:
        raise UsageError(f"model={model!r:.60}: takes a name, (model, tokenizer) of transformers, or an opened model")


def _completed(coroutine: Coroutine[Any, Any, list[dict[str, float]]]) -> list[dict[str, float]]:
    """Return the result of a coroutine, inside a running event loop too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return list(found[0])
