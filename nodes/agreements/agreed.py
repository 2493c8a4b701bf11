"""What people agree on in talk, by rules that read the words alone: no model is asked. English only.

1. One proposes: to meet at a time (`Let's meet on Friday at noon`, `I'll bring you the paper this evening`, `Tomorrow
   at nine at the slip?`), or that somebody does something (`I'll write the list`, `Bob, will you write it?`).
2. Another assents within the next lines. Who names another time or place proposes that, and the rest goes on to hold.
3. An agreement that is taken back in the same conversation is none; one that is put off is at its later time.

A proposal alone is none, nor is what lies in the past, what is only hoped for, or what others do.
docs/measuring.md has how often that is right.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from tertulia.nodes.agreements.proposals import Heard, Proposal, assents, proposal_in, stated_time
from tertulia.nodes.agreements.replies import asks_for_facts, asks_when, refuses, takes_back
from tertulia.nodes.agreements.spoken_days import LAST_YEAR
from tertulia.nodes.agreements.spoken_times import SpokenTime, time_in
from tertulia.state.agreements import Agreement
from tertulia.state.records import Turn

#: The languages whose talk is read; in others nothing is found.
LANGUAGES = ("en",)
#: The lines after a proposal in which it may be assented to, and in which an agreement may be put off or completed.
_ANSWERED_WITHIN = 4


def agreements_in(turns: Iterable[Turn], now: datetime, language: str = "en") -> tuple[Agreement, ...]:
    """Return what the people of a conversation agreed on, in the order in which they assented.

    Args:
        turns: The turns of a conversation, in order; silences are passed over.
        now: The simulated time at which it began: times are read from there, on the clock of its time zone, if it
            has one, and one before it is none.
        language: Of the talk; of a language that is not read, nothing is found.
    """
    if language not in LANGUAGES or now.year >= LAST_YEAR:
        return ()
    spoken = [turn for turn in turns if turn.speaker is not None]
    names = frozenset(word for turn in spoken for word in (turn.speaker or "").casefold().split())
    talk = _Talk(now.replace(tzinfo=None), names)
    for at, turn in enumerate(spoken):
        talk.hear(at, turn)
    return tuple(agreement for _, agreement, _ in talk.agreed)


class _Talk:
    """What is proposed, and what is agreed, as the lines are read one after the other."""

    def __init__(self, began: datetime, names: frozenset[str]) -> None:
        self.agreed: list[tuple[int, Agreement, Proposal]] = []  # each with the place of the line that assented
        self._began = began
        self._names = names
        self._pending: tuple[int, Proposal] | None = None  # with the place of its line
        self._latest: tuple[int, Proposal] | None = None  # the last proposal, whose parts go on to be meant
        self._stated: tuple[int, SpokenTime] | None = None  # a time that a line only stated
        self._asked = ""  # who asked when to meet in the line before
        self._answers_facts = False

    def hear(self, at: int, turn: Turn) -> None:
        """Read the next line."""
        speaker, text = turn.speaker or "", turn.text
        now = self._began + timedelta(seconds=turn.sim_time_s)
        if not (takes_back(text) and self._take_back(at, speaker)):
            self._read(at, speaker, turn, now)
        self._answers_facts = asks_for_facts(text) and not asks_when(text)
        earlier = self._stated[1] if self._stated is not None and at - self._stated[0] < _ANSWERED_WITHIN else None
        if (stated := stated_time(text, now, earlier)) is not None:
            self._stated = at, stated
        self._asked = ""
        if asks_when(text):
            self._asked = speaker
            time = time_in(text, now)
            when = time.resolved(now) if time else None
            if time is not None or self._latest is None:
                self._latest = at, Proposal(speaker, turn.turn, "meet", text, time, when)

    def _read(self, at: int, speaker: str, turn: Turn, now: datetime) -> None:
        text = turn.text
        if self._pending is not None and at - self._pending[0] > _ANSWERED_WITHIN:
            self._pending = None
        before = self._latest[1] if self._latest is not None and at - self._latest[0] <= _ANSWERED_WITHIN else None
        is_asked = bool(self._asked) and self._asked != speaker
        stated = self._stated[1] if self._stated is not None and at - self._stated[0] < _ANSWERED_WITHIN else None
        own = proposal_in(text, speaker, turn.turn, Heard(now, before, stated, is_asked, self._names))
        if own is not None and own.is_short and not self._may_be_short(at, before):
            own = None
        if self._pending is not None and self._pending[1].speaker != speaker:
            proposal = self._pending[1]
            if (own is not None and _counters(own, proposal)) or refuses(text):
                self._pending = None
            elif assents(text, proposal, now):
                refined = own is not None and _refines(own, proposal)
                if own is not None and proposal.kind == "task" and own.kind == "meet":  # `Any time. Come on Friday.`
                    self._pending = self._latest = at, own
                    return
                self._agree(at, speaker, turn, _refined(proposal, own) if own and refined else proposal)
                if own is None or own.is_short or refined or _is_same(own, proposal):
                    return
        if own is not None and not self._complete(at, own):
            self._pending = self._latest = at, own

    def _may_be_short(self, at: int, before: Proposal | None) -> bool:
        """Whether a line that only names a time or a place proposes it: not where it answers a question for facts."""
        return not self._answers_facts or (before is not None and self._pending is not None)

    def _agree(self, at: int, speaker: str, turn: Turn, proposal: Proposal) -> None:
        assert self._pending is not None
        made = Agreement(
            kind=proposal.kind,
            people=(self._pending[1].speaker, speaker),
            doer=(proposal.doer or speaker) if proposal.kind == "task" else None,
            what=proposal.what,
            time=proposal.when,
            is_exact=bool(proposal.time and proposal.time.is_exact),
            place=proposal.place,
            turns=(self._pending[1].turn, turn.turn),
        )
        if self._pending[1].is_short and self.agreed and at - self.agreed[-1][0] <= _ANSWERED_WITHIN:
            self.agreed = [kept for kept in self.agreed if kept[0] != self.agreed[-1][0] or not _of_same(kept[1], made)]
        self.agreed.append((at, made, proposal))
        self._pending = None
        self._latest = at, proposal

    def _complete(self, at: int, own: Proposal) -> bool:
        """Add the place to an agreement that has none, where a line only names one; return whether it did."""
        if not (self.agreed and own.is_short and self._pending is None):
            return False
        made_at, agreement, proposal = self.agreed[-1]
        if at - made_at > _ANSWERED_WITHIN or own.when != agreement.time or own.place is None:
            return False
        if agreement.place is None:
            agreement = agreement.model_copy(update={"place": own.place})
            self.agreed[-1] = made_at, agreement, replace(proposal, place=own.place)
        return True

    def _take_back(self, at: int, speaker: str) -> bool:
        """Remove the latest agreement of somebody who takes it back; return whether there was one."""
        for index in range(len(self.agreed) - 1, -1, -1):
            if speaker in self.agreed[index][1].people:
                del self.agreed[index]
                self._pending = None
                return True
        return False


def _counters(own: Proposal, proposal: Proposal) -> bool:
    """Whether a line that only names a time names another one than was proposed."""
    if not own.is_short or own.when is None or proposal.when is None or own.when == proposal.when:
        return False
    is_exact = bool(own.time and own.time.is_exact and proposal.time and proposal.time.is_exact)
    return is_exact or own.when.date() != proposal.when.date()


def _refines(own: Proposal, proposal: Proposal) -> bool:
    """Whether a line that assents also names the place, or the hour of the day, that was left open."""
    if own.is_short:
        return (own.when, own.place) != (proposal.when, proposal.place)
    if own.when == proposal.when and own.kind == "meet" and proposal.place is None and own.place is not None:
        return True
    is_loose = own.kind == proposal.kind == "meet" and not (proposal.time and proposal.time.is_exact)
    is_same_day = bool(own.when and proposal.when and own.when.date() == proposal.when.date())
    return is_loose and is_same_day and bool(own.time and own.time.is_exact)


def _refined(proposal: Proposal, own: Proposal) -> Proposal:
    return replace(proposal, time=own.time, when=own.when, place=own.place or proposal.place)


def _is_same(own: Proposal, proposal: Proposal) -> bool:
    """Whether what somebody says with their assent only says again what they assent to."""
    if own.kind == "meet":
        return proposal.kind == "meet" and own.when == proposal.when
    return own.doer == own.speaker and (proposal.doer == "" or own.when == proposal.when is not None)


def _of_same(earlier: Agreement, made: Agreement) -> bool:
    """Whether an agreement that only names another time is the earlier one of the same people, put off."""
    return set(earlier.people) == set(made.people)
