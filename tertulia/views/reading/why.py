"""Why a turn is what it is, in one or two sentences: the reasons of the line, the units removed, and the choice.

The reasons of a line are read from the line (`tertulia.views.reading.leaning`), the removed units from scores of
possible responses: neither is told under the other's name. Every figure is stored, or follows from what is stored.
"""

from collections.abc import Sequence

from tertulia.state.line_edit import EDITED_ATTEMPT
from tertulia.state.records import HOSTED_SCENARIO, Candidate
from tertulia.state.text import clean, counted
from tertulia.views.reading.exchanges import RecordedExchange
from tertulia.views.reading.removal import is_edited, retained, scores_are_edited, whole_of_share
from tertulia.views.reading.turns import LineDetails, TurnDetails, parameters_of_speaker
from tertulia.views.reading.why_leaning import leaning
from tertulia.views.reading.why_round import floor_sentence
from tertulia.views.reading.why_words import percentage, percentage_beside, quoted, times

#: The units that are quoted.
_MOST = 3


def why_turn(details: LineDetails) -> str:
    """Return in one or two sentences how a stored turn, or a part of it, came about.

    It is about the turn as it was, whatever `what_if` asks. Of an utterance it tells the units that the line leaned on
    and those that λ had taken away before, and which candidate was said and why; of a meeting's round first which
    agents wanted to speak, which was first, and why; of an exchange first which picture was shown and why; of both then
    the most telling of the rest, as more than two sentences are read by nobody.
    """
    if not isinstance(details, TurnDetails):
        return why_said(details)
    if details.exchange is not None:
        return clean(f"{_exchange_sentence(details.exchange)} {_in_short(details)}")
    if details.round is not None:
        floor = clean(floor_sentence(details.round, parameters_of_speaker(details), details.thoughts))
        return floor if details.record.turn.speaker is None else f"{floor} {_in_short(details)}"
    return why_said(details)


def why_said(details: LineDetails) -> str:
    """Return in one or two sentences how an utterance came about: of a turn, or of a part of it."""
    speaker = details.record.turn.speaker
    if speaker is None:
        return "Nobody spoke in this turn."
    if details.prompt is None:
        if details.run.scenario == HOSTED_SCENARIO:
            return clean(f"{speaker} said it in the messages of the graph: no prompt was read, and nobody judged it.")
        return clean(f"It was written by hand for {speaker}: no prompt was read, and nobody judged it.")
    said = _candidate_clause(details)
    if _is_by_hand(details):
        rest = "; ".join(filter(None, (said, _removal_clause(details))))
        return clean(f"{rest[0].upper()}{rest[1:]}.")
    rest = "; ".join(filter(None, (_removal_clause(details), said)))
    rest = f" {rest if rest.startswith('λ') else rest[0].upper() + rest[1:]}." if rest else ""
    return clean(f"{leaning(details, _MOST)}.{rest}")


def _in_short(details: LineDetails) -> str:
    """Return a sentence on how an utterance came about: the unit that it leaned on most, the removal, and a doubt."""
    if details.record.turn.speaker is None or details.prompt is None or _is_by_hand(details):
        return why_said(details)
    said = _candidate_clause(details) if _is_telling(details) else ""
    return clean(f"{'; '.join(filter(None, (leaning(details, 1), _removal_clause(details), said)))}.")


def _is_by_hand(details: LineDetails) -> bool:
    """Whether a person's words are said in the place of a model's line; no model has read these."""
    return details.record.chosen == EDITED_ATTEMPT


def _is_telling(details: LineDetails) -> bool:
    """Whether it tells something which candidate was said: of several, or against the judge."""
    return details.record.rollbacks > 0 or len(details.candidates) > 1 or "objected" in _candidate_clause(details)


# --- removed units -----------------------------------------------------------------------------------------------


def _removal_clause(details: LineDetails) -> str:
    """Return the units that λ had taken away before the line was drawn, in words; empty if it takes nothing away."""
    factor, record = details.removal_factor, details.record
    removable, removed = details.removable, frozenset(record.removed)
    gone = [unit for unit in removable if unit.id in removed]
    if not removable or (not factor and not gone):
        return ""
    parameters, scores = parameters_of_speaker(details), record.scores or {}
    total = sum(scores.get(unit.id, 0.0) for unit in removable)
    reached = sum(scores.get(unit.id, 0.0) for unit in gone) / total if total else 0.0
    what = f"{len(gone)} of {counted(len(removable), 'item')}" if gone else "nothing"
    if gone and len(gone) == len(removable):
        what = f"all {len(gone)} items" if len(gone) > 1 else "the only item"
    kept = retained(details.run)
    if kept is not None and record.removal_factor is None:
        return f"only {kept} was to stay: {what} had been taken away"
    share = f", with {percentage(reached)} of the {whole_of_share(details)}" if gone else ""
    if is_edited(details):
        return f"an edit of the state, not λ, left out {what}{share}"
    drawn = " at random" if parameters.removal_order == "placebo" and gone else ""
    by = ", by edited scores" if scores_are_edited(details) else ""
    stays = "" if drawn or not gone or factor is None else _heaviest_stays(details, factor)
    return f"λ{'' if factor is None else f' = {round(factor, 3):g}'} had taken {what} away{drawn}{share}{by}{stays}"


def _heaviest_stays(details: LineDetails, factor: float) -> str:
    """Return that the heaviest item was passed over, as it holds more than λ; empty if it was not."""
    scores = details.record.scores or {}
    heaviest = max(details.removable, key=lambda unit: scores.get(unit.id, 0.0))
    share = scores.get(heaviest.id, 0.0) / (sum(scores.get(unit.id, 0.0) for unit in details.removable) or 1.0)
    if heaviest.id in details.record.removed or share <= factor:
        return ""
    return f" (the heaviest one holds {percentage_beside(share, factor)}, so it stayed)"


# --- the candidate --------------------------------------------------------------------------------------------------


def _candidate_clause(details: LineDetails) -> str:
    """Return which candidate of how many was said, and why; empty if it is not stored."""
    made = [candidate for candidate in details.candidates if candidate.origin != "vetoed"]
    at = next((place for place, found in enumerate(made) if found.attempt == details.record.chosen), None)
    if at is None:
        return ""
    if _is_by_hand(details):
        replaced = (made[at].remark or "").rpartition(" ")[2]
        return f"a person wrote this line in place of candidate {replaced} of {len(made) - 1}"
    which = "the only candidate was said" if len(made) == 1 else f"candidate {at + 1} of {len(made)} was said"
    reason = _reason(details, made, made[at])
    back = f"after rolling back {times(details.record.rollbacks)}" if details.record.rollbacks else ""
    vetoed = len(details.candidates) - len(made)
    senseless = f" ({counted(vetoed, 'draft')} made no sense)" if vetoed else ""
    return ", ".join(filter(None, (which, reason, back))) + senseless


def _reason(details: LineDetails, made: Sequence[Candidate], chosen: Candidate) -> str:
    """Return why a candidate was said, by the figures of the judge against θ; empty if there are none."""
    parameters = parameters_of_speaker(details)
    threshold = parameters.inconsistency_threshold
    judged = [candidate.inconsistency for candidate in made if candidate.inconsistency is not None]
    if chosen.inconsistency is None:
        if chosen.reply.information is None or (parameters.drafts or 1) == 1:
            return ""
        # Faults count before the measure, the name of the speaker among them.
        drafts = "of its drafts with the fewest faults"
        return (
            f"the one {drafts} that shares most with its prompt"
            if parameters.context_strength
            else f"the likeliest {drafts}"
        )
    if threshold is None or not (details.record.removed or parameters.persona_check):
        return ""
    rewritten = "rewritten after the judge objected" if chosen.origin == "rewritten" else ""
    if chosen.inconsistency <= threshold:
        accepted = "the first that the judge accepted" if len(judged) > 1 else "which the judge accepted"
        return f"{rewritten}, {accepted}" if rewritten else accepted
    if len(judged) == 1:
        return "though the judge objected"
    least = "no other less" if judged.count(min(judged)) > 1 else "this one least"
    worst = f"as the judge rejected all {len(judged)} that it read and {least}"
    return f"{rewritten}, {worst}" if rewritten else worst


# --- an exchange ----------------------------------------------------------------------------------------------------


def _exchange_sentence(recorded: RecordedExchange) -> str:
    exchange, picture = recorded.exchange, recorded.picture
    near = "" if exchange.similarity is None else f" ({exchange.similarity:.2f})"
    plan = f"the plan {quoted(recorded.plan)}"
    found = f"which {plan} names" if exchange.found == "named" else f"the nearest{near} to {plan}"
    return f"{exchange.asker} showed {exchange.answerer} the picture {quoted(picture.described)}, {found}."
