"""What one line of talk does for an agreement: it proposes, assents, refuses, or takes back. English only.

Each is told by how a sentence begins, so that what is only reported (`I heard that you meet Cy at nine`) is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tertulia.nodes.agreements.spoken_places import place_in, without_places
from tertulia.nodes.agreements.spoken_times import SpokenTime, time_in, without_times
from tertulia.state.agreements import AgreementKind


def _any(*lines: str) -> str:
    return "(?:" + "|".join(lines).replace("'", "['’]") + ")"


#: What may stand before a proposal or an assent in its sentence: a word, or a name with a comma.
_LEAD = (
    r"^(?:(?:then|so|well|and|but|or|now|oh|ah|okay|ok|yes|yeah|no|good|great|fine|right|sure|all right|very well"
    r"|listen|look|please|perhaps|maybe|actually|anyway|of course|by the way|in that case|i know)[,:]? "
    r"|(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?, )*"
)


def _opening(*lines: str) -> re.Pattern[str]:
    return re.compile(_LEAD + _any(*lines), re.IGNORECASE)


#: How a proposal to be somewhere together begins; times are `|` (`without_times`).
_TOGETHER = _opening(
    r"let's\b|let us\b|shall we\b|can we\b|could we\b|should we\b|may we\b|we (?:could|can|shall|will)\b|we'll\b",
    r"why don't (?:we|you)\b|how about\b|what about\b|what do you say to\b|do you (?:want|care|feel like)\b",
    r"would you (?:like|care)\b|want to\b|fancy\b|(?:will|shall|can) i see you\b|see you\b",
    r"i(?:'ll| will) see you (?!through)",
    r"meet me\b|join (?:me|us)\b|come (?:to|by|over|and|with|along|here|at|in|round|down|up|\|)",
    r"be (?:at|in|here|there|ready|by)\b",
    r"(?:can|could|may|shall|should) i (?:come|visit|join|bring|show|call|help|see|walk|pick|drop|stop)\b",
    r"(?:can|could|will|would) you (?:please )?(?:come|arrive|be|meet|join|bring|visit|help me|show me|call)\b",
    r"(?:can|could|will|would) you (?:please )?(?:stop by|drop by|walk)\b",
    r"i'd be (?:glad|happy|delighted) if you (?:came|come|could|would)\b|i'd like you to come\b",
    r"you (?:must|should) come (?:to (?:see|visit) (?:me|us)|over|by)\b|you'll (?=.*\bwon't you\b)",
    r"(?:remember|don't forget),?(?: that)? we meet\b|would \|.*\b(?:suit|work|do)\b",
    r"(?:does|is) \|.*\b(?:suit|work|all right|okay|good)\b",
)
#: What may stand before what somebody does.
_ADVERB = (
    r"(?:(?:also|just|gladly|certainly|definitely|surely|happily|make sure to|be sure to|be happy to|be glad to) )*"
)
#: How somebody offers to come, or to do something; how they ask it of another; and what they do.
_OFFER = re.compile(
    _LEAD + _any(r"i'll|i will|i shall|i can|i could|let me|shall i") + rf" {_ADVERB}(?P<deed>(?P<verb>[\w'’-]+).*)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    _LEAD
    + r"(?:(?:can|could|will|would) you(?: please)? (?:also )?(?P<verb>[\w'’-]+)"
    + r"|(?P<told>tell|ask) (?!me\b|us\b|yourself\b))",
    re.IGNORECASE,
)
_PLEASE = re.compile(r"(?:^|, )please (?P<verb>[\w'’-]+)(?P<told>)", re.IGNORECASE)
#: What is done where the other is.
_IN_PERSON = re.compile(
    r"(?:bring|come|arrive|meet|show|visit|call|stop|drop|return|help|join|wait|walk|pick|collect|fetch|see|give|hand)\b"
    r"|be (?:at|in|on|by the|here|there|outside|behind|near|waiting|with you|round|over)\b",
    re.IGNORECASE,
)
#: What begins like an offer, or like a request, and is one for words and thoughts alone.
_NO_DEED = frozenset(
    re.findall(
        r"\w+",
        """
        be say think see know admit never always not remember forget miss try need want have bet guess hope
        feel believe find let only just understand like love imagine tell get hear go stay keep live die
        sleep look suppose manage also still probably stop wait listen agree explain start begin talk speak
        add assume confess come meet
        """,
    )
)
_NO_REQUEST = frozenset(
    re.findall(
        r"\w+",
        """
        explain imagine believe see say hear remember be sit wait stop excuse let forgive tell
        """,
    )
)
_HEDGED = re.compile(
    _any(
        r"\bif (?!you (?:came|come|could|would|like|want|wish|don't mind|are free)\b)\w+",
        r"\b(?:might|some ?day|sometime|one day|would have|wish|never|not|every \w+|all day)\b",
        r"\bdon't (?!you\b|we\b|forget\b|worry\b)|\bwon't (?!you\b)",
    ),
    re.IGNORECASE,
)
_DEADLINE = re.compile(
    r"\b(?:by|until|before) (?:the |next )?(?:tomorrow|tonight|noon|evening|\w+day)\b", re.IGNORECASE
)
_ASKED_WHEN = re.compile(
    r"\b(?:when|what time|which day|where)\b.*\b(?:can|shall|should|could|do) (?:we|i|you)\b.*\?|\bare you free\b"
    r"|\bhave you (?:got )?time\b|\bdo you have time\b",
    re.IGNORECASE,
)
_ABOUT_PAST = re.compile(r"^\W*(?:\w+ )?(?:did|was|were|had|has|have|does|is|are)\b.*\?", re.IGNORECASE)

_FRIENDLY_NO = re.compile(
    r"\b"
    + _any(
        "can't wait|no problem|not a problem|no objections?|why not|don't worry|do not worry|no worries|won't be late",
        "wouldn't miss (?:it|that)|won't forget|no doubt|nothing better|don't mind|wouldn't mind|not at all",
        "if you (?:like|want|wish)|no trouble",
    )
    + r"\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b"
    + _any(
        r"no|not|never|nor|\w+n't|cannot|unfortunately|afraid|rather|another (?:time|day)|busy|impossible|forget it",
        r"too (?:early|late|far|busy|tired)|hardly|maybe|perhaps|might|let me (?:think|see|check|ask|do)|depends|but",
        r"i'll see\b(?! you)|(?:have|need) to (?:see|ask|think|check)|think about it|instead|sorry|if i|away on",
    )
    + r"\b",
    re.IGNORECASE,
)
_ASSENTED = _opening(
    r"(?:yes|yeah|yep|yup|aye|sure|of course|certainly|absolutely|definitely|gladly|happily|with pleasure",
    r"good(?! luck)|great|fine|okay|ok|all right|alright|right|agreed|deal|done|perfect|lovely|wonderful|splendid",
    r"excellent|brilliant|very well|thanks|thank you|please do|please$|i (?:will|shall|can|am|do)|i'll",
    r"we will|we'll|we shall|my pleasure|i'm in|count me in|works for me|sounds|let's|so be it",
    r"i(?:'d| would) (?:love to|love that|like that|like to\W*$|be glad|be happy|be delighted)",
    r"that (?:works|sounds|would be|suits|is fine|is kind|will do)",
    r"that's (?:fine|good|kind|very kind|all right|settled)",
    r"it (?:does|is|will|would)|see you|you (?:are|will)|you're on|suits me|no problem|not a problem|no objections?",
    r"why not|i can't wait|i wouldn't miss|don't worry|not at all|it's a (?:deal|date)|any ?time|until then|till then",
    r"then yes|consider it done|leave it to me)\b",
)
_TAKEN = re.compile(
    r"\b(?:it is|is fine|is good|then|suits|works|yes|is perfect|is all right|it shall be)\b", re.IGNORECASE
)
_TAKES_BACK = re.compile(
    r"\b"
    + _any(
        "can't (?:make it|come|meet|do it)|cannot (?:make it|come|meet)|won't (?:make it|be able|come)|let's not",
        "after all|on second thoughts?|forget about|(?:have to|must) cancel|changed my mind|no,? wait|call it off",
        "not coming",
    )
    + r"\b",
    re.IGNORECASE,
)
#: What may stand beside a time and a place in a proposal that has no verb.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        """
        then and or so please perhaps maybe say about sharp ok okay yes no well is that all right would be
        better make it could we a an the at in on by for supper dinner lunch breakfast tea coffee drinks
        chess walk swim earlier later move suits suit me works good fine again same time to
        """,
    )
)

#: A clause of more words is more than a time and a place.
_SHORT = 16


@dataclass(frozen=True)
class Proposal:
    """What somebody proposes.

    Attributes:
        when: The time that is meant; `None` where none is named.
        doer: Who does it, where it is a task; empty: whoever assents.
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


def proposal_in(text: str, speaker: str, turn: int, now: datetime, before: Proposal | None) -> Proposal | None:
    """Return what a line proposes; `None` where it proposes nothing, or nothing that is still to come.

    Args:
        before: What was proposed last: where a line only names another time or place, the rest goes on to be meant.
    """
    found: Proposal | None = None
    new: Proposal | None
    for sentence in _sentences(text):
        new = _short([sentence], now, found or before)
        full = None if new else _full(sentence, speaker, turn, now, before)
        new = new or (None if full else _short(sentence.split(","), now, found or before))
        if new is not None:
            new = replace(new, speaker=speaker, turn=turn, is_short=found is None or found.is_short)
        new = new or full
        if found is None or (new is not None and new.is_short <= found.is_short):
            found = new or found
    if found is None or (found.kind == "meet" and found.when is None):
        return None
    return found


def assents(text: str, proposal: Proposal, now: datetime) -> bool:
    """Return whether a line assents to a proposal: it says so, or says the same time or place again."""
    for sentence in _sentences(text):
        if _ASSENTED.search(sentence):
            return True
        same = _short([sentence, *sentence.split(",")], now, proposal)
        if same is not None and "?" not in sentence and (same.when, same.place) == (proposal.when, proposal.place):
            return True
        time = time_in(sentence, now)
        if time and _TAKEN.search(without_times(sentence)) and time.resolved(now, proposal.time) == proposal.when:
            return True
    return False


def refuses(text: str) -> bool:
    """Return whether a line refuses what was proposed, or puts it off."""
    return bool(_REFUSED.search(_FRIENDLY_NO.sub("", text)))


def takes_back(text: str) -> bool:
    """Return whether a line takes back what was agreed on."""
    return bool(_TAKES_BACK.search(text))


def asks_when(text: str) -> bool:
    """Return whether a line asks when or where to meet."""
    return bool(_ASKED_WHEN.search(text))


def asks_for_facts(text: str) -> bool:
    """Return whether a line asks what was, or is: a time that answers it proposes nothing."""
    return bool(_ABOUT_PAST.search(text)) or bool(
        re.search(r"\b(?:when|where) did\b|\bwhat time is\b", text, re.IGNORECASE)
    )


def _sentences(text: str) -> Iterator[str]:
    for sentence in re.findall(r"[^.?!;:]+(?:[.:]\d\d[^.?!;:]*)*[.?!;:]*", text):
        if sentence.strip():
            yield sentence.strip()


def _full(sentence: str, speaker: str, turn: int, now: datetime, before: Proposal | None) -> Proposal | None:
    """Return the proposal of a sentence that says what is to be done."""
    if _HEDGED.search(_FRIENDLY_NO.sub("", sentence)):
        return None
    timeless = without_times(sentence)
    offer, request = _OFFER.search(sentence), _REQUEST.search(sentence) or _PLEASE.search(sentence)
    together = _TOGETHER.search(timeless)
    if not (offer or request or together):
        return None
    time, place = time_in(sentence, now), place_in(timeless)
    when = time.resolved(now, before.time if before else None) if time else None
    known = Proposal(speaker, turn, "meet", sentence.strip(), time, when, place)
    is_together = together or (offer and _IN_PERSON.match(offer["deed"]))
    if is_together and when is not None and not _DEADLINE.search(sentence):
        return known
    if is_together and re.search(r"\bmeet\b", sentence) and before is not None and place and time is None:
        return replace(known, time=before.time, when=before.when)
    if time is not None and when is None:  # it is past
        return None
    if offer and offer["verb"].lower() not in _NO_DEED and not sentence.endswith("?"):
        return replace(known, kind="task", doer=speaker)
    if request and (request["told"] or request["verb"].lower() not in _NO_REQUEST):
        return replace(known, kind="task", doer="")
    return None


def _short(clauses: Sequence[str], now: datetime, before: Proposal | None) -> Proposal | None:
    """Return the proposal of a clause that is nothing but a time or a place, with what was proposed before it."""
    for clause in clauses:
        if len(clause.split()) > _SHORT or _HEDGED.search(clause):
            continue
        timeless = without_times(clause)
        time, place = time_in(clause, now), place_in(timeless)
        rest = [word for word in re.findall(r"[\w'’]+", without_places(timeless).lower()) if word not in _FILLERS]
        if (
            rest
            or (time is None and place is None)
            or (before is None and not place and not (time and time.is_telling))
        ):
            continue
        when = time.resolved(now, before.time if before else None) if time else before.when if before else None
        if time is not None and when is None:
            return None
        return Proposal(
            speaker="",
            turn=0,
            kind=before.kind if before else "meet",
            what=before.what if before else clause.strip(),
            time=_merged(time, before.time if before else None),
            when=when,
            place=place or (before.place if before else None),
            doer=before.doer if before else None,
            is_short=True,
        )
    return None


def _merged(time: SpokenTime | None, before: SpokenTime | None) -> SpokenTime | None:
    if time is None or before is None or time.day is not None or time.at is not None:
        return time or before
    return replace(time, day=before.day if before.at is None else before.at.date())
