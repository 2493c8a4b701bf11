"""What one line of talk does for an agreement: it proposes, assents, refuses, or takes back. English only.

Each is told by how a sentence begins, so that what is only reported (`I heard that you meet Cy at nine`) is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tertulia.nodes.agreements.proposal_words import (
    ABOUT_ANOTHER,
    ALONG,
    BARE_PLACE,
    BARRED,
    DEADLINE,
    FILLERS,
    FREE,
    HAND,
    HEDGED,
    IN_PERSON,
    INVITED,
    LEFT,
    NO_DEED,
    NO_PLACE,
    NO_REQUEST,
    OFFER,
    OWN,
    PLEASE,
    REQUEST,
    SEES_TO,
    TAKEN,
    TOGETHER,
    TOO,
    VERBAL,
    YES,
)
from tertulia.nodes.agreements.replies import FRIENDLY_NO, comes, orders, says_yes
from tertulia.nodes.agreements.spoken_places import place_in, without_places
from tertulia.nodes.agreements.spoken_times import SpokenTime, time_in, without_times
from tertulia.state.agreements import AgreementKind

#: A clause of more words is more than a time and a place.
_SHORT = 16
#: What answers a question when or where has fewer words.
_ANSWER = 9


@dataclass(frozen=True)
class Proposal:
    """What somebody proposes.

    Attributes:
        when: The time that is meant; `None` where none is named.
        doer: Who does it, where it is a task; empty: whoever assents.
        is_weak: Whether somebody only says when they are free, or where they are: it takes more than a yes to come.
        is_short: Whether it only names a time or a place, and the rest is what was proposed before.
    """

    speaker: str
    turn: int
    kind: AgreementKind
    what: str
    time: SpokenTime | None = None
    when: datetime | None = None
    place: str | None = None
    doer: str | None = None
    is_short: bool = False
    is_weak: bool = False


@dataclass(frozen=True)
class Heard:
    """What a line is read with.

    Attributes:
        now: The time at which it is said.
        before: What was proposed last: where a line only names another time or place, the rest goes on to be meant.
        stated: A time that was only stated shortly before: an hour that is said without a day is of that day.
        is_asked: Whether the line before asked when or where.
        names: Of those who talk, folded: they are no places.
    """

    now: datetime
    before: Proposal | None = None
    stated: SpokenTime | None = None
    is_asked: bool = False
    names: frozenset[str] = frozenset()

    @property
    def earlier(self) -> SpokenTime | None:
        """The time whose day goes on to be meant."""
        return (self.before.time if self.before else None) or self.stated


def proposal_in(text: str, speaker: str, turn: int, heard: Heard) -> Proposal | None:
    """Return what a line proposes; `None` where it proposes nothing, or nothing that is still to come."""
    found: Proposal | None = None
    stated: Proposal | None = None  # a time that the line only states, for what it proposes
    for sentence in _sentences(text):
        known = found or heard.before
        new = _short([sentence], replace(heard, before=known))
        full = None if new else _full(sentence, speaker, turn, heard)
        new = new or (None if full else _short(sentence.split(","), replace(heard, before=known)))
        if new is not None:
            is_short = found is None or found.is_short
            new = replace(new, speaker=speaker, turn=turn, is_short=is_short)
        new = new or full
        if new is None and (said := _stated(sentence, speaker, turn, heard.now)) is not None:
            stated = stated or said
            found = _at_its_hour(found, sentence, heard.now) if found is not None else None
        elif (
            new is not None
            and found is not None
            and found.kind == new.kind == "meet"
            and None in (found.when, new.when)
        ):
            found = _joined(found, new)
        elif new is not None and new.is_weak and found is not None:
            continue
        elif found is None or (new is not None and new.is_short <= found.is_short):
            found = new or found
    if found is not None and stated is not None and _is_wanted(found):
        found = _joined(found, stated)
    if found is None or (found.kind == "meet" and found.when is None):
        return None
    return found


def _joined(found: Proposal, new: Proposal) -> Proposal:
    """Return a proposal with the time and the place of another sentence of its line, where it has none."""
    timed = found if found.when is not None else new
    return replace(found, kind="meet", doer=None, time=timed.time, when=timed.when, place=found.place or new.place)


def _at_its_hour(found: Proposal, sentence: str, now: datetime) -> Proposal:
    """Return a meeting on a day at the hour that the next sentence states: `On Thursday? It's at three.`"""
    time = time_in(sentence, now)
    when = time.resolved(now, found.time) if time is not None else None
    is_later = found.kind == "meet" and found.time is not None and not found.time.is_exact and time and time.is_exact
    if not (is_later and when and found.when and when.date() == found.when.date()):
        return found
    return replace(found, time=_fixed(time, when), when=when)


def _is_wanted(found: Proposal) -> bool:
    """Whether somebody is asked to be there, or to lend a hand, at a time that another sentence of the line has."""
    return found.when is None and (found.kind == "meet" or bool(HAND.search(found.what)))


def _stated(
    sentence: str, speaker: str, turn: int, now: datetime, earlier: SpokenTime | None = None
) -> Proposal | None:
    """Return the time, and the place, that a sentence states, as what may be proposed beside it."""
    time = None if BARRED.search(sentence) or HEDGED.search(sentence) else time_in(sentence, now)
    when = time.resolved(now, earlier) if time is not None and time.is_telling else None
    if time is None or when is None:
        return None
    return Proposal(speaker, turn, "meet", sentence, _fixed(time, when), when, place_in(without_times(sentence)))


def stated_time(text: str, now: datetime, earlier: SpokenTime | None) -> SpokenTime | None:
    """Return the time that the last sentence of a line that has one only states, or proposes; `None` without one.

    Args:
        earlier: What was stated before, whose day goes on to be meant.
    """
    for sentence in reversed([*_sentences(text)]):
        if (stated := _stated(sentence, "", 0, now, earlier)) is not None:
            return stated.time
    return None


def _fixed(time: SpokenTime | None, when: datetime | None) -> SpokenTime | None:
    """Return a time whose day and half of the day are those that were meant."""
    if time is None or when is None or time.at is not None:
        return time
    minute = when.hour * 60 + when.minute if time.minute is not None else None
    return replace(time, day=when.date(), minute=minute, is_open=False)


def assents(text: str, proposal: Proposal, now: datetime) -> bool:
    """Return whether a line assents to a proposal: it says so, or says the same time or place again."""
    if TOO.search(proposal.what) and YES.search(text):
        return False
    for sentence in _sentences(text):
        if _echoes(sentence, proposal) or (comes if proposal.is_weak else says_yes)(sentence):
            return True
        same = _short([sentence, *sentence.split(",")], Heard(now, proposal))
        if same is not None and "?" not in sentence and (same.when, same.place) == (proposal.when, proposal.place):
            return True
        time = time_in(sentence, now)
        if time and TAKEN.search(without_times(sentence)) and time.resolved(now, proposal.time) == proposal.when:
            return True
    is_offer = proposal.kind == "task" and proposal.doer == proposal.speaker
    return (is_offer or bool(proposal.time and not proposal.is_weak)) and orders(text)


def _echoes(sentence: str, proposal: Proposal) -> bool:
    """Whether a sentence only says words of the proposal again: `Twenty minutes, the gate.`"""
    words = _without_fillers(sentence)
    return bool(words) and "?" not in sentence and set(words) <= set(re.findall(r"[\w'’]+", proposal.what.lower()))


def _sentences(text: str) -> Iterator[str]:
    for sentence in re.findall(r"[^.?!;:]+(?:[.:]\d\d[^.?!;:]*)*[.?!;:]*", text):
        if sentence.strip():
            yield sentence.strip()


def _full(sentence: str, speaker: str, turn: int, heard: Heard) -> Proposal | None:
    """Return the proposal of a sentence that says what is to be done; a meeting may have no time yet."""
    if HEDGED.search(FRIENDLY_NO.sub("", sentence)):
        return None
    now, before, timeless = heard.now, heard.before, without_times(sentence)
    offer, request = OFFER.search(sentence), REQUEST.search(sentence) or PLEASE.search(sentence)
    together, left = TOGETHER.search(timeless) or INVITED.search(sentence), LEFT.search(sentence)
    if not (offer or request or together or left or FREE.search(timeless)):
        return None
    time, place = time_in(sentence, now), place_in(timeless)
    when = time.resolved(now, heard.earlier) if time else None
    known = Proposal(speaker, turn, "meet", sentence.strip(), _fixed(time, when), when, place)
    is_together = together or (offer and IN_PERSON.match(offer["deed"]) and not SEES_TO.match(offer["deed"]))
    if is_together and when is not None and not DEADLINE.search(sentence):
        return known
    if is_together and time is None and heard.stated is not None and ALONG.search(sentence):
        return replace(known, time=heard.stated, when=heard.stated.resolved(now))
    if is_together and re.search(r"\bmeet\b", sentence) and before is not None and place and time is None:
        return replace(known, time=before.time, when=before.when)
    if time is not None and when is None:  # it is past
        return None
    is_deed = offer and (offer["verb"].lower() not in NO_DEED or SEES_TO.match(offer["deed"]))
    if left or (is_deed and not sentence.endswith("?")):
        return replace(known, kind="task", doer=speaker)
    if request and ((request["verb"] or "do it").lower() not in NO_REQUEST):
        return replace(known, kind="task", doer="")
    if FREE.search(timeless) and when is not None:
        return replace(known, is_weak=True)
    return known if together and time is None else None


def _short(clauses: Sequence[str], heard: Heard) -> Proposal | None:
    """Return the proposal of a clause that is nothing but a time or a place, with what was proposed before it."""
    now, before = heard.now, heard.before
    for clause in clauses:
        if len(clause.split()) > _SHORT or HEDGED.search(clause):
            continue
        time, place = _time_and_place(clause, heard)
        if (time is None and place is None) or (before is None and not place and not (time and time.is_telling)):
            continue
        when = time.resolved(now, heard.earlier) if time else before.when if before else None
        if time is not None and when is None:
            return None
        return Proposal(
            speaker="",
            turn=0,
            kind=before.kind if before and not (time and time.is_exact and _asks_to_meet(clause, heard)) else "meet",
            what=before.what if before and before.what else clause.strip(),
            time=_fixed(_merged(time, before.time if before else None), when),
            when=when,
            place=place or (before.place if before else None),
            doer=before.doer if before and before.kind == "task" else None,
            is_short=True,
        )
    return None


def _asks_to_meet(clause: str, heard: Heard) -> bool:
    """Whether an hour, asked or asked for, makes a meeting of what was only to be done: `I'll take both. At six?`"""
    return heard.is_asked or clause.rstrip().endswith("?")


def _time_and_place(clause: str, heard: Heard) -> tuple[SpokenTime | None, str | None]:
    """Return the time and the place of a clause that has little else; both `None` where it has."""
    timeless = without_times(clause)
    time, place = time_in(clause, heard.now), place_in(timeless)
    if ABOUT_ANOTHER.search(clause):
        return None, None
    if heard.is_asked and (time is not None or place is not None) and len(clause.split()) <= _ANSWER:
        return time, place or _bare_place(timeless, heard)
    if not _without_fillers(without_places(timeless)):
        return time, place
    if _is_invitation(clause, time):
        return time, place or _bare_place(timeless, heard)
    if place is None and (time is not None or heard.is_asked):
        place = _bare_place(timeless, heard)
        if place is not None and not _without_fillers(
            re.sub(re.escape(OWN.get(place, place)), "", timeless, flags=re.IGNORECASE)
        ):
            return time, place
    return None, None


def _is_invitation(clause: str, time: SpokenTime | None) -> bool:
    """Whether a question without a verb names an hour, and hardly more: `Same bench, half twelve?`"""
    is_question = clause.rstrip().endswith("?") and time is not None and time.is_exact
    return is_question and len(clause.split()) <= _ANSWER and not VERBAL.search(clause)


def _bare_place(timeless: str, heard: Heard) -> str | None:
    """Return the place that is named without `at`, between commas and times."""
    for part in re.split(r"[,.;:?!]+", timeless):
        found = BARE_PLACE.fullmatch(part.strip(" |"))
        if found is None or part.rstrip().endswith("|"):  # what is said of a time: `The ferry leaves |`
            continue
        name = next(name for name in found.groups() if name is not None)
        if not (
            ABOUT_ANOTHER.search(part)
            or NO_PLACE.match(name)
            or set(name.casefold().split()) & heard.names
            or not _without_fillers(name)
        ):
            return {own: place for place, own in OWN.items()}.get(name.lower(), name)
    return None


def _without_fillers(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w'’]+", text.lower()) if word not in FILLERS]


def _merged(time: SpokenTime | None, before: SpokenTime | None) -> SpokenTime | None:
    if time is None or before is None or time.day is not None or time.at is not None:
        return time or before
    return replace(time, day=before.day if before.at is None else before.at.date())
