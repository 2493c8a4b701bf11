"""When a conversation is over. Source: ChatAgents App. C; APP Table 8."""

from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters


def limit_is_reached(turn: int, sim_time_s: float, parameters: Parameters) -> bool:
    """Whether a turn (in group chat and album chat: a round) or a simulated time is the last that is allowed."""
    minutes = parameters.max_minutes
    return turn >= parameters.max_turns or (minutes is not None and sim_time_s >= 60 * minutes)


def group_chat_is_over(turn: int, sim_time_s: float, meeting: Meeting, parameters: Parameters) -> bool:
    """Whether a limit or the scheduled end is reached, or fewer than two participants are left for good."""
    is_past_end = sim_time_s >= meeting.offset_s(meeting.ends, float("inf"))
    later_s = [moment_s for moment_s in meeting.moments_s() if moment_s > sim_time_s]
    too_few_are_left = all(len(meeting.present(moment_s)) < 2 for moment_s in (sim_time_s, *later_s))
    return limit_is_reached(turn, sim_time_s, parameters) or is_past_end or too_few_are_left
