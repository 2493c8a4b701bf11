"""When a conversation is over: conditions, and how they are put together. Source: ChatAgents App. C; APP Table 8."""

from collections.abc import Callable
from dataclasses import dataclass

from state.meeting import Meeting, Start
from state.parameters import Parameters


@dataclass(frozen=True)
class Progress:
    """Where a conversation stands after a turn.

    Attributes:
        turn: The number of that turn.
        sim_time_s: Simulated seconds since the conversation began.
        start: What it began with.
        parameters: The limits.
    """

    turn: int
    sim_time_s: float
    start: Start
    parameters: Parameters


Condition = Callable[[Progress], bool]


def turns_are_up(progress: Progress) -> bool:
    """Whether the last turn (in group chat: round) was held."""
    return progress.turn >= progress.parameters.max_turns


def time_is_up(progress: Progress) -> bool:
    """Whether the simulated minutes are over."""
    minutes = progress.parameters.max_minutes
    return minutes is not None and progress.sim_time_s >= 60 * minutes


def scheduled_end_has_come(progress: Progress) -> bool:
    """Whether the meeting's own end has come."""
    start = progress.start
    return isinstance(start, Meeting) and progress.sim_time_s >= start.offset_s(start.ends, float("inf"))


def nobody_is_left(progress: Progress) -> bool:
    """Whether fewer than two are there, and it will not be two again."""
    start, now_s = progress.start, progress.sim_time_s
    if not isinstance(start, Meeting):
        return False
    return all(len(start.present(s)) < 2 for s in (now_s, *(s for s in start.moments_s() if s > now_s)))


def any_of(*conditions: Condition) -> Condition:
    """Return the condition that holds as soon as one of these does."""
    return lambda progress: any(condition(progress) for condition in conditions)


def dialogue_is_over(progress: Progress) -> bool:
    """Whether a limit of a dialogue of two has come."""
    return any_of(turns_are_up, time_is_up)(progress)


def group_chat_is_over(progress: Progress) -> bool:
    """Whether a limit of a group chat has come."""
    return any_of(turns_are_up, time_is_up, scheduled_end_has_come, nobody_is_left)(progress)
