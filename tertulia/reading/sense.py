"""How many lines of dialogues make no sense where they are said, by the rules of `nodes/shared/sense.py`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, mean_record
from tertulia.nodes.shared.sense import LINES_SEEN, Fault, faults_of
from tertulia.state.album import Population
from tertulia.state.meeting import Start
from tertulia.state.records import Record, Turn
from tertulia.state.store import Store

_WORDS: Mapping[Fault, str] = {
    "repeats": "it says again what was said",
    "empty": "it is the third line in a row without content",
    "misnames": "it takes somebody for another",
    "broken": "it has broken words",
}


class SenseFigures(Record):
    """The shares of lines with each fault, in [0, 1]; `None` where there is no line."""

    lines: int
    repeats: float | None = Field(description="said before, nearly word for word")
    empty: float | None = Field(description="thanks, excuses, greetings or assent, after two such lines")
    misnames: float | None = Field(description="by somebody who names themselves, or says that they are another")
    broken: float | None = Field(description="with half a word, a word in pieces, or signs of a form")
    without_sense: float | None = Field(description="with any of these")


def faults_in(dialogue: Dialogue) -> list[tuple[Fault, ...]]:
    """Return what is wrong with each line of a dialogue."""
    people = list(dict.fromkeys(speaker for speaker, _ in dialogue))
    return [
        faults_of(text, speaker, dialogue[max(0, at - LINES_SEEN) : at], people)
        for at, (speaker, text) in enumerate(dialogue)
    ]


def faults_of_turn(store: Store, run: str, start: Start, turn: Turn) -> tuple[Fault, ...]:
    """Return what is wrong with a stored turn; nothing is of a silence, and of an album chat, where pairs meet."""
    if turn.speaker is None or isinstance(start, Population):
        return ()
    earlier = store.turns(run, max(1, turn.turn - LINES_SEEN), turn.turn - 1) if turn.turn > 1 else []
    before = [(line.speaker, line.text) for line in earlier if line.speaker is not None]
    return faults_of(turn.text, turn.speaker, before, start.names)


def faults_in_words(faults: Sequence[Fault]) -> str:
    """Return faults of a line in words."""
    return "it makes no sense here: " + "; ".join(_WORDS[fault] for fault in faults)


def sense_of(dialogues: Iterable[Dialogue]) -> SenseFigures:
    """Return the figures of dialogues together."""
    found = [faults for dialogue in dialogues for faults in faults_in(dialogue)]
    counts = Counter(fault for faults in found for fault in faults)
    return SenseFigures(
        lines=len(found),
        **{fault: _share(counts[fault], found) for fault in ("repeats", "empty", "misnames", "broken")},
        without_sense=_share(sum(map(bool, found)), found),
    )


def mean_sense(figures: Iterable[SenseFigures]) -> SenseFigures:
    """Return the mean of each figure over the cases that have it; lines are summed."""
    return mean_record(SenseFigures, figures, ("lines",))


def _share(count: int, lines: Sequence[object]) -> float | None:
    return count / len(lines) if lines else None
