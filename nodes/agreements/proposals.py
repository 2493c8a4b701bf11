"""What one line of talk does for an agreement: it proposes, assents, refuses, or takes back. English only.

Each is told by how a sentence begins, so that what is only reported (`I heard that you meet Cy at nine`) is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tertulia.nodes.agreements.openings import LEAD, any_of, opening
from tertulia.nodes.agreements.replies import FRIENDLY_NO, comes, orders, says_yes
from tertulia.nodes.agreements.spoken_places import place_in, without_places
from tertulia.nodes.agreements.spoken_times import SpokenTime, time_in, without_times
from tertulia.state.agreements import AgreementKind

#: How a proposal to be somewhere together begins; times are `|` (`without_times`).
_TOGETHER = opening(
    r"let's\b|let us\b|shall we\b|(?:can|could|should|may|might) we\b|we (?:could|can|shall|will|should)\b|we'll\b",
    r"why don't (?:we|you)\b|why not (?:come|meet|join|drop|pop|stop|have|make)|how about\b|what about\b",
    r"what do you say (?:to|we)\b|what say (?:you|we)\b|do you (?:want|care|feel like|fancy)\b|want to\b"
    r"|fancy\b|wanna\b",
    r"would you (?:like|care|fancy|be up for|mind (?:coming|meeting|joining))\b|care (?:to|for)\b"
    r"|feel like\b|up for\b",
    r"(?:are )?you (?:guys )?(?:up for|game for|game to|still on|still up for)\b(?= .*\|)|(?:will|shall"
    r"|can) i see you\b|see you\b",
    r"i(?:'ll| will) see you (?!through)|(?:i'll |i could |i can |i will |shall i )?(?:pick you up|meet you"
    r"|catch you|fetch you)\b",
    r"meet (?:me|us|up|at|by|in|outside|under|\||here|there)\b|join (?:me|us)\b|(?:sit|walk|ride|eat|dine"
    r"|sing|dance) with (?:me|us)\b",
    r"come (?:to|by|over|and|with|along|here|at|in|round|up|down|see|find|join|have|for|before|after|early|late|\|)",
    r"(?:drop|pop|stop|swing|call|nip|look) (?:in|by|round|over|into|down|up)\b|call (?:on|for) me\b"
    r"|pay (?:me|us) a visit",
    r"(?:grab|get|take|have|share) (?:an?|some|your|supper|dinner|lunch|breakfast|coffee|tea) .*\bwith (?:me"
    r"|us)\b|find me\b|wait for me\b",
    r"bring .*(?:\||\bhere|\bround|\bover\b)|be (?:at|in|on|here|there|ready|by|outside|my guest|down|up)\b"
    r"|lend (?:me|us) a hand|give (?:me|us) a hand|help me\b",
    r"(?:can|could|may|might|shall|should) i (?:come|visit|join|bring|show|call|help|see|walk|pick|drop|stop"
    r"|take you|meet|pop)\b",
    r"(?:can|could|may|might) i (?:have a word|borrow you|look in|treat you|buy you|invite you|tempt you"
    r"|interest you|count on you)",
    r"(?:can|could|will|would) you (?:please |possibly )?(?:come|arrive|be|meet|join|bring|visit|help"
    r"|show me|call|sit|manage|make)\b",
    r"(?:can|could|will|would) you (?:please |possibly )?(?:stop|drop|pop|swing|walk|spare|lend|give|do \|"
    r"|look in|stay)\b",
    r"i'd be (?:glad|happy|delighted|honoured|grateful) if you (?:came|come|could|would)\b|i'd like you to\b"
    r"|i want you to\b",
    r"i(?:'d| would) (?:like|love) to (?:see|meet|show|take|invite|have|buy|cook|treat|talk to|walk"
    r"|thank) (?:you|with you|it with you)",
    r"i want to (?:show|take|invite|talk to) you|you're (?:invited|expected|welcome)\b|i invite you|i(?:'ll"
    r"| will) expect you\b",
    r"you (?:must|should|can|could|ought to|have to) (?:come|join us|be there|bring)\b|you'll (?=.*\bwon't you\b)",
    r"(?:remember|don't forget),?(?: that)? we meet\b|would \|.*\b(?:suit|work|do|be (?:all right|good|ok"
    r"|okay|convenient|better))\b",
    r"(?:does|is|will|how's|how is|how does) \|.*\b(?:suit|work|do|all right|okay|ok|good|convenient"
    r"|possible|sound|better|fit)\b",
    r"(?:would|is) \|.*\btoo (?:early|late|soon)\b|(?:do|would) you mind if (?:i|we) (?:come|came|joined?"
    r"|met|meet|brought)\b",
    r"i(?:'ll)? (?:need|could use|want) (?:some ?one|some ?body|a hand|help|some help|your help)\b|i(?:'ll"
    r"| will) wait for you\b",
    r"how (?:does|is|would) \||i(?:'ll)? (?:need|want) you (?:there|here|at|by|to (?:be|come))\b"
    r"|there's (?:room|a place|a seat) for",
)
#: How somebody says when they are free, or where they are: another may come.
_FREE = opening(
    r"i(?:'m| am|'ll be| will be) (?:usually )?(?:free|available|around|about|in town|in my|at home|home"
    r"|here|in the|at the|at my|off|back|open)\b",
    r"(?:i have|i've got) (?:an hour|half an hour|time|some time|a free|a spare|nothing|a space|a slot"
    r"|room)\b|i could do \||i can do \|",
    r"you(?:'ll| will| can)? find me\b|my door(?:'s| is)\b|i'm free\b|we(?:'re| are) (?:open|at the|in the"
    r"|free)\b|\|.* i'm free\b",
)
#: What may stand before what somebody does.
_ADVERB = (
    r"(?:(?:also|just|gladly|certainly|definitely|surely|happily|make sure to|be sure to|be happy to|be glad to) )*"
)
#: How somebody offers to come, or to do something; how they ask it of another; and what they do.
_OFFER = re.compile(
    LEAD
    + any_of(r"i'll|i will|i shall|i can|i could|i might|let me|shall i|allow me to|i'm (?:happy|glad) to")
    + rf" {_ADVERB}(?P<deed>(?P<verb>[\w'’-]+).*)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    LEAD + r"(?:(?:can|could|will|would) (?:you|some ?one|some ?body|any ?one|any ?body"
    r"|one of you)(?: please)?(?: be (?:willing|able|prepared|so kind as) to)? (?:also )?(?P<verb>[\w'’-]+)"
    + r"|would you mind (?P<minded>\w+ing)\b|(?P<told>tell|ask) (?!me\b|us\b|yourself\b))",
    re.IGNORECASE,
)
_PLEASE = re.compile(r"(?:^|, )please (?P<verb>[\w'’-]+)(?P<told>)", re.IGNORECASE)
#: What is done where the other is.
_IN_PERSON = re.compile(
    r"(?:bring|come|arrive|meet|show|visit|call (?:on|for|by|in|round|at|back)|stop|drop|return|help|join"
    r"|wait|walk|pick|collect|fetch|see|give|hand|pop|swing"
    r"|look in|turn up|sit|treat|take you|drive you|pay you)\b"
    r"|be (?:at|in|on|by the|here|there|outside|behind|near|waiting|with you|round|over|along)\b(?! (?:bed"
    r"|trouble|time|my way))",
    re.IGNORECASE,
)
#: What somebody says that they take upon themselves.
_LEFT = opening(r"(?:you can )?leave (?:the|it|that|this|my|your|those|them|all) ?[^.?!]*\b(?:to|with) me\b")
_SEES_TO = re.compile(
    r"(?:tell (?!you\b)|ask (?!you\b)|have (?:it|the|that|this|your|them)\b|let (?:him|her|them|the)"
    r"|start (?:on|the)|see to|see about|look (?:after|into|at)|take care of|keep an eye|(?:speak"
    r"|talk) (?:to|with) (?!you\b)|find out|get (?:the|it|them|some|hold|on it)|go (?:up|down|round|over|out"
    r"|back|and) .*\band)\b",
    re.IGNORECASE,
)
_ALONG = re.compile(r"\b(?:with you|then|there|along|too)\b", re.IGNORECASE)
_HAND = re.compile(r"\byou (?:please )?(?:(?:lend|give) (?:me |us )?a hand|help|spare)\b", re.IGNORECASE)
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
        come meet join visit drop pop swing make manage spare do stay
        """,
    )
)
_HEDGED = re.compile(
    any_of(
        r"\bif (?!you\b(?! (?:had|were|was|ever|asked|think|thought|knew|see)\b)|it\b|it's\b|that\b|that's\b"
        r"|the (?:rain|weather"
        r"|wind|snow|sun|sea|tide|fog|storm|ice)\b|we may\b|i may\b)(?<!mind if )\w+",
        r"\bmight\b(?! (?:i|we|as well)\b)|\b(?:some ?day|sometime|one day|would have|wish|never|not"
        r"|every \w+|all day)\b",
        r"\bdon't (?!you\b|we\b|forget\b|worry\b|be\b)|\bwon't (?!you\b)|\b(?:i|we|he|she|they) (?:always|usually)\b",
    ),
    re.IGNORECASE,
)
#: A time of another thing, that who invites goes on from: not one that bars it.
_BARRED = re.compile(
    r"\b(?:until|till|since|n['’]t|not|no|never|was|were|had|did|went|said|asked|told)\b|n['’]t\b", re.IGNORECASE
)
_DEADLINE = re.compile(
    r"(?<!come )(?<!drop )(?<!stop )(?<!pop )(?<!call )(?<!swing )\b(?:by|until|before) (?:the |next )?"
    r"(?:tomorrow|tonight|noon|evening|\w+day)\b",
    re.IGNORECASE,
)
_TOO = re.compile(r"\btoo (?:early|late|soon)\b", re.IGNORECASE)
_YES = re.compile(r"^\W*(?:yes|yeah|yep|it is|it would|a bit|rather|quite|much)\b", re.IGNORECASE)
_TAKEN = re.compile(
    r"\b(?:is no (?:trouble|problem|bother)|is (?:okay|ok|great|lovely|perfect)|it is|is fine|is good|then"
    r"|suits|works|yes|is perfect|is all right|it shall be|will do|it'll be)\b",
    re.IGNORECASE,
)
#: What may stand beside a time and a place in a proposal that has no verb.
_FILLERS = frozenset(
    re.findall(
        r"[\w'’]+",
        """
        then and or so please perhaps maybe say about sharp ok okay yes no well is that all right would be
        better make it could we a an the at in on by for supper dinner lunch breakfast tea coffee drinks
        chess walk swim earlier later move suits suit me works good fine again same time to
        's ’s s i'd i’d usual instead push shift change bring put forward back sorry how how's how’s what rather
        brunch drink beer beers pint pints wine film movie game games cards match run ride stroll picnic chat word
        talk rehearsal practice dance dancing concert show trip meet meeting meal pizza soup cake ice cream barbecue
        party quiz darts swimming fishing skating sailing riding running bowling shopping painting singing
        with you your my our us together from outside early half past ish around great perfect lovely grand
        can do does work still sure right quick little let's let’s of course pick up there here though just only
        shall after before out over into down next this now actually us two both fancy
        """,
    )
)
#: What a place is called without `at`: `The clubhouse, seven thirty`, `Platform two?`, `Mine?`
_BARE_PLACE = re.compile(
    r"(?:the|our) (?P<the>[\w'’-]+(?: [\w'’-]+){0,2})|(?P<my>(?:my|your) [\w'’-]+(?: [\w'’-]+)?)|(?P<mine>mine|yours)"
    r"|(?P<numbered>(?:platform|gate|room|pier|berth|table|door|stall|number) [\w-]+)"
    r"|(?P<name>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+){0,2})",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"^(?:usual (?:time|place|spot)|same|others?|two|three|kids|children|boys|girls|latter|former|earlier"
    r"|later|first|second|best|last|next)\b"
    r"|^(?:Yes|No|Yeah|Yep|Sure|Fine|Good|Great|Perfect|Ok|Okay|Right|Then|So|And|Or|But|Oh|Ah|Well|I|We|You"
    r"|It|That|This"
    r"|Say|Maybe|Perhaps|Sorry|Dear|Mum|Dad|Mr|Mrs|Miss|Sir|Deal|Done|Agreed|Lovely|Brilliant|Cool|Thanks"
    r"|Make|How|What)\b",
    re.IGNORECASE,
)

_OWN = {"my place": "mine", "your place": "yours"}
#: What is said of something else, and is no place: `The ferry leaves at nine`, `The meeting is on Friday`.
_ABOUT_ANOTHER = re.compile(
    r"^\W*(?:(?:the|our|my|your|his|her|their) (?:[\w'’-]+ ){1,3}?|(?:it|he|she|they|this|that|there) )(?:is"
    r"|are|was|were|leaves?"
    r"|starts?|begins?|ends?|opens?|closes?|goes|go|comes?|sails?|departs?|arrives?)\b.*\|?",
    re.IGNORECASE,
)
#: What asks for a fact, not whether to come.
_VERBAL = re.compile(
    r"\b(?:he|she|they|it|his|her|their|who|what|why|when|where|how|which|is|are|am|was|were|be|been|do|does"
    r"|did|has|have|had"
    r"|can|could|will|would|should|free|busy|working|awake|home|back|open|closed|sure|only|already|until"
    r"|till|since|still|not"
    r"|trains?|bus|buses|boat|ferry|leaves?|starts?|begins?|opens?|closes?|really|exactly|said|asked|mean"
    r"|meant)\b|n['’]t\b",
    re.IGNORECASE,
)
_INVITED = opening(
    r"(?:an? |some |for (?:an? )?)?(?:coffee|tea|lunch|dinner|supper|breakfast|brunch|drinks?|beers?|pint"
    r"|film|movie|game|match|walk|swim"
    r"|run|ride|stroll|picnic|chat|quick word|dance|meal|pizza|chess|cards|barbecue)"
    r"(?: with (?:me|us)| together| then| at mine| on me)?\?$"
)

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
    return found.when is None and (found.kind == "meet" or bool(_HAND.search(found.what)))


def _stated(
    sentence: str, speaker: str, turn: int, now: datetime, earlier: SpokenTime | None = None
) -> Proposal | None:
    """Return the time, and the place, that a sentence states, as what may be proposed beside it."""
    time = None if _BARRED.search(sentence) or _HEDGED.search(sentence) else time_in(sentence, now)
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
    if _TOO.search(proposal.what) and _YES.search(text):
        return False
    for sentence in _sentences(text):
        if _echoes(sentence, proposal) or (comes if proposal.is_weak else says_yes)(sentence):
            return True
        same = _short([sentence, *sentence.split(",")], Heard(now, proposal))
        if same is not None and "?" not in sentence and (same.when, same.place) == (proposal.when, proposal.place):
            return True
        time = time_in(sentence, now)
        if time and _TAKEN.search(without_times(sentence)) and time.resolved(now, proposal.time) == proposal.when:
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
    if _HEDGED.search(FRIENDLY_NO.sub("", sentence)):
        return None
    now, before, timeless = heard.now, heard.before, without_times(sentence)
    offer, request = _OFFER.search(sentence), _REQUEST.search(sentence) or _PLEASE.search(sentence)
    together, left = _TOGETHER.search(timeless) or _INVITED.search(sentence), _LEFT.search(sentence)
    if not (offer or request or together or left or _FREE.search(timeless)):
        return None
    time, place = time_in(sentence, now), place_in(timeless)
    when = time.resolved(now, heard.earlier) if time else None
    known = Proposal(speaker, turn, "meet", sentence.strip(), _fixed(time, when), when, place)
    is_together = together or (offer and _IN_PERSON.match(offer["deed"]) and not _SEES_TO.match(offer["deed"]))
    if is_together and when is not None and not _DEADLINE.search(sentence):
        return known
    if is_together and time is None and heard.stated is not None and _ALONG.search(sentence):
        return replace(known, time=heard.stated, when=heard.stated.resolved(now))
    if is_together and re.search(r"\bmeet\b", sentence) and before is not None and place and time is None:
        return replace(known, time=before.time, when=before.when)
    if time is not None and when is None:  # it is past
        return None
    is_deed = offer and (offer["verb"].lower() not in _NO_DEED or _SEES_TO.match(offer["deed"]))
    if left or (is_deed and not sentence.endswith("?")):
        return replace(known, kind="task", doer=speaker)
    if request and ((request["verb"] or "do it").lower() not in _NO_REQUEST):
        return replace(known, kind="task", doer="")
    if _FREE.search(timeless) and when is not None:
        return replace(known, is_weak=True)
    return known if together and time is None else None


def _short(clauses: Sequence[str], heard: Heard) -> Proposal | None:
    """Return the proposal of a clause that is nothing but a time or a place, with what was proposed before it."""
    now, before = heard.now, heard.before
    for clause in clauses:
        if len(clause.split()) > _SHORT or _HEDGED.search(clause):
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
    if _ABOUT_ANOTHER.search(clause):
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
            re.sub(re.escape(_OWN.get(place, place)), "", timeless, flags=re.IGNORECASE)
        ):
            return time, place
    return None, None


def _is_invitation(clause: str, time: SpokenTime | None) -> bool:
    """Whether a question without a verb names an hour, and hardly more: `Same bench, half twelve?`"""
    is_question = clause.rstrip().endswith("?") and time is not None and time.is_exact
    return is_question and len(clause.split()) <= _ANSWER and not _VERBAL.search(clause)


def _bare_place(timeless: str, heard: Heard) -> str | None:
    """Return the place that is named without `at`, between commas and times."""
    for part in re.split(r"[,.;:?!]+", timeless):
        found = _BARE_PLACE.fullmatch(part.strip(" |"))
        if found is None or part.rstrip().endswith("|"):  # what is said of a time: `The ferry leaves |`
            continue
        name = next(name for name in found.groups() if name is not None)
        if not (
            _ABOUT_ANOTHER.search(part)
            or _NO_PLACE.match(name)
            or set(name.casefold().split()) & heard.names
            or not _without_fillers(name)
        ):
            return {own: place for place, own in _OWN.items()}.get(name.lower(), name)
    return None


def _without_fillers(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w'’]+", text.lower()) if word not in _FILLERS]


def _merged(time: SpokenTime | None, before: SpokenTime | None) -> SpokenTime | None:
    if time is None or before is None or time.day is not None or time.at is not None:
        return time or before
    return replace(time, day=before.day if before.at is None else before.at.date())
