"""A round of group chat as it is stored, read whole."""

from collections.abc import Mapping
from dataclasses import dataclass

from tertulia.nodes.meeting.willingness import propensity_of
from tertulia.state.cognition import (
    Assessment,
    Bid,
    Call,
    Character,
    Finding,
    Floor,
    InformationNeed,
    Perception,
    Touch,
    WillingnessRatings,
)
from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.meeting import Attendee, Meeting, Start, WillingnessWeights
from tertulia.state.names import is_same_name
from tertulia.state.records import RunRecord
from tertulia.state.seat import Answer
from tertulia.state.store import StepsOfRound, Store
from tertulia.views.reading.shared_turns import stretch_with


@dataclass(frozen=True)
class AgentRound:
    """The cognition of an agent in a round; `None` for missing steps of an interrupted round.

    A person in the seat leaves no thoughts, only the words that they `typed`: empty if they stayed silent.

    Attributes:
        touch: How much the last words touched the agent; `None` if that is not measured.
        before: The agent's bid in the round before.
        propensity: S_personality before anything moves it.
    """

    agent: str
    weights: WillingnessWeights
    perception: Perception
    need: InformationNeed | None
    findings: Mapping[str, Finding]
    assessment: Assessment | None
    ratings: WillingnessRatings | None
    bid: Bid | None
    typed: str | None
    touch: Touch | None = None
    before: Bid | None = None
    propensity: float | None = None

    @property
    def active(self) -> list[str]:
        """The mechanisms that were switched on."""
        return active_mechanisms(self.need)

    @property
    def latency_s(self) -> float | None:
        """The sampled latency; `None` for an agent that did not race."""
        return self.bid.latency_s if self.bid else None

    @property
    def won(self) -> bool:
        """Whether the agent got the floor."""
        return self.bid is not None and self.bid.won


@dataclass(frozen=True)
class Round:
    """A round: everybody present, in the scenario's order, and the decision on the floor."""

    round: int
    agents: tuple[AgentRound, ...]
    floor: Floor | None

    @property
    def fastest_first(self) -> list[AgentRound]:
        """The agents by latency; those that did not race come last."""
        return sorted(self.agents, key=lambda agent: float("inf") if agent.latency_s is None else agent.latency_s)

    @property
    def racing(self) -> list[AgentRound]:
        """The agents that raced and could stay, the fastest first."""
        gone = () if self.floor is None else self.floor.gone
        return [agent for agent in self.fastest_first if agent.latency_s is not None and agent.agent not in gone]

    def first_word_s(self, reevaluation_s: float) -> float | None:
        """Return when the fastest of those who could stay would have begun, in seconds from the start of the round.

        Args:
            reevaluation_s: Time between two evaluations of willingness, in seconds.
        """
        latency_s = next((agent.latency_s for agent in self.racing), None)
        if self.floor is None or latency_s is None:
            return None
        return (self.floor.looks - 1) * reevaluation_s + latency_s


def active_mechanisms(need: InformationNeed | None) -> list[str]:
    """Return the mechanisms that a choice switches on; none without a choice."""
    return [name for name, choice in need.mechanisms.items() if choice.active] if need else []


def read_round(store: Store, run: RunRecord, round: int, meeting: Meeting) -> Round:
    """Return a round of a run, with the people as they were in it."""
    maker = stretch_with(store, run, round).maker
    if maker != run.run and isinstance(start := store.start(maker), Meeting):
        meeting = start
    steps, characters = store.steps_of_round(run.run, round), read_characters(store, maker)
    before = store.steps(run.run, "bid", Bid, round - 1, round - 1)
    agents = (
        _read_agent(steps, meeting.participant(name), characters.get(name), before.get((round - 1, name)))
        for name in meeting.names
    )
    return Round(
        round=round,
        agents=tuple(agent for agent in agents if agent is not None),
        floor=steps.step("", "floor", Floor),
    )


def _read_agent(
    steps: StepsOfRound, attendee: Attendee, character: Character | None, before: Bid | None
) -> AgentRound | None:
    """Return the cognition of an agent in a round; `None` if the agent was not present."""
    name = attendee.persona.name
    perception = steps.step(name, "perceive", Perception)
    if perception is None:
        return None
    need = steps.step(name, "choose_mechanisms", InformationNeed)
    answer = steps.step(name, "speak_by_hand", Answer)
    findings = {mechanism: steps.step(name, mechanism, Finding) for mechanism in active_mechanisms(need)}
    return AgentRound(
        agent=name,
        weights=attendee.weights,
        perception=perception,
        need=need,
        findings={mechanism: finding for mechanism, finding in findings.items() if finding is not None},
        assessment=steps.step(name, "assess", Assessment),
        ratings=steps.step(name, "decide", WillingnessRatings),
        bid=steps.step(name, "bid", Bid),
        typed=None if answer is None else answer.words,
        touch=steps.step(name, "hear", Touch),
        before=before,
        propensity=None if character is None else propensity_of(attendee, character.big_five),
    )


def read_characters(store: Store, run: str) -> dict[str, Character]:
    """Return the prepared characters of a meeting by agent."""
    return {agent: character for (_, agent), character in store.steps(run, "prepare", Character, 0, 0).items()}


def calls_of(store: Store, run: str, round: int, agent: str) -> list[Call]:
    """Return the model calls of an agent in a round (empty name: those of the group)."""
    return store.calls_between(run, round, round, agent=agent)


def find_agent(given: str, start: Start, run: str) -> str:
    """Return the name of a participant as the scenario writes it.

    Raises:
        NotFoundError: There is no such participant.
    """
    for name in start.names:
        if is_same_name(name, given):
            return name
    raise NotFoundError(f"nobody named {given!r} takes part in run {run}{nearest_hint(given, start.names)}")
