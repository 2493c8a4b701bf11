"""Checks and notes about a meeting: who can come to speak in it, and who no longer does."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from tertulia.nodes.meeting.willingness import Reach, reach_of
from tertulia.state.cognition import HIGHEST_RATING, Bid, WillingnessRatings
from tertulia.state.context import Context
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.graph_state import GroupState
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters

#: A run notes so many rounds in a row without willingness.
UNWILLING_ROUNDS = 20
#: A run notes so many equal ratings in a row.
SAME_RATINGS = 10


def check_meeting(scenario: str, settings: Mapping[str, Any]) -> tuple[Meeting, tuple[Reach, ...], list[str]]:
    """Return a meeting, the conditions under which each participant comes to speak, and warnings.

    Args:
        scenario: A shipped name or a YAML file.
        settings: Parameters by name, over those of the scenario.

    Raises:
        ScenarioError: It can't be read, or nobody can ever speak.
        UsageError: It is no meeting.
    """
    from tertulia.planning.starting import plan_run

    plan = plan_run(scenario, settings, model="rehearsal")
    if not isinstance(plan.start, Meeting):
        is_dialogue = plan.start.kind == "dialogue"
        kind = "a dialogue of two, who speak in turn" if is_dialogue else "an album chat, in which two meet at a time"
        raise UsageError(f"{scenario} is {kind}; only a meeting is checked")
    return plan.start, reach_of(plan.start, plan.parameters), list(warnings_of(plan.start, plan.parameters))


def check_document(meeting: Meeting, reach: tuple[Reach, ...], warnings: list[str]) -> Document:
    """Return what `check_meeting` found, as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "scenario": meeting.scenario,
        "people": [
            {
                "agent": person.agent,
                "weights": meeting.participant(person.agent).weights.model_dump(),
                "highest": person.highest,
                "threshold": person.threshold,
                "never": person.is_never,
                "when_asked": person.is_asked_enough,
                "after_quiet_rounds": person.rounds,
            }
            for person in reach
        ],
        "warnings": warnings,
    }


def verdict(person: Reach) -> str:
    """Return in words when somebody comes to speak."""
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
        elif parameters.willingness == "computed" and not person.is_asked_enough and person.rounds is None:
            yield (
                f"{person.agent} may stay silent for good: neither being asked nor waiting brings them to "
                f"willingness_threshold {person.threshold:g}; raise the weights of emotion and personality"
            )
    moments = meeting.moments_s()
    for number, moment_s in enumerate(moments):
        if all(len(meeting.present(later_s)) < 2 for later_s in moments[number:]):
            time = meeting.time + timedelta(seconds=moment_s)
            yield f"from {time:%H:%M} on fewer than two are there: the meeting ends then"
            return


def notes_of_round(context: Context, state: GroupState) -> Iterator[str]:
    """Yield notes after a round: who no longer wants to speak, and whose ratings carry no signal."""
    if not isinstance(context.start, Meeting):
        return
    for name in state["present"]:
        if state["minds"][name].get("unwilling") == UNWILLING_ROUNDS and context.parameters.order == "self_driven":
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
