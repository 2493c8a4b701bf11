"""Prompts of an agent's cognition: the person, their situation, and a question. Source: ChatAgents §III-A.

The constant part of a whole meeting comes first (`shared_units`), so that a model that caches it reads it once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tertulia.prompts.attendance import change_entry, lines_and_changes
from tertulia.prompts.names import listed
from tertulia.prompts.person import FOR_THOUGHTS, facts_of
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated
from tertulia.prompts.units import NumberedPart
from tertulia.state.cognition import Character
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import AttendanceChange, Attendee, Meeting
from tertulia.state.parameters import Layout
from tertulia.state.records import Prompt, Turn, Unit

#: The block that stays the same for a whole meeting: every prompt to the agent begins with it.
_SELF = "self"
#: The two sides of the exchange that shows how an answer looks; no names of participants.
_ASKS, _ANSWERS = "question", "answer"


@dataclass(frozen=True)
class AgentSituation:
    """The situation of an agent in a round, as the prompts of their cognition describe it.

    Attributes:
        emotion, emotion_strength: The agent's feeling, and its strength, in [0, 1].
        lines: The turns that the agent has heard, or noticed, oldest first.
        missed: Whether the agent heard the last message and did not notice it.
        changes: The arrivals and departures meanwhile, the agent's own coming among them.
        has_heard_nothing: Whether the others have talked, and the agent has heard nothing of it.
        last_situation, last_thought: How the agent saw things in the round before, and thought; empty at first.
    """

    meeting: Meeting
    agent: Attendee
    character: Character
    now: datetime
    present: tuple[str, ...]
    emotion: str
    emotion_strength: float
    lines: tuple[Turn, ...]
    missed: bool
    changes: tuple[AttendanceChange, ...] = ()
    has_heard_nothing: bool = False
    last_situation: str = ""
    last_thought: str = ""
    language: str = DEFAULT

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.persona.name


@dataclass(frozen=True)
class Question:
    """A question with the JSON object that answers it.

    Attributes:
        name: Section of the template: its `lead` comes before the items, its `task` behind them.
        form: The meaning of each field of the answer, in its place; shown in the layout `single_message`.
        example: An answer in another situation; shown as an exchange in the layout `chat_turns`.
    """

    name: str
    form: Mapping[str, object]
    example: Mapping[str, object]
    items: Sequence[str] = ()
    variables: Mapping[str, object] = field(default_factory=dict)
    source: str = "cognition"


def ask_agent(situation: AgentSituation, question: Question, layout: Layout) -> Prompt:
    """Return the prompt that puts a question to an agent: the person, their situation, the question."""
    parts = list(_self(situation)), list(_moment(situation))
    return _prompt(situation.name, *parts, question, layout, situation.language)


def ask_anybody(question: Question, layout: Layout, language: str = DEFAULT) -> Prompt:
    """Return the prompt that puts a question to the model itself, and not to an agent."""
    return _prompt("", [], [], question, layout, language)


def examples_of(prompt: Prompt) -> list[str]:
    """Return the answers that a prompt shows as examples, which are not to be repeated."""
    return [unit.text for unit in prompt.units if unit.block == "example" and unit.speaker == _ANSWERS]


def shared_units(prompt: Prompt) -> int:
    """Return how many units at the beginning of a prompt to an agent stay the same for a whole meeting."""
    return sum(unit.block == _SELF for unit in prompt.units)


def line_of(turn: Turn, language: str = DEFAULT) -> str:
    """Return a line of the conversation as an agent reads it."""
    if turn.speaker is None:
        return template("cognition", language).fill("moment.silence", {})
    return template("cognition", language).fill("moment.line", {"name": turn.speaker, "text": turn.text})


def line_of_change(change: AttendanceChange, reader: str, language: str = DEFAULT) -> str:
    """Return the line about an arrival or a departure, as an agent reads it."""
    entry, values = change_entry(change, reader)
    return template("cognition", language).fill(f"attendance.{entry}", values)


def clock(time: datetime) -> str:
    """Return a time of day as `HH:MM`."""
    return f"{time:%H:%M}"


def _self(situation: AgentSituation) -> Iterable[NumberedPart]:
    agent, language = situation.agent, situation.language
    texts = template("cognition", language)

    def item(entry: str, **variables: object) -> NumberedPart:
        return (_SELF, "item", texts.fill(f"self.{entry}", variables))

    yield (_SELF, "text", texts.fill("self.lead", {"name": situation.name}))
    character = situation.character
    for fact in facts_of(agent, FOR_THOUGHTS, language, character.big_five, character.descriptions):
        yield item(fact.entry, **fact.variables)
    about = {"title": situation.meeting.title, "value": situation.meeting.description}
    yield (_SELF, "item", texts.fill("moment.meeting", about))
    if situation.meeting.place:
        yield (_SELF, "item", texts.fill("moment.place", {"place": situation.meeting.place}))


def _moment(situation: AgentSituation) -> Iterable[NumberedPart]:
    agent, language = situation.agent, situation.language
    texts = template("cognition", language)

    def item(entry: str, **variables: object) -> NumberedPart:
        return ("moment", "item", texts.fill(f"moment.{entry}", variables))

    yield item("clock", time=clock(situation.now))
    if situation.meeting.ends is not None:
        yield item("ends", time=clock(situation.meeting.ends))
    if agent.leaves is not None:
        entry = "leaves_for" if agent.leaves_for else "leaves"
        yield item(entry, time=clock(agent.leaves), value=agent.leaves_for or "")
    others = [name for name in situation.present if name != situation.name]
    if others:
        yield item("people", people=listed(others, language))
    yield item(
        "feeling", emotion=translated(situation.emotion, language), strength=round(10 * situation.emotion_strength)
    )
    entry = "heard" if situation.lines else "unheard" if situation.has_heard_nothing else "nothing"
    yield ("moment", "text", texts.fill(f"moment.{entry}", {}))
    for event in lines_and_changes(situation.lines, situation.changes):
        if isinstance(event, Turn):
            yield ("moment", "item", line_of(event, language))
        else:
            yield ("moment", "item", line_of_change(event, situation.name, language))
    if situation.missed:
        yield ("moment", "text", texts.fill("moment.missed", {}))
    if situation.last_situation:
        yield item("last_situation", value=situation.last_situation)
    if situation.last_thought:
        yield item("last_thought", value=situation.last_thought)


def _prompt(
    speaker: str,
    self_: Sequence[NumberedPart],
    moment: Sequence[NumberedPart],
    question: Question,
    layout: Layout,
    language: str,
) -> Prompt:
    texts = template(question.source, language)
    task = texts.fill(f"{question.name}.task", {"name": speaker, **question.variables})
    asked: list[NumberedPart] = []
    if question.items and f"{question.name}.lead" in texts:
        asked.append(("question", "text", texts.fill(f"{question.name}.lead", question.variables)))
    asked += [("question", "item", item) for item in question.items]
    asked.append(("task", "text", task))
    if layout == "chat_turns":
        example = [
            Unit(id="example.1", block="example", kind="text", text=task, speaker=_ASKS),
            Unit(id="example.2", block="example", kind="text", text=_json(question.example), speaker=_ANSWERS),
        ]
        units = [*_units(self_), *example, *_units([*moment, *asked])]
        return Prompt(units=tuple(units), speaker=_ANSWERS, layout=layout)
    form = template("cognition", language).fill("form", {"form": _json(question.form)})
    units = _units([*self_, *moment, *asked, ("output_instruction", "text", form)])
    return Prompt(units=tuple(units), speaker=speaker, layout=layout)


def _units(parts: Iterable[NumberedPart]) -> list[Unit]:
    counts: dict[str, int] = {}
    units = []
    for block, kind, text in parts:
        counts[block] = counts.get(block, 0) + 1
        units.append(Unit(id=f"{block}.{counts[block]}", block=block, kind=kind, text=text))
    return units


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)
