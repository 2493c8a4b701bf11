"""Willingness to speak: its four parts, their moves, and the reach of θ. Source: ChatAgents App. B, Eq. 1.

A move closes a share of the part's distance to 1, so that the order of moves does not matter:

1. *Being addressed* moves the topic, which is now about the agent, and personality: David speaks "when prompted"
   (§IV-C). A question by name counts whole, being named a half, a question to everybody a tenth.
2. *The need to speak* grows with every round without a word of the agent's: an unexpressed thought stays active
   (§III-B). It moves emotion (the need of expression) and personality, so that nobody is locked out for good.
3. *Silence* moves personality within a round, as the race waits (`nodes/meeting/contenders.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean

from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.names_in_text import named_in
from tertulia.prompts.person import words_of_character
from tertulia.state.cognition import Bid, WillingFor
from tertulia.state.meeting import Attendee, Meeting, WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.state.seat import is_seat_of

#: The weights of being asked by name, being named, and a question to everybody.
_ASKED, _NAMED, _OPEN_QUESTION = 1.0, 0.5, 0.1
#: S_goal at least, with nothing left to settle or no goal, too (ours: ChatAgents is silent).
GOAL_FLOOR = 0.2
#: The propensity to speak, by extraversion.
_PROPENSITY = {"extroverted": 0.8, "introverted": 0.3}
#: Share of the remainder to 1 that a whole silence adds to S_personality, by extraversion.
_DISCOMFORT = {"extroverted": 0.5, "introverted": 0.1}
#: The power with which the need to speak grows if it is the last resort.
_LAST_RESORT = 5
#: The tolerance for rounding when a sum of weighted parts is compared with a threshold.
_ROUNDING = 1e-9


def moved(part: float, *shares: float) -> float:
    """Return a part of willingness after moves, each closing a share in [0, 1] of its distance to 1."""
    left = 1.0
    for share in shares:
        left *= 1 - share
    return min(1.0, part + (1 - part) * (1 - left))


def goal_part(open_shares: Sequence[float], elapsed: float) -> float:
    """Return S_goal: the open share of the agent's plan, weighted by a quarter at the start and fully at the end.

    Args:
        open_shares: Shares of the steps that are not done; empty without a plan.
        elapsed: Share of the agent's time in the meeting that is over, in [0, 1].
    """
    return max(GOAL_FLOOR, min(1.0, sum(open_shares)) * (1 + 3 * elapsed) / 4)


def address_of_agent(view: View) -> float:
    """Return how much the last line of the meeting speaks to an agent, in [0, 1]; 1 if it asks them by name.

    A line speaks to them until another line is said, and only if they have noticed it.
    """
    silences = round(view.silence_s / view.context.parameters.silence_s)
    line = next((turn for turn in reversed(view.lines()) if turn.speaker is not None), None)
    if line is None or line.turn != view.round - 1 - silences or line.speaker == view.name:
        return 0.0
    if view.name in view.address["asked"]:
        return _ASKED
    if view.name in named_in(line.text, tuple(name for name in view.present if name != line.speaker)):
        return _NAMED
    return _OPEN_QUESTION if view.address["is_open_question"] else 0.0


def need_to_speak(quiet: int, present: int, parameters: Parameters) -> float:
    """Return the need to speak, in [0, 1], after so many rounds without a word of the agent's.

    It grows with a power of their number, so that a pause of the usual length hardly counts, and is full after
    `patience_rounds`, or after twice as many rounds as there are people, if those are more. If the lines move the other
    parts (`willingness=heard`), it is the last resort: a higher power.
    """
    patience = patience_of(present, parameters)
    power = _LAST_RESORT if parameters.willingness == "heard" else 2
    return 0.0 if patience is None else min(1.0, quiet / patience) ** power


def patience_of(present: int, parameters: Parameters) -> int | None:
    """Return the rounds after which the need to speak is full; `None` if it never grows."""
    return None if parameters.patience_rounds is None else max(parameters.patience_rounds, 2 * present)


def propensity_of(agent: Attendee, big_five: Sequence[str]) -> float:
    """Return S_personality before anything moves it: given by the scenario, or by extraversion, or the middle."""
    return _by_extraversion(_PROPENSITY, big_five) if agent.propensity is None else agent.propensity


def discomfort_of(agent: Attendee, big_five: Sequence[str]) -> float:
    """Return the share of S_personality's distance to 1 that a silence adds: given, by extraversion, or middling."""
    return _by_extraversion(_DISCOMFORT, big_five) if agent.silence_discomfort is None else agent.silence_discomfort


def _by_extraversion(values: Mapping[str, float], big_five: Sequence[str]) -> float:
    return next((values[pole] for pole in big_five if pole in values), fmean(values.values()))


def why_willing(bid: Bid, weights: WillingnessWeights, parameters: Parameters) -> WillingFor | None:
    """Return the reason why an agent is willing: the matter and their character, being addressed, or the need to speak.

    It is the matter (`content`) if W reaches θ without the other two, and `waiting` if only the need makes it reach θ.
    A part that was moved all the way to 1 counts as 0 before: its value is not known. It is `None` for an unwilling
    agent, and for a person.
    """
    if not bid.willing or bid.parts is None:
        return None
    parts, threshold = bid.parts, parameters.willingness_threshold
    rated = parameters.willingness == "rated"  # by the model, and moved by nothing
    need, pull = (0.0, 0.0) if rated else (bid.need or 0.0, bid.address)

    emotion, personality = unmoved(parts.emotion, need) or 0.0, unmoved(parts.personality, need) or 0.0
    if not reaches(weighted_sum(weights, parts.topic, parts.goal, emotion, personality), threshold):
        return "waiting"
    topic, personality = unmoved(parts.topic, pull) or 0.0, unmoved(personality, pull) or 0.0
    by_content = reaches(weighted_sum(weights, topic, parts.goal, emotion, personality), threshold)
    return "content" if by_content else "asked"


def unmoved(part: float, *shares: float) -> float | None:
    """Return a part before the moves that `moved` made; `None` if one of them was whole: it is not known then."""
    left = prod(1 - share for share in shares)
    return max(0.0, 1 - (1 - part) / left) if left > _ROUNDING else None


# --- the reach of the threshold -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """When a participant reaches θ of willingness.

    Attributes:
        highest: W with every part at 1.
        asked: W at least, when they are asked by name, whatever they feel and however far the matter is from them.
        rounds: After how many rounds without a word of theirs W reaches θ, whatever they feel and whatever the matter;
            `None` if that is not certain.
    """

    agent: str
    highest: float
    asked: float
    rounds: int | None
    threshold: float

    @property
    def is_never(self) -> bool:
        """Whether they can never reach θ."""
        return not reaches(self.highest, self.threshold)

    @property
    def is_asked_enough(self) -> bool:
        """Whether being asked by name is enough."""
        return reaches(self.asked, self.threshold)


def reach_of(meeting: Meeting, parameters: Parameters) -> tuple[Reach, ...]:
    """Return for every participant when they reach θ; traits that are yet to be drawn count as introverted.

    A person in the seat decides for themselves, and is left out.
    """
    present = len(meeting.participants)
    return tuple(
        _reach(attendee, present, parameters)
        for attendee in meeting.participants
        if not is_seat_of(attendee.persona.name, parameters.seat)
    )


def _reach(attendee: Attendee, present: int, parameters: Parameters) -> Reach:
    weights, threshold = attendee.weights, parameters.willingness_threshold
    propensity = propensity_of(attendee, _lowest_poles(attendee))
    rated = parameters.willingness == "rated"

    def lowest(address: float, need: float) -> float:
        """Return W with a topic that is far off, a plan that is settled, and no feeling."""
        if rated:
            return 0.0
        topic, personality = moved(0.0, address), moved(propensity, address, need)
        return weighted_sum(weights, topic, GOAL_FLOOR, moved(0.0, need), personality)

    patience = patience_of(present, parameters)
    quiet = range(1 if patience is None else patience + 1)
    certain = (n for n in quiet if reaches(lowest(0.0, need_to_speak(n, present, parameters)), threshold))
    return Reach(
        agent=attendee.persona.name,
        highest=weights.total,
        asked=lowest(1.0, 0.0),
        rounds=next(certain, None),
        threshold=threshold,
    )


def _lowest_poles(attendee: Attendee) -> Sequence[str]:
    """Return the poles of a participant before they are prepared; extraversion that is read or drawn counts as low."""
    is_settled = bool(attendee.big_five) and not words_of_character(attendee)
    return attendee.big_five if is_settled else (*attendee.big_five, "introverted")


def reaches(willingness: float, threshold: float) -> bool:
    """Return whether W reaches θ, but for rounding."""
    return willingness + _ROUNDING >= threshold


def weighted_sum(weights: WillingnessWeights, topic: float, goal: float, emotion: float, personality: float) -> float:
    """Return W. Source: Eq. 1."""
    return weights.topic * topic + weights.goal * goal + weights.emotion * emotion + weights.personality * personality
