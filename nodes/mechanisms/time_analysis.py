"""Compare the time that is left with the plan that is left. Source: ChatAgents App. A (temporal control)."""

from nodes.mechanisms.mechanism import Mechanism
from nodes.view import View
from prompts.cognition import clock
from state.cognition import Finding

#: The share of elapsed time from which there is a hurry, and how far progress may lag behind elapsed time.
_LATE = 0.8
_LAG = 0.25


async def analyse_time(view: View) -> Finding:
    """Compare the time that is left with the part of the plan that is left. No model is asked."""
    left, elapsed = view.time_left_s(), view.elapsed_share()
    plan, done = view.character.plan, view.done()
    open_share = sum(step.share for step, is_done in zip(plan, done, strict=True) if not is_done) if plan else None
    pace = pace_of(elapsed, open_share)
    lines = [f"It is {clock(view.now)}."]
    if left is not None:
        leaves_early = view.agent.leaves is not None
        suffix = " before they have to go" if leaves_early else ""
        lines.append(f"{view.name} has {round(left / 60)} minutes left{suffix}.")
    lines += {"hurry": ["There is no time to lose."], "calm": ["There is no need to hurry."]}.get(pace, [])
    return Finding(
        lines=tuple(lines),
        data={"clock": clock(view.now), "time_left_s": left, "elapsed": elapsed, "open": open_share, "pace": pace},
    )


def pace_of(elapsed: float, open_share: float | None) -> str:
    """Return `hurry`, `steady` or `calm`.

    Args:
        elapsed: Share of the agent's time that is over, in [0, 1].
        open_share: Share of the plan that is left; `None` without a plan.
    """
    if elapsed >= _LATE and open_share != 0:
        return "hurry"
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
