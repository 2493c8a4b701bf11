"""Checks and notes about a meeting: people that can come to speak in it, and people that no longer do."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from tertulia.nodes.meeting.willingness import Reach, reach_of
from tertulia.state.cognition import HIGHEST_RATING, Bid, WillingnessRatings
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters

#: A run notes so many rounds in a row without willingness.
UNWILLING_ROUNDS = 20
#: A run notes so many equal ratings in a row.
SAME_RATINGS = 10
#: Words that a round usually takes, the pause before it included.
_USUAL_WORDS = 25


def verdict(person: Reach) -> str:
    """Return in words when a person comes to speak."""
    if person.is_never:
        return f"never: their weights add up to {person.highest:g}"
    certain = ["when asked by name"] if person.is_asked_enough else []
    if person.rounds is not None:
        certain.append(f"after {person.rounds} rounds without a word" if person.rounds else "always")
    return "; ".join(certain) or "when enough of topic, goal, feeling and character come together"


def warnings_of(meeting: Meeting, parameters: Parameters) -> Iterator[str]:
    """Yield the problems of a meeting that do not prevent it."""
    for person in reach_of(meeting, parameters) if parameters.order == "self_driven" else ():
        if person.is_never:
            yield (
                f"{person.agent} can never come to speak: their weights add up to {person.highest:g}, and "
                f"willingness_threshold is {person.threshold:g}; raise them, or lower it"
            )
        elif parameters.willingness != "rated" and not person.is_asked_enough and person.rounds is None:
            yield (
                f"{person.agent} may stay silent for good: neither being asked nor waiting brings them to "
                f"willingness_threshold {person.threshold:g}; raise the weights of emotion and personality"
            )
    yield from _too_late(meeting, parameters)
    moments = meeting.moments_s()
    for number, moment_s in enumerate(moments):
        if all(len(meeting.present(later_s)) < 2 for later_s in moments[number:]):
            time = meeting.time + timedelta(seconds=moment_s)
            yield f"from {time:%H:%M} on fewer than two are there: the meeting ends then"
            return


def _too_late(meeting: Meeting, parameters: Parameters) -> Iterator[str]:
    """Yield a note on each person that comes after the last round, by the longest and by usual rounds."""
    words_s = 60 / parameters.speaking_rate_wpm
    usual_s = parameters.max_turns * _USUAL_WORDS * words_s
    longest_s = parameters.max_turns * (parameters.silence_s + parameters.utterance_tokens * words_s)
    for attendee in meeting.participants:
        joins_s = meeting.offset_s(attendee.joins, 0.0)
        talked_s = _talked_s(meeting, joins_s)
        if talked_s < usual_s:
            continue
        certain, taken_s = ("can't", longest_s) if talked_s >= longest_s else ("may not", usual_s)
        yield (
            f"{attendee.persona.name} joins after {joins_s / 60:.0f} minutes and {certain} come before the end: "
            f"{parameters.max_turns} rounds take {'at most' if certain != 'may not' else 'about'} {taken_s / 60:.0f}; "
            "let them join earlier, or raise limits.rounds"
        )


def _talked_s(meeting: Meeting, until_s: float) -> float:
    """Return the seconds until a moment in which two are there: no round passes in others."""
    moments = [0.0, *(moment_s for moment_s in meeting.moments_s() if 0 < moment_s < until_s), until_s]
    return sum(later_s - moment_s for moment_s, later_s in pairwise(moments) if len(meeting.present(moment_s)) >= 2)


def notes_of_round(context: Context, state: GroupState) -> Iterator[str]:
    """Yield notes after a round: people that no longer want to speak, and people whose ratings carry no signal."""
    if not isinstance(context.start, Meeting):
        return
    for name in state["present"]:
        if state["minds"][name]["unwilling"] == UNWILLING_ROUNDS and context.parameters.order == "self_driven":
            bids = context.store.steps(context.run, "bid", Bid, state["round"] - UNWILLING_ROUNDS + 1, state["round"])
            highest = max(bid.willingness or 0.0 for (_, agent), bid in bids.items() if agent == name)
            yield (
                f"{name} has not wanted to speak for {UNWILLING_ROUNDS} rounds: their willingness was {highest:.2f} at "
                f"most, and willingness_threshold is {context.parameters.willingness_threshold:g}"
            )
    for name in state["present"] if context.parameters.willingness == "rated" else ():
        mind = state["minds"][name]
        rated = context.store.step(context.run, state["round"], name, "decide", WillingnessRatings)
        if rated is not None and rated.is_off_scale and mind.get("off_scale") == 1:
            yield f"the model of {name} rates outside 0 to {HIGHEST_RATING}; the nearer end counts"
        if mind.get("same_ratings") == SAME_RATINGS:
            yield f"the model of {name} has given the same ratings {SAME_RATINGS} times; they carry no signal"
