"""How many lines of dialogues make no sense where they are said, by the rules of `nodes/shared/sense.py`."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from tertulia.metrics.diversity import Dialogue, mean, mean_record
from tertulia.nodes.shared.sense import FAULTS, Fault, faults_of
from tertulia.nodes.shared.situation import (
    LINES_SEEN,
    Situation,
    known_to,
    latest_memories,
    recalled_in,
    situation_among,
    situation_in_exchange,
    situation_of,
)
from tertulia.prompts.renaming import names_in_words
from tertulia.state.album import PARTS, Population
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Prompt, Record, RunRecord, TurnRecord
from tertulia.state.store import Store
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges

#: What is said in an exchange of an album chat, in its order: the plan is not.
_SPOKEN = ("question", "answer")

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


@dataclass(frozen=True)
class FoundFaults:
    """What was found in the lines of a dialogue.

    Attributes:
        faults: Of each line.
        unseen: The faults that could not be looked for, as what they are told by is not known.
    """

    faults: Sequence[tuple[Fault, ...]]
    unseen: frozenset[Fault] = frozenset()


#: What can't be told of lines alone; `facts` can in part, as numbers and days are also told by what was said before.
_UNSEEN_IN_LINES: frozenset[Fault] = frozenset(("memory", "echo"))
#: Such as of logs.
_UNSEEN_WITHOUT_PROMPTS: frozenset[Fault] = frozenset(("echo",))
_WHY_UNSEEN = {
    _UNSEEN_IN_LINES: "that are lines alone: memory and echo not looked for, facts only against earlier lines",
    _UNSEEN_WITHOUT_PROMPTS: "without their prompts: echo not looked for",
}


def faults_in(dialogue: Dialogue, case: Case | None = None) -> list[tuple[Fault, ...]]:
    """Return what is wrong with each line of a dialogue, of which nothing else is known, or the case that it is of."""
    alone = Situation("", list(dict.fromkeys(speaker for speaker, _ in dialogue)))
    if case is not None:
        known = {name: known_to(case.participant(name)) for name in case.names}
        alone = Situation("", case.names, known=known, place=case.place, time=case.time)
    return [
        faults_of(text, replace(alone, speaker=speaker, before=dialogue[max(0, at - LINES_SEEN) : at]))
        for at, (speaker, text) in enumerate(dialogue)
    ]


def found_in_lines(dialogue: Dialogue, case: Case | None = None) -> FoundFaults:
    """Return what was found in a dialogue that no run has: its lines, and where a log has it, the case."""
    return FoundFaults(faults_in(dialogue, case), _UNSEEN_IN_LINES if case is None else _UNSEEN_WITHOUT_PROMPTS)


def found_in_run(
    store: Store,
    run: RunRecord,
    with_prompts: bool = True,
    first: int = 1,
    read_prompt: Callable[[str], Prompt] | None = None,
) -> FoundFaults:
    """Return what is wrong with each line of a stored run where it was said, in the order of `spoken_turns`.

    Args:
        with_prompts: Whether prompts are read too: most of what it costs, and only `echo` needs them. Of an album chat
            they are always read, as they tell about the picture.
        first: The turn from which lines are looked at, of a conversation in which nobody shows pictures.
        read_prompt: Reads a prompt by its hash; `None`: the store does, each time anew.
    """
    start, turns = store.start(run.run), [turn for turn in store.turns(run.run) if turn.speaker is not None]
    if isinstance(start, Population):
        by_call = (faults_by_call(store, run, start, met) for met in read_exchanges(store, run.run, start))
        return FoundFaults([faults[call] for faults in by_call for call in _SPOKEN])
    called = _called(run, start)
    latest, prompts, faults = latest_memories(store, start), dict[str, Prompt | None](), []
    lines: list[tuple[str, str]] = []
    for turn in turns:
        assert turn.speaker is not None
        record = store.turn_record(run.run, turn.turn) if with_prompts else None
        prompt = None if record is None or record.prompt is None else (read_prompt or store.prompt)(record.prompt)
        prompts[turn.speaker] = prompt
        remembered = {name: [*recalled_in(prompts.get(name)), *memories] for name, memories in latest.items()}
        if turn.turn >= first:
            situation = situation_among(start, turn.speaker, turn.sim_time_s, lines[-LINES_SEEN:], remembered, prompt)
            faults.append(faults_of(called(turn.text), situation))
        lines.append((turn.speaker, turn.text))
    return FoundFaults(faults, frozenset() if with_prompts else _UNSEEN_WITHOUT_PROMPTS)


def faults_by_part(store: Store, run: RunRecord, start: Start, record: TurnRecord) -> dict[str, tuple[Fault, ...]]:
    """Return what is wrong with each utterance of a stored turn, by part (`state.album.PARTS`); none of a silence."""
    turn = record.turn
    if turn.speaker is None:
        return {}
    if isinstance(start, Population):
        (exchange,) = read_exchanges(store, run.run, start, turn.turn, turn.turn)
        return {PARTS[call]: faults for call, faults in faults_by_call(store, run, start, exchange).items()}
    situation = situation_of(store, run.run, start, turn.speaker, turn.turn, turn.sim_time_s, _prompt(store, record))
    return {"": faults_of(_called(run, start)(turn.text), situation)}


def faults_by_call(
    store: Store, run: RunRecord, population: Population, recorded: RecordedExchange
) -> dict[str, tuple[Fault, ...]]:
    """Return what is wrong with plan, question and answer of an exchange, by call (`state.album.CALLS`)."""
    exchange, turn, called = recorded.exchange, recorded.turn.turn, _called(run, population)
    records = {**store.parts(run.run, turn), "": store.turn_record(run.run, turn)}
    said: dict[str, str] = {}
    found = {}
    for call, part in PARTS.items():
        prompt = _prompt(store, records[part])
        situation = situation_in_exchange(population, (exchange.asker, exchange.answerer), said, prompt)
        said[part] = records[part].turn.text
        found[call] = faults_of(called(said[part]), situation)
    return found


def _called(run: RunRecord, start: Start) -> Callable[[str], str]:
    """Return what puts everybody's own names into a line, where others stand in it."""
    return names_in_words(start.names, Parameters.model_validate(run.parameters)).put_back


def _prompt(store: Store, record: TurnRecord) -> Prompt | None:
    return None if record.prompt is None else store.prompt(record.prompt)


def faults_in_words(faults: Sequence[str]) -> str:
    """Return faults of a line in words."""
    return "it makes no sense here: " + "; ".join(map(fault_in_words, faults))


def fault_in_words(fault: str) -> str:
    """Return a fault in words; one that a user's node found in its own."""
    return _WORDS.get(fault, fault)


def sense_of(found: Iterable[FoundFaults]) -> SenseFigures:
    """Return the figures of dialogues together; each fault's of the lines in which it could be looked for."""
    found = list(found)
    lines = [faults for of_dialogue in found for faults in of_dialogue.faults]
    shares = {
        fault: _share(fault in faults for seen in found if fault not in seen.unseen for faults in seen.faults)
        for fault in FAULTS
    }
    return SenseFigures(lines=len(lines), **shares, without_sense=_share(map(bool, lines)))


def unseen_in_words(found: Iterable[FoundFaults]) -> str | None:
    """Return in a line which faults could not be looked for in how many dialogues; `None` if all could be."""
    counts = Counter(of_dialogue.unseen for of_dialogue in found)
    told = [f"{_WHY_UNSEEN[unseen]} ({counts[unseen]} of {counts.total()})" for unseen in _WHY_UNSEEN if counts[unseen]]
    return f"sense of dialogues {'; '.join(told)}" if told else None


def mean_sense(figures: Iterable[SenseFigures]) -> SenseFigures:
    """Return the mean of each figure over the cases that have it; lines are summed."""
    return mean_record(SenseFigures, figures, ("lines",))


def _share(is_found: Iterable[bool]) -> float | None:
    return mean(map(float, is_found))
