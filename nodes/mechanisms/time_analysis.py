"""Compare the time that is left with the plan that is left. Source: ChatAgents App. A (temporal control)."""

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.prompts.cognition import clock
from tertulia.prompts.templates import template
from tertulia.state.cognition import Finding
from tertulia.state.languages import DEFAULT

#: The share of elapsed time from which there is a hurry, and how far progress may lag behind elapsed time.
_LATE = 0.8
_LAG = 0.25
#: The share of elapsed time, and the seconds left, from which nothing is calm any more.
_NEAR_END = 0.9
_NEAR_END_S = 120


async def analyse_time(view: View) -> Finding:
    """Compare the time that is left with the part of the plan that is left. No model is asked."""
    left_s, elapsed, until = view.time_left_s(), view.elapsed_share(), view.end()[1]
    plan, done = view.character.plan, view.done()
    open_share = sum(step.share for step, is_done in zip(plan, done, strict=True) if not is_done) if plan else None
    pace = pace_of(elapsed, open_share, left_s)
    fill = view.texts.fill
    lines = [fill("findings.clock", {"time": clock(view.now)})]
    if left_s is not None:
        entry = "findings.until_departure" if until == "departure" else "findings.until_end"
        lines.append(fill(entry, {"name": view.name, "value": in_minutes(left_s, view.language)}))
    if pace != "steady":
        lines.append(fill(f"findings.{pace}", {}))
    data = {"clock": clock(view.now), "time_left_s": left_s, "until": until, "elapsed": elapsed, "open": open_share}
    return Finding(lines=tuple(lines), data={**data, "pace": pace})


def in_minutes(seconds: float, language: str = DEFAULT) -> str:
    """Return a time in words, to the nearest minute: `less than a minute`, `1 minute`, `12 minutes`."""
    minutes = round(seconds / 60)
    entry = "no_minute" if seconds < 60 else "minute" if minutes == 1 else "minutes"
    return template("cognition", language).fill(f"amounts.{entry}", {"number": minutes})


def pace_of(elapsed: float, open_share: float | None, left_s: float | None = None) -> str:
    """Return `hurry`, `steady` or `calm`; near the end it is `hurry` while anything is open, and never `calm`.

    Args:
        elapsed: Share of the agent's time that is over, in [0, 1].
        open_share: Share of the plan that is left; `None` without a plan.
        left_s: Seconds that are left; `None` if no end is known.
    """
    is_near_end = elapsed > _NEAR_END or (left_s is not None and left_s < _NEAR_END_S)
    if (elapsed >= _LATE or is_near_end) and open_share != 0:
        return "hurry"
    if is_near_end:
        return "steady"
    if open_share is None:
        return "calm" if elapsed < 0.5 else "steady"
    lag = elapsed - (1 - open_share)
    return "hurry" if lag > _LAG else "calm" if lag < 0 else "steady"


MECHANISM = Mechanism(
    name="time_analysis",
    title="Time Analysis",
    description="look at the clock and at your own schedule, and compare the time left with what is left to do",
    example=(True, "We have been at it for a while."),
    run=analyse_time,
)
