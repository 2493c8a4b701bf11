"""Measure how much each agent takes part: ChatAgents' Table II, with speaking time, share of the floor and evenness.

1. Only rounds that ended in a turn count; cognition in a round that never ended counts nowhere.
2. Words are counted as the simulated clock counts them: separated by white space.
3. A figure that needs cognition is `None` if there was none, as in a dialogue of two.

Source: ChatAgents App. F, Tab. II; Pielou 1966, "The measurement of diversity in different types of biological
collections" (evenness).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import get_args

from pydantic import Field

from tertulia.state.cognition import Bid, InformationNeed, WillingFor, WillingnessRatings
from tertulia.state.meeting import LatencyClass
from tertulia.state.records import Record, Turn
from tertulia.state.words import spoken_words

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
    rounds = {turn.round for turn in turns}
    after_silence = {turn.round + 1 for turn in turns if turn.speaker is None}
    utterances = [turn for turn in turns if turn.speaker is not None]
    total_words = sum(spoken_words(turn.text) for turn in utterances)
    agents = []
    for person in people:
        name = person.agent
        spoken = [turn for turn in utterances if turn.speaker == name]
        words = sum(spoken_words(turn.text) for turn in spoken)
        bid_in = None if bids is None else {r: bid for (r, who), bid in bids.items() if who == name and r in rounds}
        wanting = None if bid_in is None else {r for r, bid in bid_in.items() if bid.willing}
        agents.append(
            AgentFigures(
                **dict(person),
                spoken=len(spoken),
                wanting_to_speak=None if wanting is None else len(wanting),
                wanting_for=None if wanting is None else _counted(name, wanting, reasons or {}),
                silent=None if bid_in is None or wanting is None else len(bid_in) - len(wanting),
                decisions=None if bid_in is None else len(bid_in),
                mechanisms=None if needs is None else _on_off(name, needs, rounds, mechanisms),
                wanting_after_silence=None if wanting is None else len(wanting & after_silence),
                speaking_after_silence=sum(turn.round in after_silence for turn in spoken),
                longest_unwilling=_longest_unwilling(bid_in),
                **_figures_of_ratings(name, ratings, rounds),
                words=words,
                speaking_time_s=words / speaking_rate_wpm * 60,
                share_of_utterances=_share(len(spoken), len(utterances)),
                share_of_speaking_time=_share(words, total_words),
            )
        )
    silences = len(turns) - len(utterances)
    return Participation(
        agents=tuple(agents),
        turns=len(turns),
        silences=silences,
        silence_s=silences * silence_s,
        sim_minutes=_ends_s(turns[-1], speaking_rate_wpm, silence_s) / 60 if turns else None,
        evenness=evenness(agent.spoken for agent in agents if agent.decisions != 0),
    )


def _figures_of_ratings(name: str, ratings: RatingsByKey | None, rounds: Collection[int]) -> dict[str, int]:
    """Return the figures of an agent's ratings; none if no model rates willingness."""
    if not ratings:
        return {}
    rated = [found for (round, agent), found in ratings.items() if agent == name and round in rounds]
    return {
        "rated": len(rated),
        "rated_off_scale": sum(found.is_off_scale for found in rated),
        "distinct_ratings": len({found.values for found in rated}),
    }


def _longest_unwilling(bids: Mapping[int, Bid] | None) -> int | None:
    """Return the length of the longest row of rounds with an unwilling bid."""
    if bids is None:
        return None
    marks = groupby(bids[round].willing for round in sorted(bids))
    return max((len(list(row)) for willing, row in marks if not willing), default=0)


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


def _on_off(name: str, needs: NeedsByKey, rounds: set[int], mechanisms: Sequence[str]) -> dict[str, OnOff]:
    chosen = [need.mechanisms for (r, who), need in needs.items() if who == name and r in rounds]
    on = {m: sum(m in choices and choices[m].active for choices in chosen) for m in mechanisms}
    return {m: OnOff(on=on[m], off=len(chosen) - on[m]) for m in mechanisms}


def _counted(
    name: str, rounds: Collection[int], reasons: Mapping[tuple[int, str], WillingFor]
) -> dict[WillingFor, int] | None:
    counts = Counter(reasons[round, name] for round in rounds if (round, name) in reasons)
    return {reason: counts[reason] for reason in get_args(WillingFor)} if counts or not rounds else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _ends_s(turn: Turn, speaking_rate_wpm: float, silence_s: float) -> float:
    return turn.sim_time_s + (silence_s if turn.speaker is None else spoken_words(turn.text) / speaking_rate_wpm * 60)
