"""Over which layers Eq. 1 sums attention: all, those that see the whole prompt, or layers by number.

A layer with a sliding window sees the last tokens alone: to a unit outside of its window it pays nothing, whatever the
unit says, and summed over such layers a score is mostly a place in the prompt. Source: APP §3.1 sums over all layers,
of models whose layers see everything.
"""

import re
from typing import TYPE_CHECKING

from tertulia.state.errors import AttentionUnavailableError, SettingError
from tertulia.state.parameters.layers import LAYER_CHOICES, read_layers

if TYPE_CHECKING:
    from tertulia.state.language_model import LanguageModel, ScoringOptions

#: How a recorded name says that heads are weighed as was learned.
LEARNED = "learned heads"

_RECORDED = re.compile(r", layers? (?P<numbers>\d+(?:, \d+)*) of \d+(?= \(surrogate of |, carried |$)")


def layers_to_score(setting: str, model: "LanguageModel", tokens: int) -> tuple[int, ...] | None:
    """Return the layers over which a reply's attention to a prompt is summed; `None` for all.

    A layer sees the whole prompt if it has no window, or one that reaches from the last token of the reply back to the
    first of the prompt.

    Args:
        setting: Of `scored_layers`.
        tokens: The most tokens of prompt and reply together that attention is read of.

    Raises:
        AttentionUnavailableError: No layer sees the whole prompt, where such layers are asked for.
        SettingError: The model has no layer of a number.
    """
    windows = model.traits.layer_windows
    if setting == "all" or windows is None:  # of a model without weights nothing is known
        return None
    if setting not in LAYER_CHOICES:
        layers = read_layers(setting)
        if layers[-1] >= len(windows):
            problem = f": the layers of {model.id} are 0 to {len(windows) - 1}"
            raise SettingError("scored_layers", setting, problem)
    else:
        layers = tuple(layer for layer, window in enumerate(windows) if window is None or window >= tokens)
    if not layers:
        raise AttentionUnavailableError(
            f"no layer of {model.id} sees the whole prompt (with its reply up to {tokens} tokens; the widest window "
            f"has {max(window for window in windows if window is not None)}), so its attention would mostly say where "
            "a unit stands; set nodes.score=embedding_similarity, or another scorer, or scored_layers=all to score "
            "over all layers nevertheless"
        )
    return None if len(layers) == len(windows) else layers


def scorer_name(model: "LanguageModel", options: "ScoringOptions") -> str:
    """Return what is recorded as the scorer: the model, its layers if it was not all, and learned weights of heads."""
    weights, layers, windows = model.traits.head_weights, options.layers, model.traits.layer_windows
    if options.reducer == "learned" and weights is not None:
        return f"{model.id}, {LEARNED} {weights.hash}"
    if layers is None or windows is None:
        return model.id
    return f"{model.id}, {'layer' if len(layers) == 1 else 'layers'} {', '.join(map(str, layers))} of {len(windows)}"


def recorded_layers(scored_by: str | None) -> list[int] | None:
    """Return the layers that a recorded scorer names (`scorer_name`); `None` where it was all, or no attention."""
    found = None if scored_by is None else _RECORDED.search(scored_by)
    return None if found is None else [int(number) for number in re.findall(r"\d+", found["numbers"])]
