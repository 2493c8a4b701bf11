"""Why a turn is what it is, in one or two sentences: what was attended, what was removed, and what was chosen.

Every figure is stored, or follows from what is stored; what is not stored is left out.
"""

from collections.abc import Sequence

from tertulia.reading.exchanges import RecordedExchange
from tertulia.reading.removal import retained
from tertulia.reading.turns import TurnDetails
from tertulia.reading.why_round import floor_sentence
from tertulia.reading.why_words import QUOTED, QUOTED_IN_SHORT, listed, percentage, quoted, times
from tertulia.state.line_edit import EDITED_ATTEMPT
from tertulia.state.parameters import Parameters
from tertulia.state.records import Candidate, Unit
from tertulia.state.text import clean, counted

#: The units that are quoted.
_MOST = 3


def why_turn(details: TurnDetails) -> str:
    """Return in one or two sentences how a stored turn came about.

    It is about what was done, whatever `what_if` asks. Of an utterance it tells what was most attended of all that λ
    may remove, what λ asked to remove and removed, and which candidate was said and why; of a meeting's round first
    who wanted to speak, who was first, and what moved them; of an exchange first which picture was shown and why; of
    both then the most telling of the rest, as more than two sentences are read by nobody.
    """
    if details.exchange is not None:
        return clean(f"{_exchange_sentence(details.exchange)} {_in_short(details)}")
    if details.round is not None:
        floor = clean(floor_sentence(details.round, _parameters(details)))
        return floor if details.record.turn.speaker is None else f"{floor} {_in_short(details)}"
    return why_said(details)


def why_said(details: TurnDetails) -> str:
    """Return in one or two sentences how an utterance came about: of a turn, or of a part of it."""
    speaker = details.record.turn.speaker
    if speaker is None:
        return "Nobody spoke in this turn."
    if details.prompt is None:
        seat = _parameters(details).seat
        how = "A person typed it" if seat is not None and seat == speaker else "It was written by hand"
        return clean(f"{how} for {speaker}: no prompt was read, and nobody judged it.")
    said = _candidate_clause(details)
    if details.record.scores is None:
        why = "λ was 0, so nothing" if details.removal_factor == 0 else "Nothing"
        to_see = f"a fork with record_scores=true shows what {speaker} attended to"
        return clean(f"{why} was scored or removed ({to_see}){f'; {said}' if said else ''}.")
    attended = _attended(details, _MOST)
    if (removable := len(details.removable)) and heaviest(details, 1):
        attended = f"Of {counted(removable, 'item')} that might be removed, {attended}"
    return clean(f"{attended}. {_removal_clause(details)}{f'; {said}' if said else ''}.")


def _in_short(details: TurnDetails) -> str:
    """Return a sentence on how an utterance came about: the unit that was most attended, what went, and a doubt."""
    if details.record.turn.speaker is None or details.prompt is None:
        return why_said(details)
    said = _candidate_clause(details) if _is_telling(details) else ""
    if details.record.scores is None:
        why = "λ was 0: nothing" if details.removal_factor == 0 else "Nothing"
        return clean(f"{why} was scored or removed{f'; {said}' if said else ''}.")
    attended, removal = _attended(details, 1), _removal_clause(details, in_short=True)
    return clean(f"{'; '.join(filter(None, (attended, removal, said)))}.")


def _is_telling(details: TurnDetails) -> bool:
    """Whether it tells something which candidate was said: of several, or against the judge."""
    return details.record.rollbacks > 0 or len(details.candidates) > 1 or "objected" in _candidate_clause(details)


def _parameters(details: TurnDetails) -> Parameters:
    """Return the parameters of whoever spoke."""
    mine = details.run.participant_models.get(details.record.turn.speaker or "")
    return Parameters.model_validate(details.run.parameters if mine is None else mine.parameters)


# --- what was attended, and removed ---------------------------------------------------------------------------------


def heaviest(details: TurnDetails, most: int = _MOST) -> list[tuple[Unit, float]]:
    """Return the removable units with the highest scores, highest first, with their shares in [0, 1] of all of it.

    Units without a score, or with a score of 0, are not among them.
    """
    scores = details.record.scores or {}
    total = sum(scores.get(unit.id, 0.0) for unit in details.removable)
    scored = [unit for unit in details.removable if scores.get(unit.id, 0.0) > 0]
    scored.sort(key=lambda unit: -scores[unit.id])
    return [(unit, scores[unit.id] / total) for unit in scored[:most]]


def _attended(details: TurnDetails, most: int) -> str:
    units, speaker = heaviest(details, most), details.record.turn.speaker
    removable = len(details.removable)
    if not removable:
        return "Nothing in the prompt could be removed"
    if not units:
        return f"Of {counted(removable, 'item')} that might be removed, none had a score above 0"
    scorer = _parameters(details).nodes.get("score")
    rehearsed = " (at random: a rehearsal)" if details.run.rehearsed else ""
    most_attended = f"{speaker} attended{rehearsed} most to" if scorer is None else f"{scorer} scored highest"
    gone = frozenset(details.record.removed)
    longest = QUOTED if most > 1 else QUOTED_IN_SHORT
    told = [
        f"{quoted(unit.text, longest)} ({percentage(share)}{f' of the {_measure(details)}' if place == 0 else ''}"
        f"{', removed' if unit.id in gone else ''})"
        for place, (unit, share) in enumerate(units)
    ]
    return f"{most_attended} {listed(told)}"


def _measure(details: TurnDetails) -> str:
    """Return what a share is of: attention, or the scores of another scorer."""
    return "score" if "score" in _parameters(details).nodes else "attention"


def _removal_clause(details: TurnDetails, in_short: bool = False) -> str:
    """Return what λ asked to remove, and what went; in short, what λ removed."""
    factor, record = details.removal_factor, details.record
    removable, removed = details.removable, frozenset(record.removed)
    gone = sum(unit.id in removed for unit in removable)
    parameters, scores = _parameters(details), record.scores or {}
    total = sum(scores.get(unit.id, 0.0) for unit in removable)
    reached = sum(scores.get(unit.id, 0.0) for unit in removable if unit.id in removed) / total if total else 0.0
    what = (
        "nothing was removed"
        if not gone
        else (f"{gone} of {len(removable)} {'was' if gone == 1 else 'were'} removed, with {percentage(reached)}")
    )
    if gone == len(removable) and gone:
        what = f"all {gone} were removed, and none was left" if gone > 1 else "it was removed, and nothing was left"
    kept = retained(details.run)
    if kept is not None and record.removal_factor is None:
        return f"Only {kept} was to stay: {what}"
    if factor is None:
        return what[0].upper() + what[1:]
    if parameters.removal_order == "placebo" and gone:
        what += ", drawn at random"
    if not factor:
        return f"λ was 0, so {what}"
    if in_short:
        return f"at λ = {round(factor, 3):g} {what}"
    return f"λ = {round(factor, 3):g} asked for {percentage(factor)} of it to go: {what}"


# --- the candidate --------------------------------------------------------------------------------------------------


def _candidate_clause(details: TurnDetails) -> str:
    """Return which candidate of how many was said, and why; empty where it is not stored."""
    made = [candidate for candidate in details.candidates if candidate.origin != "vetoed"]
    at = next((place for place, found in enumerate(made) if found.attempt == details.record.chosen), None)
    if at is None:
        return ""
    if made[at].attempt == EDITED_ATTEMPT:
        return "a person rewrote the line before it was said"
    which = "the only candidate was said" if len(made) == 1 else f"candidate {at + 1} of {len(made)} was said"
    reason = _reason(details, made, made[at])
    back = f"after rolling back {times(details.record.rollbacks)}" if details.record.rollbacks else ""
    vetoed = len(details.candidates) - len(made)
    senseless = f" ({counted(vetoed, 'draft')} made no sense)" if vetoed else ""
    return ", ".join(filter(None, (which, reason, back))) + senseless


def _reason(details: TurnDetails, made: Sequence[Candidate], chosen: Candidate) -> str:
    """Return why a candidate was said, by the figures of the judge against θ; empty where there are none."""
    parameters = _parameters(details)
    threshold = parameters.inconsistency_threshold
    judged = [candidate.inconsistency for candidate in made if candidate.inconsistency is not None]
    if chosen.inconsistency is None:
        weighed = chosen.reply.information is not None and max(parameters.drafts or 1, 1) > 1
        return "the best of its drafts by likelihood" if weighed else ""
    if threshold is None or not (details.record.removed or parameters.persona_check):
        return ""
    rewritten = "rewritten after the judge objected" if chosen.origin == "rewritten" else ""
    if chosen.inconsistency <= threshold:
        accepted = "the first that the judge accepted" if len(judged) > 1 else "which the judge accepted"
        return f"{rewritten}, {accepted}" if rewritten else accepted
    if len(judged) == 1:
        return "though the judge objected"
    worst = f"as the judge rejected all {len(judged)} that it read and this one least"
    return f"{rewritten}, {worst}" if rewritten else worst


# --- an exchange ----------------------------------------------------------------------------------------------------


def _exchange_sentence(recorded: RecordedExchange) -> str:
    exchange, picture = recorded.exchange, recorded.picture
    near = "" if exchange.similarity is None else f" ({exchange.similarity:.2f})"
    plan = f"the plan {quoted(recorded.plan)}"
    found = f"which {plan} names" if exchange.found == "named" else f"the nearest{near} to {plan}"
    return f"{exchange.asker} showed {exchange.answerer} the picture {quoted(picture.described)}, {found}."
