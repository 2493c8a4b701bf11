"""The scores of a spoken line: their scorer, and whether they estimate a loss of likelihood."""

from typing import TYPE_CHECKING

from tertulia.state.scored_layers import LEARNED

if TYPE_CHECKING:
    from tertulia.state.language_model import LanguageModel

#: The least score at which a unit is named as a reason for a line: an estimated loss, in nats a token, and without
#: learned weights an attention beyond a neutral reply's, mean over heads and layers (docs/results/why.md has the worth
#: of both).
LEAST_LOSS, LEAST_ATTENTION = 0.1, 0.01


def rounded(score: float) -> float:
    """Return a score with four digits: more say nothing, and a store keeps one for each unit of each line."""
    return float(f"{score:.4g}")


def scored_line_by(reader: "LanguageModel", writer: str | None) -> str:
    """Return the recorded name of a line's scorer.

    Args:
        writer: The id of the model that wrote the line, if the reader is another.
    """
    if reader.traits.rehearsed:
        return reader.id
    weights = reader.traits.head_weights
    way = "attention beyond a neutral reply's" if weights is None else f"{LEARNED} {weights.hash}"
    return f"{reader.id}, {way}{f' (surrogate of {writer})' if writer else ''}"


def reader_of(scored_by: str | None) -> str | None:
    """Return the model that read a line which another model wrote; `None` if the writer read it itself."""
    return scored_by.partition(", ")[0] if scored_by is not None and " (surrogate of " in scored_by else None


def estimates_loss(scored_by: str | None) -> bool:
    """Return whether the scores of a recorded scorer estimate a loss of likelihood, in nats a token."""
    return scored_by is not None and f", {LEARNED} " in scored_by
