"""Measure the units that pruning removed, and the inconsistency of utterances before and after revision.

Shares are of a prompt, and averaged over prompts: a turn in which nothing was removed counts with 0, in the share of
attention only if it was scored. Turns without a prompt (silences, and lines written by hand) do not count.

Source: APP §3.2, Fig. 3b (removal ratios); APP §4.2, Fig. 7a (inconsistency before and after revision).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pydantic import Field

from tertulia.metrics.diversity import mean_record
from tertulia.state.records import Candidate, Prompt, Record, TurnRecord
from tertulia.state.words import words


class Removal(Record):
    """The removed units of a prompt, or the mean over prompts; shares are in [0, 1], `None` if there is nothing.

    Removable are the items that λ may remove. Removed from the whole prompt are with them the texts of blocks that
    lost all items.
    """

    prompts: int = Field(description="number of prompts")
    scored: int = Field(description="those of them whose removable items have scores: attention is averaged over them")
    items: float | None = Field(description="removed items over removable items")
    words: float | None = Field(description="words of the removed items over those of the removable items")
    attention: float | None = Field(
        description="scores of the removed items over those of the removable items; None where nothing was scored"
    )
    units_of_prompt: float | None = Field(description="removed units over all units of the prompt")
    words_of_prompt: float | None = Field(description="words of the removed units over those of the prompt")
    attention_of_prompt: float | None = Field(description="scores of the removed units over those of the prompt")


class Inconsistency(Record):
    """The inconsistency of utterances with the removed units, before and after revision: means over utterances.

    The unit is that of the run's judge: a rating from 1 to 10, or nats per token.
    """

    judged: int = Field(description="number of utterances whose first candidate and chosen one were judged")
    before: float | None = Field(description="figure of the first candidate")
    after: float | None = Field(description="figure of the candidate that was said")
    revised: float | None = Field(description="share of these utterances in which another candidate was said")


def removal_of(record: TurnRecord, prompt: Prompt | None) -> Removal | None:
    """Return the removal from the prompt of a turn; `None` if there was no prompt."""
    if prompt is None:
        return None
    removed = set(record.removed)
    counts = {unit.id: _length(unit.text) for unit in prompt.units}
    everything = [unit.id for unit in prompt.units]
    removable = [unit.id for unit in prompt.units if unit.removable]
    scores = record.scores or {}

    def share(units: Sequence[str], weights: dict[str, float] | dict[str, int]) -> float | None:
        total = sum(weights.get(unit, 0) for unit in units)
        return sum(weights.get(unit, 0) for unit in units if unit in removed) / total if total else None

    even, attention = dict.fromkeys(everything, 1), share(removable, scores)
    return Removal(
        prompts=1,
        scored=int(attention is not None),
        items=share(removable, even),
        words=share(removable, counts),
        attention=attention,
        units_of_prompt=share(everything, even),
        words_of_prompt=share(everything, counts),
        attention_of_prompt=share(everything, scores),
    )


@lru_cache(maxsize=8192)  # memories occur in many prompts
def _length(text: str) -> int:
    return len(words(text))


def mean_removal(removals: Iterable[Removal | None]) -> Removal:
    """Return the mean of each share over the prompts that have it, every prompt alike; turns without one are `None`."""
    return mean_record(Removal, [removal for removal in removals if removal is not None], ("prompts", "scored"))


def inconsistency_of(record: TurnRecord, candidates: Sequence[Candidate]) -> Inconsistency:
    """Return how inconsistent the first candidate of a turn and the chosen one are."""
    figures = {candidate.attempt: candidate.inconsistency for candidate in candidates}
    first, last = figures.get(min(figures, default=0)), figures.get(record.chosen)
    if first is None or last is None:
        return Inconsistency(judged=0, before=None, after=None, revised=None)
    return Inconsistency(judged=1, before=first, after=last, revised=float(record.chosen != min(figures)))


def mean_inconsistency(figures: Iterable[Inconsistency]) -> Inconsistency:
    """Return the mean of each figure over the utterances that were judged."""
    return mean_record(Inconsistency, figures, ("judged",))
