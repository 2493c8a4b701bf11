"""How many lines make no sense in their dialogue, by the rules of `nodes/shared/line_faults.py`."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, mean, mean_record
from tertulia.nodes.shared.line_faults import FAULTS, LINES_SEEN, Fault, faults_of, lines_before
from tertulia.state.album import PARTS, Population
from tertulia.state.meeting import Start
from tertulia.state.records import Record, RunRecord, Turn, TurnRecord
from tertulia.state.store import Store
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges

#: The spoken parts of an exchange of an album chat, in their order: not the plan.
_SPOKEN = ("question", "answer")

_WORDS: Mapping[str, str] = {
    "repeats": "it says again what was said",
    "misnames": "it talks to somebody about the same one",
}

#: The faults of each line of a dialogue.
Faults = Sequence[tuple[Fault, ...]]


class SenseFigures(Record):
    """The shares of lines with each fault, in [0, 1]; `None` if there is no line."""

    lines: int
    repeats: float | None = Field(description="said before, nearly word for word")
    misnames: float | None = Field(description="said to one of two about the same one")
    without_sense: float | None = Field(description="with any of these")


def faults_in(dialogue: Dialogue) -> list[tuple[Fault, ...]]:
    """Return the faults of each line of a dialogue."""
    people = list(dict.fromkeys(speaker for speaker, _ in dialogue))
    return [
        faults_of(text, speaker, people, dialogue[max(0, at - LINES_SEEN) : at])
        for at, (speaker, text) in enumerate(dialogue)
    ]


def found_in_run(store: Store, run: RunRecord, first: int = 1) -> list[tuple[Fault, ...]]:
    """Return the faults of each line of a stored run, in the order of `spoken_turns`.

    Args:
        first: The turn from which lines are looked at, of a conversation without pictures.
    """
    start = store.start(run.run)
    if isinstance(start, Population):
        by_call = (faults_by_call(store, run, start, met) for met in read_exchanges(store, run.run, start))
        return [faults[call] for faults in by_call for call in _SPOKEN]
    turns = [turn for turn in store.turns(run.run) if turn.speaker is not None]
    lines = [(turn.speaker or "", turn.text) for turn in turns]
    return [
        _faults(start, turn, lines[max(0, at - LINES_SEEN) : at]) for at, turn in enumerate(turns) if turn.turn >= first
    ]


def faults_by_part(store: Store, run: RunRecord, start: Start, record: TurnRecord) -> dict[str, tuple[Fault, ...]]:
    """Return the faults of each utterance of a stored turn, by part (`state.album.PARTS`); none of a silence."""
    turn = record.turn
    if turn.speaker is None:
        return {}
    if isinstance(start, Population):
        (exchange,) = read_exchanges(store, run.run, start, turn.turn, turn.turn)
        return {PARTS[call]: faults for call, faults in faults_by_call(store, run, start, exchange).items()}
    return {"": _faults(start, turn, lines_before(store, run.run, start, turn.turn))}


def faults_by_call(
    store: Store, run: RunRecord, population: Population, recorded: RecordedExchange
) -> dict[str, tuple[Fault, ...]]:
    """Return the faults of plan, question and answer of an exchange, by call (`state.album.CALLS`)."""
    exchange, turn = recorded.exchange, recorded.turn.turn
    records = {**store.parts(run.run, turn), "": store.turn_record(run.run, turn)}
    pair, before = (exchange.asker, exchange.answerer), list[tuple[str, str]]()
    people: Sequence[str] = population.names  # a plan is said to nobody
    found = {}
    for call, part in PARTS.items():
        speaker, text = pair[call == "answer"], records[part].turn.text
        found[call] = faults_of(text, speaker, people, before)
        people, before = pair, [(speaker, text)]
    return found


def _faults(start: Start, turn: Turn, before: Sequence[tuple[str, str]]) -> tuple[Fault, ...]:
    return faults_of(turn.text, turn.speaker or "", start.names, before)


def faults_in_words(faults: Sequence[str]) -> str:
    """Return faults of a line in words."""
    return "it makes no sense here: " + "; ".join(map(fault_in_words, faults))


def fault_in_words(fault: str) -> str:
    """Return a fault in words; one that a user's node found in its own."""
    return _WORDS.get(fault, fault)


def sense_of(found: Iterable[Faults]) -> SenseFigures:
    """Return the figures of dialogues together."""
    lines = [faults for of_dialogue in found for faults in of_dialogue]
    shares = {fault: _share(fault in faults for faults in lines) for fault in FAULTS}
    return SenseFigures(lines=len(lines), **shares, without_sense=_share(map(bool, lines)))


def mean_sense(figures: Iterable[SenseFigures]) -> SenseFigures:
    """Return the mean of each figure over the cases that have it; lines are summed."""
    return mean_record(SenseFigures, figures, ("lines",))


def _share(is_found: Iterable[bool]) -> float | None:
    return mean(map(float, is_found))
