"""How many lines of dialogues make no sense where they are said, by the rules of `nodes/shared/sense.py`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, mean_record
from tertulia.nodes.shared.sense import Fault, faults_of
from tertulia.nodes.shared.situation import LINES_SEEN, Situation, situation_of
from tertulia.state.album import Population
from tertulia.state.meeting import Start
from tertulia.state.records import Record, TurnRecord
from tertulia.state.store import Store

_WORDS: Mapping[str, str] = {
    "repeats": "it says again what was said",
    "empty": "it is the third line in a row without content",
    "misnames": "it takes somebody for another",
    "broken": "it has broken words",
    "memory": "it says I of what only another one remembers",
    "facts": "it is against a number, a day, an hour or a place that is known",
    "reply": "it does not take up the question before it",
    "echo": "it says again what the prompt says",
}


class SenseFigures(Record):
    """The shares of lines with each fault, in [0, 1]; `None` where there is no line."""

    lines: int
    repeats: float | None = Field(description="said before, nearly word for word")
    empty: float | None = Field(description="thanks, excuses, greetings or assent, after two such lines")
    misnames: float | None = Field(description="by somebody who names themselves, or says that they are another")
    broken: float | None = Field(description="with half a word, a word in pieces, or signs of a form")
    memory: float | None = Field(description="which say I of what only another one remembers")
    facts: float | None = Field(description="against a number, a day, an hour or a place that is known")
    reply: float | None = Field(description="which do not take up the question before them")
    echo: float | None = Field(description="which say again what the prompt says")
    without_sense: float | None = Field(description="with any of these")


def faults_in(dialogue: Dialogue) -> list[tuple[Fault, ...]]:
    """Return what is wrong with each line of a dialogue."""
    people = list(dict.fromkeys(speaker for speaker, _ in dialogue))
    return [
        faults_of(text, Situation(speaker, people, dialogue[max(0, at - LINES_SEEN) : at]))
        for at, (speaker, text) in enumerate(dialogue)
    ]


def faults_of_turn(store: Store, run: str, start: Start, record: TurnRecord) -> tuple[Fault, ...]:
    """Return what is wrong with a stored turn; nothing is of a silence, and of an album chat, where pairs meet."""
    turn = record.turn
    if turn.speaker is None or isinstance(start, Population):
        return ()
    prompt = None if record.prompt is None else store.prompt(record.prompt)
    situation = situation_of(store, run, start, turn.speaker, turn.turn, turn.sim_time_s, prompt)
    return faults_of(turn.text, situation)


def faults_in_words(faults: Sequence[str]) -> str:
    """Return faults of a line in words."""
    return "it makes no sense here: " + "; ".join(map(fault_in_words, faults))


def fault_in_words(fault: str) -> str:
    """Return a fault in words; one that a user's node found in its own."""
    return _WORDS.get(fault, fault)


def sense_of(dialogues: Iterable[Dialogue]) -> SenseFigures:
    """Return the figures of dialogues together."""
    found = [faults for dialogue in dialogues for faults in faults_in(dialogue)]
    counts = Counter(fault for faults in found for fault in faults)
    return SenseFigures(
        lines=len(found),
        **{fault: _share(counts[fault], found) for fault in get_args(Fault)},
        without_sense=_share(sum(map(bool, found)), found),
    )


def mean_sense(figures: Iterable[SenseFigures]) -> SenseFigures:
    """Return the mean of each figure over the cases that have it; lines are summed."""
    return mean_record(SenseFigures, figures, ("lines",))


def _share(count: int, lines: Sequence[object]) -> float | None:
    return count / len(lines) if lines else None
