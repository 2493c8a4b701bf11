"""Assembling the modular prompt for an utterance from the speaker's knowledge. Source: APP §2, Tables 1 and 9.

A prompt is a sequence of blocks, a block a sequence of units: items (information) and texts (instructions).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache

from tertulia.prompts.attendance import change_entry, lines_and_changes
from tertulia.prompts.cognition import clock
from tertulia.prompts.examples import exchanges
from tertulia.prompts.names import listed
from tertulia.prompts.person import Fact, facts_of
from tertulia.prompts.templates import PromptTemplate, template
from tertulia.prompts.translations import translated, translated_list
from tertulia.prompts.units import Part, prompt_of
from tertulia.state.cognition import Assessment, Character
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import AttendanceChange, Meeting
from tertulia.state.parameters import Layout, Wording
from tertulia.state.records import Case, HumanNeeds, Memory, Prompt, Turn

#: The order of the facts about a person, if it is not that of the record (APP Table 9).
_BASIC_INFO: Mapping[Wording, Sequence[str]] = {"paper": ("name", "age", "background", "traits")}

#: The facts of a persona in a prompt for an utterance, and what drives their speech besides goals.
_FACTS = (*("name", "age", "occupation", "traits", "background", "lifestyle", "home", "style", "secret", "activity"),)
_DRIVES = ("interests", "description", "setting", "relation")


@dataclass(frozen=True)
class InnerLife:
    """The inner life of a speaker in a group chat: character, plan, findings, assessment. Source: ChatAgents §III-A.

    Attributes:
        done: By sub-goal of the plan, whether it is done.
        findings: Pairs of a mechanism and a sentence that it returned.
        assessment: Their view of the situation, and their thought.
    """

    character: Character
    done: Sequence[bool]
    findings: Sequence[tuple[str, str]]
    assessment: Assessment
    clock: str


@dataclass(frozen=True)
class UtteranceMaterial:
    """The material from which the prompt for an utterance is assembled.

    Attributes:
        memories: The memories that the speaker recalls, in the order of the prompt.
        turns: Those of the last turns of the current dialogue that the speaker has heard, oldest first.
        previous_dialogues_max: How many earlier dialogues to show, the latest.
        asks_ending: Whether the reply shall say if it ends the conversation.
        inner_life: The inner life of a speaker in a group chat; `None` in a dialogue of two.
        exchange: The question and the reply in the example of `chat_turns`; `None`: the first there is.
        has_heard_nothing: Whether the others have talked, and the speaker has heard nothing of it.
    """

    start: Case | Meeting
    speaker: str
    listeners: Sequence[str]
    memories: Sequence[Memory]
    turns: Sequence[Turn]
    human_needs: HumanNeeds | None = None
    previous_dialogues_max: int = 3
    asks_ending: bool = True
    inner_life: InnerLife | None = None
    changes: Sequence[AttendanceChange] = ()
    exchange: tuple[str, str] | None = None
    has_heard_nothing: bool = False
    language: str = DEFAULT
    special_rules: bool = True
    wording: Wording = "own"

    @cached_property  # every entry of a template is given them
    def listener(self) -> str:
        """The names of the listeners, as in a sentence."""
        return listed(self.listeners, self.language)


def assemble_prompt(material: UtteranceMaterial, layout: Layout, blocks: str, removable: str) -> Prompt:
    """Return the full prompt for an utterance.

    Args:
        layout: `single_message` (the paper's) or `chat_turns` (for chat-tuned models).
        blocks: Initials of the blocks in their order in the prompt.
        removable: Initials of the blocks whose items may be removed, but for `FIXED_UNITS`.
    """
    return prompt_of(material.speaker, layout, blocks, removable, lambda block: _BLOCKS[block](material, layout))


def reply_object(speaker: str, text: str, ended: bool | None, language: str = DEFAULT) -> str:
    """Return an utterance as the JSON object that a reply shall be. Source: APP Table 9, output instruction.

    Args:
        ended: Whether it ends the conversation; `None` if replies do not say.
    """
    ending = {} if ended is None else {end_question(speaker, language): ended}
    return json.dumps({speaker: text, **ending}, ensure_ascii=False)


def end_question(speaker: str, language: str = DEFAULT) -> str:
    """Return the key under which a reply says whether it ends the conversation."""
    return template("utterance", language).fill("reply.ends", {"speaker": speaker})


def reply_prefix_of(prompt: Prompt) -> str:
    """Return the beginning of the reply with which a prompt of this layout ends."""
    if prompt.layout != "chat_turns":
        return ""
    return f'{{{json.dumps(prompt.speaker, ensure_ascii=False)}: "'


# --- blocks ---------------------------------------------------------------------------------------------------------


def _fill(material: UtteranceMaterial, entry: str, layout: Layout = "single_message", **variables: object) -> str:
    """Fill an entry of the first template that has it: group chat's, the layout's, or the plain one."""
    given = {"speaker": material.speaker, "listener": material.listener, **variables}
    found = entry, layout, material.inner_life is not None, material.language, material.wording
    if {*map(type, given.values())} == {str}:
        return _filled(*found, *given.items())
    source, key = _source(*found)
    return source.fill(key, given)


@lru_cache(maxsize=2048)  # most texts of a turn were in an earlier prompt
def _filled(
    entry: str, layout: Layout, is_group: bool, language: str, wording: Wording, *given: tuple[str, object]
) -> str:
    source, key = _source(entry, layout, is_group, language, wording)
    return source.fill(key, dict(given))


@lru_cache(maxsize=1024)
def _source(entry: str, layout: Layout, is_group: bool, language: str, wording: Wording) -> tuple[PromptTemplate, str]:
    names = [("utterance", entry)]
    if layout != "single_message":
        names.insert(0, (layout, entry))
    if is_group:
        names[:0] = [("group", f"{layout}.{entry}"), ("group", entry)]
    sources = [(template(name, language, wording), key) for name, key in names]
    return next((texts, key) for texts, key in sources if key in texts)


def _date(material: UtteranceMaterial, time: datetime) -> str:
    return _fill(
        material,
        "previous_dialogues.date",
        weekday=translated(f"{time:%A}", material.language),
        day=f"{time:%d}",
        day_number=translated(str(time.day), material.language),  # `1er` in French
        month=translated(f"{time:%B}", material.language),
        clock=clock(time),
    )


def _one_text(block: str) -> Callable[[UtteranceMaterial, Layout], list[Part]]:
    return lambda material, layout: [Part("text", _fill(material, f"{block}.text", layout))]


def _with_lead(material: UtteranceMaterial, block: str, items: Iterable[Part]) -> list[Part]:
    """Return the lead of a block and its items; nothing without items, as empty blocks are not rendered."""
    items = list(items)
    return [Part("text", _fill(material, f"{block}.lead")), *items] if items else []


def _basic_info(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    start = material.start
    order = dict.fromkeys((*_BASIC_INFO.get(material.wording, ()), *_FACTS))
    facts = [*facts_of(start.participant(material.speaker), order, material.language), *_character(material)]
    if isinstance(start, Case) and _are_both_active(start):  # `_environment` says it
        facts = [fact for fact in facts if fact.entry != "activity"]
    items = (
        Part("item", _fill(material, f"basic_info.{fact.entry}", "single_message", **fact.variables), fact.id)
        for fact in facts
    )
    return _with_lead(material, "basic_info", items)


def _character(material: UtteranceMaterial) -> Iterable[Fact]:
    """Yield what drives speech: in a meeting the poles and descriptions of the run; in a dialogue the goals, too."""
    person, inner, language = material.start.participant(material.speaker), material.inner_life, material.language
    if inner is None:
        yield from facts_of(person, ("big_five", *_DRIVES), language)
        for number, goal in enumerate(person.goals, start=1):
            yield Fact("goal", f"goal_{number}", {"value": goal.text})
            for at, step in enumerate(goal.sub_goals, start=1):
                yield Fact("step", f"goal_{number}_step_{at}", {"value": step})
    else:
        character = inner.character
        if character.big_five:
            yield Fact("big_five", "big_five", {"value": translated_list(character.big_five, language)})
        yield from facts_of(person, _DRIVES, language, descriptions=character.descriptions)
    yield from facts_of(person, ("example",), language)


def _are_both_active(case: Case) -> bool:
    return case.initiator.activity is not None and case.partner.activity is not None


def _human_needs(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    needs = material.human_needs
    if needs is None:
        return []
    language = material.language
    sentences = []
    for modifier, adjective in needs.unsatisfied:
        entry = "human_needs.need_with_modifier" if modifier else "human_needs.need"
        modifier, adjective = translated(modifier, language), translated(adjective, language)
        sentences.append(_fill(material, entry, modifier=modifier, adjective=adjective))
    if needs.emotion is not None:
        sentences.append(_fill(material, "human_needs.emotion", emotion=translated(needs.emotion, language)))
    sentences.append(_fill(material, "human_needs.closeness", closeness=translated(needs.closeness, language)))
    return _with_lead(material, "human_needs", (Part("item", sentence) for sentence in sentences))


def _memory(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    memories = material.memories
    items = (Part("item", _fill(material, "memory.item", memory=memory.text), memory.id) for memory in memories)
    return _with_lead(material, "memory", items)


def _previous_dialogues(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    if not isinstance(material.start, Case):
        return []
    shown = material.start.previous_dialogues
    shown = shown[max(0, len(shown) - material.previous_dialogues_max) :]
    items = []
    for dialogue in shown:
        lines = (
            _fill(material, "previous_dialogues.line", name=line.speaker, text=line.text)
            for line in dialogue.utterances
        )
        date = _date(material, dialogue.time)
        items.append(Part("item", _fill(material, "previous_dialogues.item", date=date, lines="\n".join(lines))))
    parts = _with_lead(material, "previous_dialogues", items)
    return [*parts, Part("text", _fill(material, "previous_dialogues.tail"))] if parts else []


def _environment(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    case = material.start
    parts = []
    if case.place is not None:
        parts.append(Part("item", _fill(material, "environment.place", place=case.place), "place"))
    if not isinstance(case, Case):
        return [*parts, *_meeting(material, case)]
    if case.description is not None:
        parts.append(Part("item", _fill(material, "environment.description", value=case.description), "description"))
    first, second, known = case.initiator, case.partner, _are_both_active(case)
    entry, agreed = "environment.both_active" if known else "environment.meeting", {}
    if (made := case.appointment) is not None and known:
        entry, agreed = "environment.appointment", {"date": _date(material, made.made), "value": made.what}
    context = _fill(
        material,
        entry,
        layout,
        **agreed,
        first=first.persona.name,
        second=second.persona.name,
        activity=first.activity,
        listener_activity=second.activity,
    )
    return [*parts, Part("item", context, "context")]


def _meeting(material: UtteranceMaterial, meeting: Meeting) -> Iterable[Part]:
    def item(id: str, entry: str = "", **variables: object) -> Part:
        return Part("item", _fill(material, f"environment.{entry or id}", "single_message", **variables), id)

    yield item("meeting", title=meeting.title, value=meeting.description)
    yield item("people")
    yield item("clock", clock=material.inner_life.clock if material.inner_life else clock(meeting.time))
    if meeting.ends is not None:
        yield item("end", clock=clock(meeting.ends))
    speaker = meeting.participant(material.speaker)
    if speaker.leaves is not None:
        entry = "departure_for" if speaker.leaves_for else "departure"
        yield item("departure", entry, clock=clock(speaker.leaves), value=speaker.leaves_for)


def _goals(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    """Return each goal in its words with its steps under it, numbered as in the plan."""
    inner, start = material.inner_life, material.start
    if inner is None or isinstance(start, Case):
        return []
    items = []
    for number, goal in enumerate(start.participant(material.speaker).goals):
        items.append(Part("item", _fill(material, "goals.goal", value=goal.text), f"goal_{number + 1}"))
        steps = enumerate(zip(inner.character.plan, inner.done, strict=True), start=1)
        items += [
            Part("item", _fill(material, "goals.done" if done else "goals.open", value=step.text), f"item_{at}")
            for at, (step, done) in steps
            if step.goal == number
        ]
    return _with_lead(material, "goals", items)


def _mechanisms(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    counts: dict[str, int] = {}
    items = []
    for mechanism, line in material.inner_life.findings if material.inner_life else ():
        counts[mechanism] = counts.get(mechanism, 0) + 1
        text = _fill(material, "mechanisms.item", value=line)
        items.append(Part("item", text, f"{mechanism}_{counts[mechanism]}"))
    return _with_lead(material, "mechanisms", items)


def _situation(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    if material.inner_life is None:
        return []
    assessment = material.inner_life.assessment
    feeling = translated(assessment.emotion, material.language)
    values = {"seen": assessment.situation, "feeling": feeling, "thought": assessment.thought}
    strength = round(10 * assessment.emotion_strength)
    return [
        Part("text", _fill(material, f"situation.{entry}", value=value, strength=strength), entry)
        for entry, value in values.items()
        if value
    ]


def _current_dialogue(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    if layout == "chat_turns":
        return _dialogue_as_turns(material)
    entry = "lead" if material.turns else "unheard" if material.has_heard_nothing else "empty"
    lead = Part("text", _fill(material, f"current_dialogue.{entry}", layout))
    return [lead, *_events(material, layout)]


def _events(material: UtteranceMaterial, layout: Layout) -> Iterable[Part]:
    """Yield the lines of the dialogue, silences among them, and the arrivals and departures, in their order."""
    for event in lines_and_changes(material.turns, material.changes):
        if isinstance(event, AttendanceChange):
            entry, values = change_entry(event, material.speaker)
            id = f"{'came' if event.joined else 'left'}_{event.agent}"
            yield Part("text", _fill(material, f"current_dialogue.{entry}", layout, **values), id)
        elif layout == "chat_turns":
            yield Part("item", _line_as_turn(material, event), f"turn_{event.turn}", event.speaker)
        else:
            yield Part("item", _line(material, event), f"turn_{event.turn}")


def _line(material: UtteranceMaterial, turn: Turn) -> str:
    if turn.speaker is None:
        return _fill(material, "current_dialogue.silence")
    return _fill(material, "current_dialogue.line", name=turn.speaker, text=turn.text)


def _line_as_turn(material: UtteranceMaterial, turn: Turn) -> str:
    """Return a line as the text of a chat turn; in a group chat other people's lines name their speakers."""
    if turn.speaker == material.speaker:
        ended = turn.ended if material.asks_ending else None
        return reply_object(material.speaker, turn.text, ended, material.language)
    return turn.text if material.inner_life is None else _line(material, turn)


def _dialogue_as_turns(material: UtteranceMaterial) -> list[Part]:
    """Return the dialogue as chat turns. Chat templates require that the user begins, and that they come last."""

    def text(entry: str) -> Part:
        return Part("text", _fill(material, f"current_dialogue.{entry}", "chat_turns"))

    events = list(_events(material, "chat_turns"))
    if not material.turns:
        return [text("unheard" if material.has_heard_nothing else "opens"), *events]
    if events[0].speaker == material.speaker:
        events.insert(0, text("resumes"))
    if events[-1].speaker == material.speaker and material.inner_life is not None:
        events.append(text("goes_on"))
    return events


def _task(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    entry = "task.text_with_ending" if material.asks_ending and layout == "single_message" else "task.text"
    return [Part("text", _fill(material, entry, layout))]


def _example(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    ended = False if material.asks_ending else None
    listener = material.listeners[0] if material.listeners else material.listener
    asked, replied = material.exchange or exchanges(material.language)[0]
    return [
        Part("text", asked, speaker=listener),
        Part("text", reply_object(material.speaker, replied, ended, material.language), speaker=material.speaker),
    ]


def _output_instruction(material: UtteranceMaterial, layout: Layout) -> list[Part]:
    shape: dict[str, str] = {material.speaker: _fill(material, "reply.utterance", layout)}
    if material.asks_ending:
        shape[end_question(material.speaker, material.language)] = _fill(material, "reply.either")
    shown = json.dumps(shape, ensure_ascii=False)
    return [Part("text", _fill(material, "output_instruction.text", layout, value=shown))]


_RULES = _one_text("special_rules")
_BLOCKS: dict[str, Callable[[UtteranceMaterial, Layout], list[Part]]] = {
    "opening": _one_text("opening"),
    "basic_info": _basic_info,
    "human_needs": _human_needs,
    "memory": _memory,
    "previous_dialogues": _previous_dialogues,
    "environment": _environment,
    "goals": _goals,
    "mechanisms": _mechanisms,
    "situation": _situation,
    "current_dialogue": _current_dialogue,
    "task": _task,
    "special_rules": lambda material, layout: _RULES(material, layout) if material.special_rules else [],
    "output_instruction": _output_instruction,
    "example": _example,
}
