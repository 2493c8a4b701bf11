"""The floor: the contenders, and what is stored when it is given. The five speaking orders share this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.latency import adjusted_latency, base_latency, draw_latency, persistence_of
from nodes.seat import answer_of, is_persons, is_raced_for, seconds_taken
from nodes.view import character_of
from state.cognition import Bid, Floor, WillingnessParts
from state.context import Context
from state.graph_state import GroupState, Mind, OpenBid
from state.meeting import WillingnessWeights
from state.parameters import Parameters
from state.randomness import keyed_generator

#: Share of the remainder to 1 that a whole silence adds to S_personality, by extraversion.
_DISCOMFORT = {"extroverted": 0.5, "introverted": 0.1}


@dataclass(frozen=True)
class Contender:
    """An agent who may get the floor in a round.

    Attributes:
        name: The agent's name.
        bid: The bid that their cognition made; `None` for a person, for whom no model thinks.
        weights: The weights of the parts of willingness.
        discomfort: Share of the remainder to 1 that a whole silence adds to S_personality, in [0, 1].
        base_latency: μ₀ and σ₀ in seconds.
        unheard: The number of consecutive rounds in which they were willing and did not get the floor.
        wants_to_speak: Whether a person wants to say something; ignored for agents.
    """

    name: str
    bid: OpenBid | None
    weights: WillingnessWeights
    discomfort: float
    base_latency: tuple[float, float]
    unheard: int
    wants_to_speak: bool = False

    def bid_after(self, silence_s: float, parameters: Parameters) -> Bid:
        """Return the bid after so many seconds of silence, before any draw. Source: Eq. 1, 4 and 5."""
        similarity = 0.0 if self.bid is None else self.bid["similarity"]
        scale, spread = adjusted_latency(self.base_latency, similarity, parameters)
        parts = None if self.bid is None else self._parts_after(self.bid, silence_s, parameters)
        willingness = None if parts is None else self._weighted(parts)
        willing = self.wants_to_speak if willingness is None else willingness >= parameters.willingness_threshold
        return Bid(
            parts=parts,
            willingness=willingness,
            willing=willing,
            similarity=similarity,
            similarity_max=None if self.bid is None else self.bid["similarity_max"],
            latency_scale_s=scale,
            latency_spread_s=spread,
            persistence=persistence_of(self.unheard, parameters),
            latency_s=None,
            won=False,
        )

    def _parts_after(self, bid: OpenBid, silence_s: float, parameters: Parameters) -> WillingnessParts:
        pressure = self.discomfort * min(1.0, silence_s / parameters.silence_s)
        personality = bid["personality"] + (1 - bid["personality"]) * pressure
        return WillingnessParts(topic=bid["topic"], goal=bid["goal"], emotion=bid["emotion"], personality=personality)

    def _weighted(self, parts: WillingnessParts) -> float:
        weights = self.weights
        return (
            weights.topic * parts.topic
            + weights.goal * parts.goal
            + weights.emotion * parts.emotion
            + weights.personality * parts.personality
        )


@dataclass(frozen=True)
class Outcome:
    """The outcome of a round: the speaker, or `None` in a silence, and all bids."""

    speaker: str | None
    floor: Floor
    bids: Mapping[str, Bid]


def contenders_of(state: GroupState, context: Context) -> list[Contender]:
    """Return the contenders: all who are there, in the scenario's order."""
    return [_contender(state, context, name) for name in state["present"]]


def _contender(state: GroupState, context: Context, name: str) -> Contender:
    attendee = context.meeting.participant(name)
    poles = character_of(context, name).big_five
    is_asked = is_persons(name, context) and is_raced_for(context)  # else a person is asked once they have the floor
    answer = answer_of(context, state["round"], name) if is_asked else None
    discomfort = attendee.silence_discomfort
    return Contender(
        name=name,
        bid=None if is_persons(name, context) else state["bids"][name],
        weights=attendee.weights,
        discomfort=next(_DISCOMFORT[pole] for pole in poles if pole in _DISCOMFORT)
        if discomfort is None
        else discomfort,
        base_latency=base_latency(attendee.latency, context.parameters),
        unheard=state["minds"][name]["unheard"],
        wants_to_speak=bool(answer and answer.words),
    )


def with_latency(bid: Bid, context: Context, round: int, name: str, look: int = 0) -> Bid:
    """Return the bid with a sampled latency, the factor of persistence applied.

    For a human participant whose clock runs, use the time that they took.
    """
    if is_persons(name, context) and context.parameters.seat_clock == "runs":
        is_raced = is_raced_for(context)  # else their time counts once they have the floor
        took_s = seconds_taken(answer_of(context, round, name), context) if is_raced else 0.0
        return bid.model_copy(update={"latency_s": took_s, "persistence": 1.0})
    generator = keyed_generator(context.seed, round=round, agent=name, node="latency", attempt=look)
    form = context.parameters.latency_form
    latency_s = draw_latency(bid.latency_scale_s, bid.latency_spread_s, form, generator) * bid.persistence
    return bid.model_copy(update={"latency_s": latency_s})


def appointed(
    state: GroupState, context: Context, contenders: Sequence[Contender], speaker: str, reason: str | None = None
) -> Outcome:
    """Return the outcome of a round in which a speaker was appointed; they begin after a sampled latency."""
    bids = {contender.name: contender.bid_after(state["silence_s"], context.parameters) for contender in contenders}
    bid = with_latency(bids[speaker], context, state["round"], speaker)
    bids[speaker] = bid.model_copy(update={"won": True})
    return Outcome(speaker, Floor(order=context.parameters.order, waited_s=bid.latency_s, reason=reason), bids)


def give_floor(state: GroupState, context: Context, outcome: Outcome) -> GroupState:
    """Store how the floor was given, and advance the clock to the first word, if there is one."""
    store, run, round = context.store, context.run, state["round"]
    for name, bid in outcome.bids.items():
        store.save_step(run, round, name, "bid", bid)
    store.save_step(run, round, "", "floor", outcome.floor)
    minds: dict[str, Mind] = {}
    for name, bid in outcome.bids.items():
        mind = state["minds"][name]
        unheard = mind["unheard"] + 1 if bid.willing and not bid.won else 0
        minds[name] = {**mind, "unheard": unheard}
    waited_s = outcome.floor.waited_s or 0.0
    return {"speaker": outcome.speaker or "", "sim_time_s": state["sim_time_s"] + waited_s, "minds": minds}


def last_speaker(state: GroupState, context: Context) -> str | None:
    """Return the last speaker, present or not; before the first turn who opened the meeting, or `None`."""
    last_rounds = {name: mind["spoke"] for name, mind in state["minds"].items() if mind["spoke"]}
    if last_rounds:
        return max(last_rounds, key=lambda name: last_rounds[name])
    opening = context.meeting.opening
    return opening.speaker if opening is not None and opening.speaker in context.meeting.names else None
