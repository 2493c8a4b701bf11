"""The contenders for the floor, and the record of the one that is given it. The five speaking orders share this."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tertulia.nodes.conversation.seat import answer_of, is_persons, is_raced_for, seconds_taken
from tertulia.nodes.meeting.latency import adjusted_latency, base_latency, draw_latency, persistence_of
from tertulia.nodes.meeting.view import View, character_of
from tertulia.nodes.meeting.willingness import address_of_agent, discomfort_of, moved, reaches, weighted_sum
from tertulia.state.cognition import Bid, Floor, WillingnessParts
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState, Mind, OpenBid, cognition_of
from tertulia.state.meeting import WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator


@dataclass(frozen=True)
class Contender:
    """An agent that may get the floor in a round.

    Attributes:
        bid: The bid that their cognition made; `None` for a person, for whom no model thinks.
        discomfort: Share of the remainder to 1 that a whole silence adds to S_personality, in [0, 1].
        base_latency: μ₀ and σ₀ in seconds.
        unheard: The number of consecutive rounds in which they were willing and did not get the floor.
        address: How much the last line speaks to them, in [0, 1]; 1 if it asks them by name.
        stays_s: Seconds from the beginning of the round until they leave.
        wants_to_speak: Whether a person wants to say something; ignored for agents.
    """

    name: str
    bid: OpenBid | None
    weights: WillingnessWeights
    discomfort: float
    base_latency: tuple[float, float]
    unheard: int
    address: float = 0.0
    stays_s: float = math.inf
    wants_to_speak: bool = False

    def bid_after(self, silence_s: float, parameters: Parameters) -> Bid:
        """Return the bid after so many seconds of silence, before any draw. Source: Eq. 1, 4 and 5."""
        similarity = 0.0 if self.bid is None else self.bid["similarity"]
        scale, spread = adjusted_latency(self.base_latency, similarity)
        parts = None if self.bid is None else self._parts_after(self.bid, silence_s, parameters)
        willingness = None if parts is None else weighted_sum(self.weights, **parts.model_dump())
        threshold = parameters.willingness_threshold
        willing = self.wants_to_speak if willingness is None else reaches(willingness, threshold)
        return Bid(
            parts=parts,
            willingness=willingness,
            willing=willing,
            address=self.address,
            need=None if self.bid is None else self.bid.get("need", 0.0),
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
        personality = moved(bid["personality"], pressure)
        return WillingnessParts(topic=bid["topic"], goal=bid["goal"], emotion=bid["emotion"], personality=personality)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a round: the speaker, or `None` in a silence, and all bids."""

    speaker: str | None
    floor: Floor
    bids: Mapping[str, Bid]


def contenders_of(state: GroupState, context: Context) -> list[Contender]:
    """Return the contenders: all agents present, in the scenario's order."""
    return [_contender(state, context, name) for name in state["present"]]


def _contender(state: GroupState, context: Context, name: str) -> Contender:
    attendee = context.meeting.participant(name)
    poles = character_of(context, name).big_five
    is_asked = is_persons(name, context, state["round"]) and is_raced_for(
        context
    )  # else a person is asked once they have the floor
    answer = answer_of(context, state["round"], name) if is_asked else None
    bid = None if is_persons(name, context, state["round"]) else state["bids"][name]
    view = View.of(cognition_of(state, name), context)
    return Contender(
        name=name,
        bid=bid,
        weights=attendee.weights,
        discomfort=discomfort_of(attendee, poles),
        base_latency=base_latency(attendee.latency, context.parameters),
        unheard=state["minds"][name]["unheard"],
        address=address_of_agent(view) if bid is None else bid.get("address", 0.0),
        stays_s=context.meeting.offset_s(attendee.leaves, math.inf) - state["sim_time_s"],
        wants_to_speak=bool(answer and answer.words),
    )


def with_latency(bid: Bid, context: Context, round: int, name: str, look: int = 0) -> Bid:
    """Return the bid with a sampled latency, the factor of persistence applied.

    For a human participant whose clock runs, use the time that they took.
    """
    if is_persons(name, context, round) and context.parameters.seat_clock == "runs":
        is_raced = is_raced_for(context)  # else their time counts once they have the floor
        took_s = seconds_taken(answer_of(context, round, name), context) if is_raced else 0.0
        return bid.model_copy(update={"latency_s": took_s, "persistence": 1.0})
    generator = keyed_generator(context.seed, round=round, agent=name, node="latency", attempt=look)
    form = context.parameters.latency_form
    latency_s = draw_latency(bid.latency_scale_s, bid.latency_spread_s, form, generator) * bid.persistence
    return bid.model_copy(update={"latency_s": latency_s})


def appointed(
    state: GroupState,
    context: Context,
    contenders: Sequence[Contender],
    speaker: str,
    reason: str | None = None,
    others: Sequence[str] = (),
    *,
    drawn: bool = False,
) -> Outcome:
    """Return the outcome of a round in which a speaker is appointed; they begin after a sampled latency.

    Args:
        others: The agents appointed instead, in order, if those before leave before their first word. The round is a
            silence if all of them do.
        drawn: Whether the speaker was drawn, as nobody named one.
    """
    order = context.parameters.order
    stays_s = {contender.name: contender.stays_s for contender in contenders}
    bids = {contender.name: contender.bid_after(state["silence_s"], context.parameters) for contender in contenders}
    gone: list[str] = []
    for name in (speaker, *others):
        bid = with_latency(bids[name], context, state["round"], name)
        if (bid.latency_s or 0.0) < stays_s[name]:
            bids[name] = bid.model_copy(update={"won": True})
            floor = Floor(order=order, waited_s=bid.latency_s, gone=tuple(gone), reason=reason, drawn=drawn)
            return Outcome(name, floor, bids)
        gone.append(name)
    return Outcome(None, Floor(order=order, waited_s=None, gone=tuple(gone), reason=reason, drawn=drawn), bids)


def give_floor(state: GroupState, context: Context, outcome: Outcome) -> GroupState:
    """Store how the floor was given, and advance the clock to the first word, if there is one."""
    store, run, round = context.store, context.run, state["round"]
    for name, bid in outcome.bids.items():
        store.save_step(run, round, name, "bid", bid)
    store.save_step(run, round, "", "floor", outcome.floor)
    minds: dict[str, Mind] = {}
    for name, bid in outcome.bids.items():
        mind = state["minds"][name]
        minds[name] = {
            **mind,
            "unheard": mind["unheard"] + 1 if bid.willing and not bid.won else 0,
            "quiet": 0 if bid.won else mind["quiet"] + 1,
            "unwilling": 0 if bid.willing or bid.won else mind["unwilling"] + 1,
        }
    waited_s = outcome.floor.waited_s or 0.0
    return {"speaker": outcome.speaker or "", "sim_time_s": state["sim_time_s"] + waited_s, "minds": minds}


def last_speaker(state: GroupState, context: Context) -> str | None:
    """Return the last speaker, present or not; before the first turn the opener of the meeting, or `None`."""
    last_rounds = {name: mind["spoke"] for name, mind in state["minds"].items() if mind["spoke"]}
    if last_rounds:
        return max(last_rounds, key=lambda name: last_rounds[name])
    opening = context.meeting.opening
    return opening.speaker if opening is not None and opening.speaker in context.meeting.names else None
