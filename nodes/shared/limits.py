"""When a conversation is over. Source: ChatAgents App. C; APP Table 8."""

from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import EndedBy


def limit_reached(turn: int, sim_time_s: float, parameters: Parameters) -> EndedBy | None:
    """Return the limit that a turn (in group chat and album chat: a round) or a simulated time reaches, if any."""
    minutes = parameters.max_minutes
    if minutes is not None and sim_time_s >= 60 * minutes:
        return "minutes"
    return "rounds" if turn >= parameters.max_turns else None


def end_of_group_chat(turn: int, sim_time_s: float, meeting: Meeting, parameters: Parameters) -> EndedBy | None:
    """Return why a meeting is over: its scheduled end, fewer than two people who stay or return, or a limit."""
    if sim_time_s >= meeting.offset_s(meeting.ends, float("inf")):
        return "schedule"
    later_s = [moment_s for moment_s in meeting.moments_s() if moment_s > sim_time_s]
    if all(len(meeting.present(moment_s)) < 2 for moment_s in (sim_time_s, *later_s)):
        return "nobody left"
    return limit_reached(turn, sim_time_s, parameters)
