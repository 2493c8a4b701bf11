"""The fields of a person that each kind of prompt shows, found in real prompts about the person.

A field is shown in a prompt if its value is in a unit that the prompt has with the field and lacks without it. So the
table says what is, and no list has to be kept in step with the prompts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tertulia.nodes.meeting.prepare import description_question, plan_question
from tertulia.prompts.album import CallMaterial, assemble_call
from tertulia.prompts.assemble import InnerLife, UtteranceMaterial, assemble_prompt
from tertulia.prompts.cognition import AgentSituation, Question, ask_agent, ask_anybody
from tertulia.prompts.judge import assemble_judge_prompt
from tertulia.prompts.person import is_example
from tertulia.prompts.questions import Moment, ask_in_character
from tertulia.state.album import Picture, Villager
from tertulia.state.cognition import Assessment, Character, SubGoal
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.parameters import ALBUM_CHAT, GROUP_CHAT, Layout, Parameters
from tertulia.state.records import Case, Participant, Persona, Prompt
from tertulia.worlds.meeting_file import MeetingPerson
from tertulia.worlds.person_fields import PERSON_FIELDS, properties_of

#: The kinds of prompts, in the order of the table, with their names for readers.
KINDS = {
    "dialogue": "utterance in a dialogue",
    "meeting": "utterance in a meeting",
    "thinking": "thinking in a meeting",
    "preparing": "preparing for a meeting",
    "judge": "judge of a line",
    "album": "exchange of pictures",
    "questions": "questions to a person",
}

_TIME = datetime(2026, 5, 6, 15)
_LAYOUT: Layout = "single_message"


@dataclass(frozen=True)
class ShownFields:
    """The fields of a person that have a value, and by kind of prompt how many of the field's texts it shows.

    Attributes:
        texts: By field, how many texts it has: one, or one for each entry of a list.
        shown: By field and kind, how many of them are in the prompt.
    """

    name: str
    texts: Mapping[str, int]
    shown: Mapping[str, Mapping[str, int]]

    def cell(self, field: str, kind: str) -> str:
        """Return in a word how many texts of a field a kind of prompt shows."""
        shown, texts = self.shown[field][kind], self.texts[field]
        return "yes" if shown == texts else "–" if shown == 0 else f"{shown} of {texts}"

    def document(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        fields = [{"field": field, "texts": texts, "shown": self.shown[field]} for field, texts in self.texts.items()]
        return {"name": self.name, "fields": fields}


def shown_fields(values: Mapping[str, Any]) -> ShownFields:
    """Return the fields of a person that each kind of prompt shows.

    Args:
        values: The fields as a scenario file has them, valid for a participant of a meeting. Memories are taken as
            recalled.
    """
    whole = MeetingPerson.model_validate(values)
    given = {field: texts for field in PERSON_FIELDS if (texts := _texts_of(whole, field))}
    units = _units_of_kinds(whole)
    shown: dict[str, dict[str, int]] = {}
    for field, texts in given.items():
        without = _units_of_kinds(_without(whole, field))
        shown[field] = {
            kind: sum(any(text in unit for unit in units[kind] - without[kind]) for text in texts) for kind in KINDS
        }
    return ShownFields(whole.name, {field: len(texts) for field, texts in given.items()}, shown)


def _without(person: MeetingPerson, field: str) -> MeetingPerson:
    """Return a person without a field; instead of none, the name is another one."""
    nothing = f"Other {person.name}" if field == "name" else MeetingPerson.model_fields[field].get_default()
    return person.model_copy(update={field: nothing})


def _texts_of(person: MeetingPerson, field: str) -> Sequence[str]:
    """Return the texts of a field that a prompt shows if it shows the field."""
    value = getattr(person, field)
    if field in ("memories", "examples"):
        texts: Iterable[Any] = (entry.text for entry in value)
    elif field == "goals":
        texts = (goal.goal for goal in value)
    elif field == "relations":
        texts = value.values()
    else:
        texts = value if isinstance(value, tuple) else [value]
    return [_in_line(str(text).rstrip(".。")) for text in texts if text is not None]


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _units_of_kinds(person: MeetingPerson) -> dict[str, set[str]]:
    """Return the texts of the units of a person's prompts, by kind."""
    return {
        kind: {_in_line(unit.text) for prompt in made(person) for unit in prompt.units} for kind, made in _MADE.items()
    }


def _partner_of(person: MeetingPerson) -> str:
    return "Visitor" if person.name != "Visitor" else "Guest"


def _participant(person: MeetingPerson) -> Participant:
    fields = {name: value for name, value in person.record_fields().items() if name in Participant.model_fields}
    return Participant(persona=person.persona(), memories=person.remembered(_TIME), **fields)


def _dialogue(person: MeetingPerson) -> list[Prompt]:
    partner = Participant(persona=Persona(name=_partner_of(person)), memories=())
    case = Case(scenario="check", time=_TIME, initiator=_participant(person), partner=partner)
    material = UtteranceMaterial(
        start=case, speaker=person.name, listeners=case.names[1:], memories=case.initiator.memories, turns=()
    )
    parameters = Parameters()
    return [assemble_prompt(material, _LAYOUT, parameters.blocks, parameters.removable_blocks)]


def _meeting_of(person: MeetingPerson) -> tuple[Meeting, Character]:
    attendee = Attendee(persona=person.persona(), memories=person.remembered(_TIME), **person.record_fields())
    other = Attendee(persona=Persona(name=_partner_of(person)), memories=())
    meeting = Meeting(
        scenario="check", title="a check", description="", time=_TIME, participants=(attendee, other), mechanisms=()
    )
    steps = [(index, step) for index, goal in enumerate(attendee.goals) for step in goal.sub_goals or (goal.text,)]
    plan = tuple(SubGoal(goal=index, text=step, share=1 / len(steps)) for index, step in steps)
    return meeting, Character(big_five=attendee.big_five, descriptions=attendee.descriptions, plan=plan)


def _meeting(person: MeetingPerson) -> list[Prompt]:
    meeting, character = _meeting_of(person)
    done = (False,) * len(character.plan)
    assessment = Assessment(situation="", thought="", emotion=person.emotion, emotion_strength=0.5, done=done)
    material = UtteranceMaterial(
        start=meeting,
        speaker=person.name,
        listeners=meeting.names[1:],
        memories=meeting.participants[0].memories,
        turns=(),
        inner_life=InnerLife(character, done, (), assessment, "15:00"),
    )
    parameters = Parameters().with_settings(GROUP_CHAT)
    return [assemble_prompt(material, _LAYOUT, parameters.blocks, parameters.removable_blocks)]


def _thinking(person: MeetingPerson) -> list[Prompt]:
    meeting, character = _meeting_of(person)
    situation = AgentSituation(
        meeting=meeting,
        agent=meeting.participants[0],
        character=character,
        now=_TIME + timedelta(minutes=1),
        present=meeting.names,
        emotion=person.emotion,
        emotion_strength=0.5,
        lines=(),
        missed=False,
    )
    return [ask_agent(situation, Question("assess", form={}, example={}), _LAYOUT)]


def _preparing(person: MeetingPerson) -> list[Prompt]:
    meeting, _ = _meeting_of(person)
    agent = meeting.participants[0]
    questions = [description_question(agent, agent.big_five, [""] * 10)] if not agent.descriptions else []
    questions += [plan_question(agent, goal.text, [""] * 3) for goal in agent.goals if not goal.sub_goals]
    return [ask_anybody(question, _LAYOUT) for question in questions]


def _judge(person: MeetingPerson) -> list[Prompt]:
    (prompt,) = _dialogue(person)
    items = [unit for unit in prompt.units if unit.kind == "item" and not is_example(unit.id)]
    return [assemble_judge_prompt(person.name, _partner_of(person), items, "")]


def _album(person: MeetingPerson) -> list[Prompt]:
    values = person.model_dump(mode="json", include=set(PERSON_FIELDS))
    villager = Villager(persona=Persona(name=person.name), properties=properties_of(values), album=("picture",))
    material = CallMaterial(
        call="plan",
        setting="high",
        speaker=villager,
        asker=person.name,
        answerer=_partner_of(person),
        place=None,
        history=(),
        album=[Picture(id="picture", caption="picture")],
    )
    return [assemble_call(material, _LAYOUT, Parameters().with_settings(ALBUM_CHAT))]


def _questions(person: MeetingPerson) -> list[Prompt]:
    participant = _participant(person)
    memories = [memory.text for memory in participant.memories]
    return [ask_in_character(Moment(participant, (), (), memories), "", (), None)]


_MADE: Mapping[str, Callable[[MeetingPerson], list[Prompt]]] = {
    "dialogue": _dialogue,
    "meeting": _meeting,
    "thinking": _thinking,
    "preparing": _preparing,
    "judge": _judge,
    "album": _album,
    "questions": _questions,
}
