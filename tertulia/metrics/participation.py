"""Measure how much each agent takes part: ChatAgents' Table II, with speaking time, share of the floor and evenness.

1. Only rounds that ended in a turn count; cognition in a round that never ended counts nowhere.
2. Words are counted as in other measures, time by the words of the simulated clock: separated by white space.
3. A figure that needs cognition is `None` if there was none, as in a dialogue of two.

Source: ChatAgents App. F, Tab. II; Pielou 1966, "The measurement of diversity in different types of biological
collections" (evenness).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import Field

from tertulia.state.cognition import Bid, InformationNeed, WillingFor, WillingnessRatings
from tertulia.state.meeting import LatencyClass
from tertulia.state.records import Record, Turn
from tertulia.state.words import spoken_words, words

#: Records of a step of cognition, by round and agent.
NeedsByKey = Mapping[tuple[int, str], InformationNeed]
RatingsByKey = Mapping[tuple[int, str], WillingnessRatings]


class Latency(Record):
    """The response latency of an agent: μ₀ and σ₀ in seconds, and the class of Eq. 2 that they come from, if any."""

    latency_class: LatencyClass | None = None
    scale_s: float
    spread_s: float


class Person(Record):
    """The description of an agent in Table II; `None` for fields that a dialogue of two does not have."""

    agent: str
    latency: Latency | None = None
    traits: tuple[str, ...] | None = None
    setting: str | None = None


class OnOff(Record):
    """The numbers of rounds in which a mechanism was switched on, and in which it was not."""

    on: int
    off: int


class AgentFigures(Person):
    """The figures of an agent. Source: ChatAgents App. F, Tab. II; those from `words` on are added."""

    spoken: int = Field(description="utterances")
    wanting_to_speak: int | None = Field(description="rounds in which they were willing")
    wanting_for: dict[WillingFor, int] | None = Field(
        default=None, description="those of the willing rounds by what made them willing; None for a person"
    )
    silent: int | None = Field(description="rounds in which they decided and were not willing")
    decisions: int | None = Field(description="rounds in which they decided")
    mechanisms: dict[str, OnOff] | None
    wanting_after_silence: int | None = Field(description="those of the willing rounds that follow a recorded silence")
    speaking_after_silence: int = Field(description="those of the utterances that follow a recorded silence")
    longest_unwilling: int | None = Field(
        default=None, description="most rounds in a row in which they decided and were not willing"
    )
    rated: int | None = Field(
        default=None, description="rounds in which a model rated their willingness; None where it was computed"
    )
    rated_off_scale: int | None = Field(default=None, description="those of them with a rating outside the scale")
    distinct_ratings: int | None = Field(default=None, description="how many of them differ from each other")
    words: int | None
    speaking_time_s: float | None
    share_of_utterances: float | None = Field(description="in [0, 1]; None where nobody has spoken")
    share_of_speaking_time: float | None


class Participation(Record):
    """The figures of all agents, and of the whole conversation."""

    agents: tuple[AgentFigures, ...]
    turns: int = Field(description="recorded silences included")
    silences: int
    silence_s: float = Field(description="length of the recorded silences together, in seconds")
    sim_minutes: float | None = Field(description="simulated minutes to the end of the last turn; None without one")
    evenness: float | None = Field(description="Pielou's evenness of the utterances")


def participation(
    people: Sequence[Person],
    turns: Sequence[Turn],
    speaking_rate_wpm: float,
    silence_s: float,
    mechanisms: Sequence[str] = (),
    bids: Mapping[tuple[int, str], Bid] | None = None,
    needs: NeedsByKey | None = None,
    ratings: RatingsByKey | None = None,
    reasons: Mapping[tuple[int, str], WillingFor] | None = None,
) -> Participation:
    """Return the figures of a run.

    Args:
        people, mechanisms: In the order of the table.
        turns: All turns, in their order.
        speaking_rate_wpm: Words per minute.
        silence_s: Length of a recorded silence.
        bids, needs, ratings: Those of a group chat, by round and agent; `None` for a dialogue of two. There are ratings
            if models rate willingness.
        reasons: The reasons of willing agents, by round and agent.
    """
    count = ParticipationCount(mechanisms, bids is not None, needs is not None)
    count.add(turns, bids or {}, needs or {}, ratings or {}, reasons or {}, speaking_rate_wpm, silence_s)
    return count.figures(people)


@dataclass
class _AgentCount:
    """The counts of an agent; a row of unwilling rounds goes on, or has ended."""

    spoken: int = 0
    words: int = 0
    words_at: Counter[float] = field(default_factory=Counter)  # of the clock, by speaking rate
    speaking_after_silence: int = 0
    wanting: int = 0
    wanting_after_silence: int = 0
    decisions: int = 0
    unwilling_row: int = 0
    longest_unwilling: int = 0
    wanting_for: Counter[WillingFor] = field(default_factory=Counter)
    needs: int = 0
    on: Counter[str] = field(default_factory=Counter)
    rated: int = 0
    rated_off_scale: int = 0
    ratings: set[tuple[float, ...]] = field(default_factory=set)


class ParticipationCount:
    """Counts that grow turn by turn: each turn, and each record of its round, is added once."""

    def __init__(self, mechanisms: Sequence[str], has_bids: bool, has_needs: bool) -> None:
        """Begin with nothing; a dialogue of two has neither bids nor needs."""
        self._mechanisms, self._has_bids, self._has_needs, self._has_ratings = mechanisms, has_bids, has_needs, False
        self._agents: defaultdict[str, _AgentCount] = defaultdict(_AgentCount)
        self._turns, self._silences = 0, Counter[float]()  # by length
        self._ends_s: float | None = None
        self._after_silence = -1  # the round after the last silence

    def add(
        self,
        turns: Sequence[Turn],
        bids: Mapping[tuple[int, str], Bid],
        needs: NeedsByKey,
        ratings: RatingsByKey,
        reasons: Mapping[tuple[int, str], WillingFor],
        speaking_rate_wpm: float,
        silence_s: float,
    ) -> None:
        """Add the turns that follow those added before, and the records of their rounds; others are passed over.

        Speaking rate and length of a silence (see `participation`) are those of these turns.
        """
        rounds, after_silence = {turn.round for turn in turns}, {self._after_silence}
        for turn in turns:
            if turn.speaker is None:
                self._silences[silence_s] += 1
                self._after_silence = turn.round + 1
                after_silence.add(self._after_silence)
            else:
                agent = self._agents[turn.speaker]
                agent.spoken += 1
                agent.words += len(words(turn.text))
                agent.words_at[speaking_rate_wpm] += spoken_words(turn.text)
                agent.speaking_after_silence += turn.round in after_silence
        if turns:
            self._ends_s = _ends_s(turns[-1], speaking_rate_wpm, silence_s)
        self._turns += len(turns)
        for round, name in sorted(key for key in bids if key[0] in rounds):
            agent, willing = self._agents[name], bids[round, name].willing
            agent.decisions += 1
            agent.unwilling_row = 0 if willing else agent.unwilling_row + 1
            agent.longest_unwilling = max(agent.longest_unwilling, agent.unwilling_row)
            if willing:
                agent.wanting += 1
                agent.wanting_after_silence += round in after_silence
                agent.wanting_for.update([reasons[round, name]] if (round, name) in reasons else ())
        for (round, name), need in needs.items():
            if round in rounds:
                self._agents[name].needs += 1
                self._agents[name].on.update(m for m, choice in need.mechanisms.items() if choice.active)
        self._has_ratings |= bool(ratings)
        for (round, name), rating in ratings.items():
            if round in rounds:
                self._agents[name].rated += 1
                self._agents[name].rated_off_scale += rating.is_off_scale
                self._agents[name].ratings.add(rating.values)

    def figures(self, people: Sequence[Person]) -> Participation:
        """Return the figures of all that was added (see `participation`)."""
        total_s = _speaking_time_s(sum((agent.words_at for agent in self._agents.values()), Counter[float]()))
        agents = [self._figures(person, self._agents[person.agent], total_s) for person in people]
        return Participation(
            agents=tuple(agents),
            turns=self._turns,
            silences=self._silences.total(),
            silence_s=sum(number * length_s for length_s, number in self._silences.items()),
            sim_minutes=None if self._ends_s is None else self._ends_s / 60,
            evenness=evenness(agent.spoken for agent in agents if agent.decisions != 0),
        )

    def _figures(self, person: Person, count: _AgentCount, total_s: float) -> AgentFigures:
        bids: dict[str, Any] = {}
        if self._has_bids:
            reasons = {reason: count.wanting_for[reason] for reason in get_args(WillingFor)}
            bids = {
                "wanting_to_speak": count.wanting,
                "wanting_for": reasons if count.wanting_for or not count.wanting else None,
                "silent": count.decisions - count.wanting,
                "decisions": count.decisions,
                "wanting_after_silence": count.wanting_after_silence,
                "longest_unwilling": count.longest_unwilling,
            }
        on_off = {m: OnOff(on=count.on[m], off=count.needs - count.on[m]) for m in self._mechanisms}
        ratings = {
            "rated": count.rated,
            "rated_off_scale": count.rated_off_scale,
            "distinct_ratings": len(count.ratings),
        }
        unknown = dict.fromkeys(("wanting_to_speak", "silent", "decisions", "wanting_after_silence"))
        return AgentFigures(
            **dict(person),
            **unknown | bids | (ratings if self._has_ratings else {}),
            spoken=count.spoken,
            mechanisms=on_off if self._has_needs else None,
            speaking_after_silence=count.speaking_after_silence,
            words=count.words,
            speaking_time_s=_speaking_time_s(count.words_at),
            share_of_utterances=_share(count.spoken, self._turns - self._silences.total()),
            share_of_speaking_time=_share(_speaking_time_s(count.words_at), total_s),
        )


def evenness(counts: Iterable[int]) -> float | None:
    """Return Pielou's evenness: the Shannon entropy of the shares over its highest value, in [0, 1].

    It is `None` if fewer than two were present (with counts of zero, if they never spoke), or none spoke.
    """
    counts = list(counts)
    total = sum(counts)
    if len(counts) < 2 or not total:
        return None
    shares = [count / total for count in counts if count]
    return sum(share * math.log(1 / share) for share in shares) / math.log(len(counts))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _speaking_time_s(words: Mapping[float, int]) -> float:
    """Return the time for words, by their rate in words per minute."""
    return sum(number / rate_wpm * 60 for rate_wpm, number in words.items())


def _ends_s(turn: Turn, speaking_rate_wpm: float, silence_s: float) -> float:
    return turn.sim_time_s + (silence_s if turn.speaker is None else spoken_words(turn.text) / speaking_rate_wpm * 60)
