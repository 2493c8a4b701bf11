"""The units of its prompt that a line, or a thought, leaned on, by the line's own scores.

λ removes by other scores (`views.reading.removal`), of possible responses to the full prompt. A removed unit is never a
reason.
"""

from dataclasses import dataclass, replace
from math import exp

from tertulia.prompts.units import copies_of
from tertulia.state.line_scores import LEAST_ATTENTION, LEAST_LOSS, estimates_loss
from tertulia.state.records import Unit
from tertulia.views.reading.turns import LineDetails


@dataclass(frozen=True)
class Reason:
    """A unit that a line leaned on.

    Attributes:
        score: As recorded for the line: an estimated loss in nats a token, or an attention; `None`: it was measured
            alone.
        loss: The loss of the line without the unit, in nats a token: as measured, else as estimated; `None`: not known.
        measured: Whether it was measured (`show --check`).
        times: How many times less likely the whole line is without the unit; `None`: not known.
        copies: How many units of the prompt have its words; they count as one.
    """

    unit: Unit
    score: float | None
    loss: float | None
    measured: bool
    times: float | None
    copies: int = 1


def reasons(details: LineDetails) -> list[Reason] | None:
    """Return the units that a line leaned on, those that count most first; `None` if that is not known.

    An empty list says that it leaned on nothing in particular. Once units were measured (`show --check`), they alone
    count: a check leaves each out, and the lines said before; with few `--calls` only some (`unread_by_check`).
    """
    scores = details.record.line_scores
    if scores is None and not details.measured:
        return None
    units = details.nameable
    if details.measured:
        units = [unit for unit in details.informing if unit.id in details.measured]
    tokens = details.checked.tokens or line_tokens(details)
    found = [_reason(details, unit, (scores or {}).get(unit.id), tokens) for unit in units]
    kept = [reason for reason in found if reason is not None]
    kept.sort(key=lambda reason: (not reason.measured, -(reason.loss or reason.score or 0.0)))
    copies = copies_of([unit for unit in details.informing if unit.id not in details.record.removed])
    first = {copies[reason.unit.id]: reason for reason in reversed(kept)}
    firsts = [(reason, len(alike)) for reason in kept if first[alike := copies[reason.unit.id]] is reason]
    return [reason if number == 1 else replace(reason, copies=number) for reason, number in firsts]


def unread_by_check(details: LineDetails) -> int:
    """Return how many units of the answered prompt a check has not left out, so that nothing is known of them."""
    gone = {*details.record.removed, *details.measured}
    return sum(unit.id not in gone for unit in details.informing)


def _reason(details: LineDetails, unit: Unit, score: float | None, tokens: int) -> Reason | None:
    """Return a unit as a reason for the line; `None` if it is none."""
    measured = details.measured.get(unit.id)
    if measured is not None:
        if measured < LEAST_LOSS:
            return None
        return Reason(unit, score, measured, True, _times(measured, tokens))
    estimates = estimates_loss(details.record.line_scored_by)
    if score is None or score < (LEAST_LOSS if estimates else LEAST_ATTENTION):
        return None
    if not estimates:
        return Reason(unit, score, None, False, None)
    return Reason(unit, score, score, False, _times(score, tokens))


def _times(loss: float, tokens: int) -> float:
    """Return how many times less likely a line of so many tokens is that loses so much a token."""
    return exp(min(loss * tokens, 700.0))


def line_tokens(details: LineDetails) -> int:
    """Return how many tokens the words of the line have; 1 if that is not known."""
    chosen = (candidate for candidate in details.candidates if candidate.attempt == details.record.chosen)
    first, past_last = next((candidate.reply.text_tokens for candidate in chosen), (0, 1))
    return max(1, past_last - first)
