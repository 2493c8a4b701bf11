"""Attention scores of Eq. 1: the definition, the fast way, and whether a model's fast way equals its definition.

`attention_by_definition` and `attention_to_prompt` return the same matrix `(n, P)` for a response of n tokens to a
prompt of P: mean over heads, sum over layers (all, or some: `state/scored_layers.py`), one row for the last prompt
token and for each of the response tokens 1 … n−1. `unit_scores` reduces it to a score per unit.
`require_exact_attention` refuses a model for which the two differ. Source: APP §3.1.

With ā_t the attention to prompt token t, mean over the rows of a response, a unit's score is

    sum-mean        Σ_t ā_t                   Eq. 1
    mean-mean       Σ_t ā_t / |u|             App. C
    capped          Σ_t min(ā_t, c)           c: the quantile `CAP` of ā over the tokens of all units (ours)

over the tokens t of u. Scores that tell heads apart are in `head_attention`; docs/measuring.md compares all.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from tertulia.models.local.architecture import Model
from tertulia.models.local.decoding_state import DecodingState, prefill
from tertulia.models.local.prefix import Prefix
from tertulia.state.errors import AttentionUnavailableError, ModelError
from tertulia.state.language_model import RenderedPrompt, ScoringOptions

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from tertulia.models.local.sight import PictureInputs, ProcessorTokenizer

#: By layer, how many tokens its attention reaches back, the token's own included; `None` for all of them.
Windows: TypeAlias = tuple[int | None, ...]

#: The share of the units' tokens whose attention counts in full.
CAP = 0.9


def attention_by_definition(
    model: "PreTrainedModel",
    prompt: Sequence[int],
    response: Sequence[int],
    pictures: "PictureInputs | None" = None,
    layers: Sequence[int] | None = None,
) -> Tensor:
    """Return the attention of a response to its prompt from the full attention tensors, `(n, P)` in float32.

    Args:
        layers: Over which it is summed; `None`: over all.

    Raises:
        AttentionUnavailableError: The model returns no attention for some of its layers.
    """
    by_layer = _attention_by_layer(model, prompt, response, pictures)
    return by_layer.sum(0) if layers is None else by_layer[list(layers)].sum(0)


def _attention_by_layer(
    model: "PreTrainedModel", prompt: Sequence[int], response: Sequence[int], pictures: "PictureInputs | None"
) -> Tensor:
    """Return the mean over heads of each layer's attention, `(L, n, P)` in float32.

    The slow way: eager attention over prompt and response with `output_attentions`. Memory grows with L · H · (P + n)².
    """
    from tertulia.models.local.attention_interface import use_implementation

    implementation = model.config.get_text_config()._attn_implementation
    use_implementation(model, "eager")
    try:
        tokens = torch.tensor([[*prompt, *response[:-1]]], device=model.device)
        beside = {} if pictures is None else pictures.for_tokens(tokens.shape[1], model)
        with torch.inference_mode():
            attentions = model(input_ids=tokens, **beside, output_attentions=True, use_cache=False).attentions
    finally:
        use_implementation(model, implementation)
    layers = model.config.get_text_config().num_hidden_layers
    returned = [attention for attention in attentions or () if attention is not None]
    if len(returned) != layers:
        raise AttentionUnavailableError(f"it shows softmax attention for {len(returned)} of its {layers} layers")
    by_layer = torch.stack([attention[0].float().mean(0) for attention in returned])  # (L, P + n - 1, P + n - 1)
    return by_layer[:, len(prompt) - 1 :, : len(prompt)]


def attention_to_prompt(
    model: Model,
    prefix: Prefix,
    responses: Sequence[Sequence[int]],
    layers: Sequence[int] | None = None,
) -> list[Tensor]:
    """Return the attention of each response to its prompt, `(n, P)` in float32, over these layers: the fast way."""
    states = [_read_response(model, prefix, response, layers) for response in responses]
    return [state.attention_of_row(0, len(response)) for state, response in zip(states, responses, strict=True)]


def _read_response(
    model: Model, prefix: Prefix, response: Sequence[int], layers: Sequence[int] | None
) -> DecodingState:
    state = DecodingState(model, prefix, 1, len(response), capture=True, layers=layers)
    state.read_attention([[prefix.tokens[-1], *response[:-1]]])
    return state


def unit_scores(
    attention: Tensor,
    prompt: RenderedPrompt,
    options: ScoringOptions,
    span: tuple[int, int] | None = None,
) -> dict[str, float]:
    """Reduce the attention of one response to the score of every unit, as the reducer does (see above).

    Args:
        attention: `(n, P)`: from each reply token to each prompt token, mean over heads, sum over `options.layers`.
        options: The reducer.
        span: The reply tokens that count, `(first, past_last)`; all of them if `None`.
    """
    first, past_last = span or (0, len(attention))
    per_token = attention[first:past_last].cpu().double().mean(0)
    if options.reducer == "capped":
        in_units = torch.cat([per_token[start:end] for start, end in prompt.token_spans.values()])
        per_token = (
            per_token.clamp(max=float(in_units.quantile(CAP, interpolation="lower"))) if len(in_units) else per_token
        )
    scores = {}
    for unit, (start, end) in prompt.token_spans.items():
        total = float(per_token[start:end].sum())
        scores[unit] = total / max(1, end - start) if options.reducer == "mean-mean" else total
    return scores


@dataclass(frozen=True)
class Probe:
    """A few tokens, and the attention to them by the definition, with which the fast way is compared.

    Attributes:
        by_layer: Mean over heads, `(L, n, P)` in float32.
    """

    prompt: Sequence[int]
    response: Sequence[int]
    pictures: "PictureInputs | None"
    by_layer: Tensor


def probe_by_definition(model: "PreTrainedModel", tokenizer: "ProcessorTokenizer | None" = None) -> Probe:
    """Return the attention of a model by the definition, on a few tokens, and on a picture for one that sees.

    Its structure is checked first. Its language part has the attention of `attention` afterwards.

    Raises:
        AttentionUnavailableError: It can't be captured; the message gives the reason.
    """
    from tertulia.models.local.attention_interface import use_implementation

    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        raise AttentionUnavailableError(f"some of its layers are not softmax attention ({', '.join(sorted(kinds))})")
    if not getattr(model, "_supports_attention_backend", False) and not getattr(model, "_supports_sdpa", False):
        raise AttentionUnavailableError("it does not route its attention through transformers' attention interface")
    prompt = [(7 * i + 3) % config.vocab_size for i in range(24)]
    response = [(11 * i + 5) % config.vocab_size for i in range(6)]
    pictures: PictureInputs | None = None
    with _with_reason():
        if tokenizer is not None:
            prompt, response, pictures = tokenizer.probe(prompt, response)
        by_layer = _attention_by_layer(model, prompt, response, pictures)
        use_implementation(model)
    return Probe(prompt, response, pictures, by_layer)


def require_exact_attention(model: "PreTrainedModel", tokenizer: "ProcessorTokenizer | None" = None) -> Windows:
    """Refuse a model whose attention can't be captured exactly, with the reason.

    The fast way is compared with the definition (`probe_by_definition`).

    Returns:
        By layer, how many tokens its attention reaches back.

    Raises:
        AttentionUnavailableError: The message gives the reason.
    """
    return require_attention_of(model, probe_by_definition(model, tokenizer))


def require_attention_of(model: Model, probe: Probe) -> Windows:
    """Refuse a model whose fast way does not give the attention of a probe, that of a model with the same weights.

    Returns:
        By layer, how many tokens its attention reaches back.

    Raises:
        AttentionUnavailableError: The message gives the reason.
    """
    response, by_layer = probe.response, probe.by_layer
    with _with_reason():
        prefix = prefill(model, probe.prompt, pictures=probe.pictures)
        read = _read_response(model, prefix, response, None)
        windows = tuple(read.windows.get(layer) for layer in range(len(by_layer)))
        checks = [(read.attention_of_row(0, len(response)), by_layer.sum(0))]
        unlimited = [layer for layer, window in enumerate(windows) if window is None]
        if 0 < len(unlimited) < len(windows):
            found = attention_to_prompt(model, prefix, [response], unlimited)[0]
            checks.append((found, by_layer[unlimited].sum(0)))
    tolerance = 1e-4 if model.dtype == torch.float32 else 3e-2
    for found, expected in checks:
        difference = ((found - expected).abs().sum() / expected.sum()).item()
        if not difference <= tolerance:
            raise AttentionUnavailableError(f"the captured attention is off by {difference:.1e} of what it reports")
    return windows


@contextmanager
def _with_reason() -> Iterator[None]:
    """Make errors inside into one that gives the reason."""
    try:
        yield
    except AttentionUnavailableError:
        raise
    except (ModelError, ValueError, RuntimeError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise AttentionUnavailableError(f"its attention can't be captured ({error})") from error
