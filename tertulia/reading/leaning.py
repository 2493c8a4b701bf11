"""What the line of a turn leaned on: units of the prompt that it answered, by the line's own scores.

λ removes by other scores (`tertulia.reading.removal`), of possible responses to the full prompt. What was removed is
never a reason.
"""

from dataclasses import dataclass
from math import exp

from tertulia.reading.turns import TurnDetails
from tertulia.state.line_scores import LEAST_ATTENTION, LEAST_LOSS, estimates_loss
from tertulia.state.records import Unit


@dataclass(frozen=True)
class Reason:
    """A unit that a line leaned on.

    Attributes:
        score: As recorded for the line: an estimated loss in nats a token, or an attention.
        loss: What the line loses without the unit, in nats a token: as measured, else as estimated; `None`: not known.
        measured: Whether it was measured (`show --check`).
        times: How many times less likely the whole line is without the unit; `None`: not known.
    """

    unit: Unit
    score: float
    loss: float | None
    measured: bool
    times: float | None


def reasons(details: TurnDetails) -> list[Reason] | None:
    """Return the units that a line leaned on, those that count most first; `None` where its line was not scored.

    An empty list says that it leaned on nothing in particular. What was measured counts instead of what was estimated.
    """
    scores = details.record.line_scores
    if scores is None:
        return None
    estimates = estimates_loss(details.record.line_scored_by)
    least, tokens = LEAST_LOSS if estimates else LEAST_ATTENTION, line_tokens(details)
    found = []
    for unit in details.removable:
        if unit.id not in scores:
            continue
        score, measured = scores[unit.id], details.measured.get(unit.id)
        loss = measured if measured is not None else score if estimates else None
        if score >= least if measured is None else measured >= LEAST_LOSS:
            times = None if loss is None else exp(min(loss * tokens, 700.0))
            found.append(Reason(unit, score, loss, measured is not None, times))
    return sorted(found, key=lambda reason: (not reason.measured, -(reason.loss or reason.score)))


def line_tokens(details: TurnDetails) -> int:
    """Return how many tokens the words of the line have; 1 where that is not known."""
    chosen = (candidate for candidate in details.candidates if candidate.attempt == details.record.chosen)
    first, past_last = next((candidate.reply.text_tokens for candidate in chosen), (0, 1))
    return max(1, past_last - first)
