"""Causes that raised or lowered an agent's bid: arithmetic on its record. Source: ChatAgents App. B, Eq. 1.

1. W is the weighted sum of four parts; each is compared with the same part in the agent's bid of the round before.
2. Being spoken to, a long time without a word, and silence close shares of the distance of a part to 1
   (`nodes/meeting/willingness.py`). The amount of each is W less the same without it; these do not add up, as two of
   them move the same part. A move that was whole leaves no trace of the part before: its amount is not known.

Nothing is estimated here, and no attention is read.
"""

from dataclasses import dataclass
from typing import Literal

from tertulia.nodes.meeting.willingness import moved, reaches, unmoved, weighted_sum
from tertulia.state.cognition import WillingnessParts
from tertulia.state.documents import Document
from tertulia.state.parameters import Parameters
from tertulia.views.reading.rounds import AgentRound
from tertulia.views.reading.why_words import QUOTED_IN_SHORT, quoted

Cause = Literal["address", "need", "silence"]

#: Names of the parts of willingness.
PARTS = {"topic": "the topic", "goal": "goals", "emotion": "feelings", "personality": "character"}

#: Changes below this are not told: they would be read as 0.00.
_LEAST = 0.005


@dataclass(frozen=True)
class BidPart:
    """A part of W.

    Attributes:
        weighted: The part times its weight.
        change: How much more that is than in the round before; `None` without a bid there.
    """

    part: str
    weighted: float
    change: float | None


@dataclass(frozen=True)
class BidRaise:
    """A cause that has raised W beside words and feelings.

    Attributes:
        amount: W less W without it; `None`: not known.
        is_decisive: Whether W would not reach θ without it.
    """

    cause: Cause
    amount: float | None
    is_decisive: bool


@dataclass(frozen=True)
class BidReasons:
    """The reasons for a bid: its parts, the largest first, what raised them, and how W has changed."""

    parts: tuple[BidPart, ...]
    raises: tuple[BidRaise, ...]
    change: float | None
    touched_turn: int | None
    touched: str | None

    @property
    def changes(self) -> list[BidPart]:
        """The parts that have changed since the round before: those that went as W did, then others, most first."""
        found = [part for part in self.parts if part.change is not None and abs(part.change) >= _LEAST]
        of_all = self.change or 0.0
        return sorted(found, key=lambda part: ((part.change or 0.0) * of_all < 0, -abs(part.change or 0.0)))


def bid_reasons(agent: AgentRound, parameters: Parameters) -> BidReasons | None:
    """Return the reasons for the bid of an agent; `None` if there is none, or a person made it."""
    bid, before = agent.bid, agent.before
    if bid is None or bid.parts is None or bid.willingness is None:
        return None
    earlier = None if before is None else before.parts
    parts = []
    for name in WillingnessParts.model_fields:
        weight, value = getattr(agent.weights, name), getattr(bid.parts, name)
        change = None if earlier is None else weight * (value - getattr(earlier, name))
        parts.append(BidPart(name, weight * value, change))
    earlier_w = None if before is None else before.willingness
    touch = agent.touch if agent.touch is not None and agent.touch.turn is not None else None
    return BidReasons(
        parts=tuple(sorted(parts, key=lambda part: -part.weighted)),
        raises=tuple(_raises(agent, bid.parts, bid.willingness, parameters)),
        change=None if earlier_w is None else bid.willingness - earlier_w,
        touched_turn=None if touch is None else touch.turn,
        touched=None if touch is None else touch.about,
    )


def _raises(agent: AgentRound, parts: WillingnessParts, willingness: float, parameters: Parameters) -> list[BidRaise]:
    """Return the causes that raised W, by leaving each out."""
    bid, is_rated = agent.bid, parameters.willingness == "rated"
    assert bid is not None
    pull, need = (0.0, 0.0) if is_rated else (bid.address, bid.need or 0.0)
    values = parts.model_dump()
    without: dict[Cause, dict[str, float | None]] = {}
    if pull > 0:
        topic = unmoved(parts.topic, pull)
        if agent.touch is not None and parameters.willingness == "heard":
            topic = agent.touch.topic
        without["address"] = {"topic": topic, "personality": unmoved(parts.personality, pull)}
    if need > 0:
        without["need"] = {"emotion": unmoved(parts.emotion, need), "personality": unmoved(parts.personality, need)}
    base = _propensity(agent, is_rated)
    if base is not None and parts.personality - moved(base, pull, need) > _LEAST:
        without["silence"] = {"personality": moved(base, pull, need)}
    found = []
    for cause, changed in without.items():
        if None in changed.values():
            found.append(BidRaise(cause, None, False))
            continue
        amount = willingness - weighted_sum(agent.weights, **{**values, **changed})
        is_enough = reaches(willingness - amount, parameters.willingness_threshold)
        found.append(BidRaise(cause, amount, bid.willing and not is_enough))
    return [each for each in found if each.amount is None or each.amount >= _LEAST]


def _propensity(agent: AgentRound, is_rated: bool) -> float | None:
    """Return S_personality before anything moves it; `None` if that is not known."""
    if not is_rated:
        return agent.propensity
    return None if agent.ratings is None else min(1.0, max(0.0, agent.ratings.personality.rating / 10))


# --- in words -------------------------------------------------------------------------------------------------------

_CAUSES = {
    "address": ("being asked by name", "being spoken to"),
    "need": ("a long time without a word", "a long time without a word"),
    "silence": ("the silence", "the silence"),
}


def change_in_words(reasons: BidReasons, most: int = 1) -> str:
    """Return how W has changed since the round before, and by which parts; empty without a bid there."""
    if reasons.change is None:
        return ""
    by = [f"{PARTS[part.part]} {part.change:+.2f}".replace("-", "−") for part in reasons.changes[:most]]
    if abs(reasons.change) < _LEAST:
        how = "the same as in the round before"
    else:
        how = f"{'up' if reasons.change > 0 else 'down'} {abs(reasons.change):.2f} since the round before"
    return how + (f" ({', '.join(by)})" if by else "")


def raise_in_words(raised: BidRaise, address: float, *, only_decisive: bool = False) -> str:
    """Return by how much something has raised W, and whether it was decisive."""
    name = _CAUSES[raised.cause][0 if address == 1 else 1]
    if raised.amount is None:
        return "" if only_decisive else f"{name} has moved a part all the way to 1"
    if raised.is_decisive:
        return f"only {name} made it enough (+{raised.amount:.2f})"
    return "" if only_decisive else f"{name} raised it by {raised.amount:.2f}"


def touched_in_words(reasons: BidReasons) -> str:
    """Return which line touched the agent's matters most, and in which; empty if that is not recorded."""
    if reasons.touched_turn is None:
        return ""
    line = f"turn {reasons.touched_turn}" if reasons.touched_turn else "the opening"
    return f"{line} touched them" + (f" by {quoted(reasons.touched, QUOTED_IN_SHORT)}" if reasons.touched else "")


def bid_in_words(agent: AgentRound, parameters: Parameters) -> str:
    """Return the reasons for a bid in a phrase; empty if there are none beside W and its parts."""
    reasons = bid_reasons(agent, parameters)
    if reasons is None or agent.bid is None:
        return ""
    raises = [raise_in_words(raised, agent.bid.address) for raised in reasons.raises]
    return "; ".join(filter(None, [change_in_words(reasons, len(PARTS)), *raises, touched_in_words(reasons)]))


def bid_document(agent: AgentRound, parameters: Parameters) -> Document | None:
    """Return the reasons for a bid as JSON; `None` if there is none, or a person made it."""
    reasons = bid_reasons(agent, parameters)
    if reasons is None:
        return None
    return {
        "parts": [{"part": part.part, "weighted": part.weighted, "change": part.change} for part in reasons.parts],
        "raises": [
            {"cause": raised.cause, "amount": raised.amount, "decisive": raised.is_decisive}
            for raised in reasons.raises
        ],
        "change": reasons.change,
        "touched_turn": reasons.touched_turn,
        "touched": reasons.touched,
        "in_words": bid_in_words(agent, parameters),
    }
