"""When a conversation is over: its limits, and how they are combined. Source: ChatAgents App. C; APP Table 8."""

from collections.abc import Callable
from dataclasses import dataclass

from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters


@dataclass(frozen=True)
class Progress:
    """The progress of a conversation after a turn.

    Attributes:
        turn: The number of that turn; of the round, in an album chat.
        sim_time_s: Simulated seconds since the conversation began.
    """

    turn: int
    sim_time_s: float
    start: Start
    parameters: Parameters


Condition = Callable[[Progress], bool]


def turn_limit_is_reached(progress: Progress) -> bool:
    """Whether the last turn (in group chat and album chat: round) that the parameters allow was held."""
    return progress.turn >= progress.parameters.max_turns


def time_limit_is_reached(progress: Progress) -> bool:
    """Whether the simulated minutes that the parameters allow are over."""
    minutes = progress.parameters.max_minutes
    return minutes is not None and progress.sim_time_s >= 60 * minutes


def scheduled_end_is_reached(progress: Progress) -> bool:
    """Whether the end that the meeting's scenario sets is reached."""
    start = progress.start
    return isinstance(start, Meeting) and progress.sim_time_s >= start.offset_s(start.ends, float("inf"))


def too_few_are_left(progress: Progress) -> bool:
    """Whether fewer than two participants are there, and there will never be two again."""
    start, now_s = progress.start, progress.sim_time_s
    if not isinstance(start, Meeting):
        return False
    later_s = [moment_s for moment_s in start.moments_s() if moment_s > now_s]
    return all(len(start.present(moment_s)) < 2 for moment_s in (now_s, *later_s))


def any_of(*conditions: Condition) -> Condition:
    """Return the condition that holds where any of these does."""
    return lambda progress: any(condition(progress) for condition in conditions)


def dialogue_is_over(progress: Progress) -> bool:
    """Whether a limit of a dialogue is reached."""
    return any_of(turn_limit_is_reached, time_limit_is_reached)(progress)


def album_chat_is_over(progress: Progress) -> bool:
    """Whether a limit of an album chat is reached."""
    return any_of(turn_limit_is_reached, time_limit_is_reached)(progress)


def group_chat_is_over(progress: Progress) -> bool:
    """Whether a limit of a group chat is reached."""
    return any_of(turn_limit_is_reached, time_limit_is_reached, scheduled_end_is_reached, too_few_are_left)(progress)
