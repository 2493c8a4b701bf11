"""The units that a line, or a thought, leaned on, in words."""

from tertulia.state.line_scores import reader_of
from tertulia.state.text import counted
from tertulia.views.reading.leaning import Reason, reasons, unread_by_check
from tertulia.views.reading.turns import LineDetails
from tertulia.views.reading.why_words import QUOTED, QUOTED_IN_SHORT, listed, quoted, times_in_words

#: The units that a thought leaned on that are quoted.
THOUGHT_MOST = 2


def leaning(details: LineDetails, most: int) -> str:
    """Return the units that the line leaned on, by how much, and the model that read it; or that there are none."""
    speaker = details.record.turn.speaker
    removed = frozenset(details.record.removed)
    if not [unit for unit in details.nameable if unit.id not in removed]:
        lines = [unit for unit in details.informing if unit.id not in removed]
        only = "only the conversation and the task" if lines else "only the task"
        unfixed = "fact or memory" if any(unit.removable for unit in lines) else "item that λ may remove"
        return f"No {unfixed} was left in the prompt, {only}"
    told = leaned(details, most, "the line is ")
    if not told:
        return f"What {speaker} leaned on is not known, as no attention of this line was read"
    return f"{speaker} {told}"


def leaned(details: LineDetails, most: int, whose: str = "") -> str:
    """Return `leaned on …`, without the speaker; empty if no model has read the line.

    Args:
        most: The units that are quoted; a single one is quoted in short.
        whose: The words before how much less likely the words are without the first unit.
    """
    found = reasons(details)
    if found is None:
        return ""
    is_measured = bool(details.measured) and (not found or found[0].measured)
    by = details.checked.measured_by if is_measured else reader_of(details.record.line_scored_by)
    reader = f", as {by} reads it" if by and by != details.writer else ""
    if details.run.rehearsed:
        reader = " (at random: a rehearsal)"
    if not found and is_measured and (unread := unread_by_check(details)):
        items = counted(len(details.measured), "item")
        others = f"{counted(unread, 'other')} {'was' if unread == 1 else 'were'} not"
        return f"leaned on none of the {items} that were measured ({others}){reader}"
    if not found:
        hears = len(details.informing) > len(details.nameable)  # lines before, which scores don't tell of
        beside = " outside the conversation" if hears else ""
        return f"leaned on nothing in particular{', as measured' if is_measured else beside}{reader}"
    longest = QUOTED if most > 1 and whose else QUOTED_IN_SHORT
    told = [_reason_told(reason, longest, whose, is_first=place == 0) for place, reason in enumerate(found[:most])]
    return f"leaned on {listed(told)}{reader}"


def _reason_told(reason: Reason, longest: int, whose: str, *, is_first: bool) -> str:
    """Return a unit with how much less likely the line is without it, of the first as measured or as estimated."""
    amounts, is_one = [], reason.copies == 1
    if not is_one:
        amounts.append(f"{reason.copies} times in its prompt")
    if reason.times is not None:
        words = times_in_words(reason.times)
        much = words if reason.measured or words.startswith("over") else f"about {words}"
        if is_first:
            without = f"less likely without {'it' if is_one else 'them'}"
            much = f"{whose}{much} {without}, as {'measured' if reason.measured else 'estimated'}"
        amounts.append(much)
    unit = reason.unit
    text = unit.text if unit.speaker is None or unit.text.startswith(unit.speaker) else f"{unit.speaker}: {unit.text}"
    return quoted(text, longest) + (f" ({'; '.join(amounts)})" if amounts else "")
