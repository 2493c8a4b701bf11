"""Count who has spoken how often. Source: ChatAgents App. A (utterance frequency tracker)."""

from nodes.mechanisms.mechanism import Mechanism
from nodes.view import View
from state.cognition import Finding


async def count_speech(view: View) -> Finding:
    """Return how often everybody spoke, who spoke most and who has been silent. No model is asked."""
    counts = {name: view.spoken.get(name, 0) for name in view.meeting.names}
    total = sum(counts.values())
    most = [name for name in view.present if counts[name] and counts[name] == max(counts.values())]
    silent = [name for name in view.present if not counts[name]]
    lines = [f"{view.name} has spoken {counts[view.name]} of {total} times."]
    if most:
        lines.append(f"Most often: {', '.join(most)} ({counts[most[0]]} times).")
    if silent:
        lines.append(f"Not heard yet: {', '.join(silent)}.")
    return Finding(lines=tuple(lines), data={"counts": counts, "most": most, "silent": silent})


MECHANISM = Mechanism(
    name="speech_frequency",
    title="Speech Count Stats.",
    description="count who has spoken how often, and who has not been heard",
    example=(False, "Everybody has had a say."),
    run=count_speech,
)
