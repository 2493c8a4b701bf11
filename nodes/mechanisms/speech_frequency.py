"""Count everybody's utterances. Source: ChatAgents App. A (utterance frequency tracker)."""

from collections import Counter
from dataclasses import dataclass

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.hearing import came_s, was_there
from tertulia.prompts.names import enumerated
from tertulia.state.cognition import Finding


async def count_speech(view: View) -> Finding:
    """Return how often everybody spoke, the most frequent speakers and the silent ones. No model is asked.

    The opening of a meeting is counted as an utterance. A latecomer counts from then on (with `hearing=all`, from the
    start). Only people present are said to have spoken most, or not at all.
    """
    counts = _counts(view)
    total = sum(counts.values())
    highest = max(counts[name] for name in view.present)
    most = [name for name in view.present if counts[name] == highest > 0]
    silent = [name for name in view.present if not counts[name]]
    fill, language = view.texts.fill, view.language
    lines = [fill("findings.spoken", {"name": view.name, "count": counts[view.name], "value": _times(total, view)})]
    if most:
        values = {"people": enumerated(most, language), "value": _times(highest, view)}
        lines.append(fill("findings.most", values))
    if silent:
        lines.append(fill("findings.silent", {"people": enumerated(silent, language)}))
    return Finding(lines=tuple(lines), data={"counts": counts, "most": most, "silent": silent})


def _counts(view: View) -> dict[str, int]:
    before: Counter[str | None] = Counter()
    opening = view.meeting.opening
    if came_s(view.meeting, view.name) > 0 and view.context.parameters.hearing != "all":
        before = _spoken_before(view)
    elif opening is not None:
        before[opening.speaker] -= 1
    return {name: view.spoken.get(name, 0) - before[name] for name in view.meeting.names}


@dataclass(frozen=True)
class _SpokenBefore:
    """How often everybody had spoken before an agent came, by name."""

    counts: Counter[str | None]


def _spoken_before(view: View) -> Counter[str | None]:
    """Return by name how often everybody had spoken before the agent came; read once."""
    kept = view.context.kept.get(_SpokenBefore, view.name)
    if kept is None:
        turns = view.context.store.turns(view.context.run, 1, view.round - 1)
        counts = Counter(turn.speaker for turn in turns if not was_there(view.meeting, view.name, turn))
        kept = view.context.kept.keep(_SpokenBefore(counts), view.name)
    return kept.counts


def _times(count: int, view: View) -> str:
    return view.texts.fill("amounts.time" if count == 1 else "amounts.times", {"number": count})


MECHANISM = Mechanism(
    name="speech_frequency",
    title="Speech Count Stats.",
    description="count who has spoken how often, and who has not been heard",
    example=(False, "Everybody has had a say."),
    run=count_speech,
)
