"""The prompt that asks a person in character, at a moment of a conversation, without the others' knowledge."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tertulia.prompts.album import PastExchange
from tertulia.prompts.person import lines_of
from tertulia.prompts.templates import PromptTemplate, template
from tertulia.prompts.translations import translated, translated_list
from tertulia.prompts.units import NumberedPart, numbered
from tertulia.state.album import Picture, Villager
from tertulia.state.cognition import Assessment, Character
from tertulia.state.records import Dialogue, Participant, Prompt, Turn

#: The block that prompts about the same moment have in common, at their beginning.
_CONVERSATION = "conversation"

#: How strong a feeling is at most, in words.
_STRONGEST = 10


@dataclass(frozen=True)
class Moment:
    """A person's character, knowledge and perceptions at a moment.

    Attributes:
        heard: The lines that they were there for, oldest first.
        situation: The facts that everybody knows: place and description.
        memories: The memories that they are reminded of.
        earlier: Former dialogues.
        character: Their traits and plan, in a meeting.
        assessment: How they last saw things, in a meeting; `None` before the first round.
        exchanges: Their memories of an album chat, oldest first.
        album: Their pictures there.
    """

    participant: Participant
    heard: Sequence[Turn]
    situation: Sequence[str]
    memories: Sequence[str]
    earlier: Sequence[Dialogue] = ()
    character: Character | None = None
    assessment: Assessment | None = None
    language: str = "en"
    exchanges: Sequence[PastExchange] = ()
    album: Sequence[Picture] = ()


def ask_in_character(moment: Moment, question: str, options: Sequence[str], limits: tuple[int, int] | None) -> Prompt:
    """Return the prompt that asks a question; the reply is a JSON object with the field `answer`.

    The persona is told in full, and no unit may be removed.

    Args:
        options: The answers to choose from; none if the answer is free, or a number.
        limits: The lowest and the highest number, if the answer is one.
    """
    texts = template("questions", moment.language)
    name = moment.participant.persona.name
    parts = [*_heard(moment, texts), *_person(moment, texts)]
    parts.append(("task", "text", texts.fill("task", {"name": name})))
    parts.append(("task", "text", texts.fill("question", {"text": question})))
    if options:
        parts.append(("task", "text", texts.fill("options", {"options": " | ".join(options)})))
    if limits is not None:
        parts.append(("task", "text", texts.fill("scale", {"low": limits[0], "high": limits[1]})))
    form = json.dumps({"answer": texts.fill("value", {"name": name})}, ensure_ascii=False)
    parts.append(("output_instruction", "text", texts.fill("form", {"form": form})))
    return numbered(parts)


def _heard(moment: Moment, texts: PromptTemplate) -> Iterator[NumberedPart]:
    silence = template("group", moment.language).fill("current_dialogue.silence", {})
    if moment.heard:
        yield _CONVERSATION, "text", texts.fill("lead", {})
    for turn in moment.heard:
        spoken = {"name": turn.speaker, "text": turn.text}
        yield _CONVERSATION, "item", silence if turn.speaker is None else texts.fill("line", spoken)


def _person(moment: Moment, texts: PromptTemplate) -> Iterator[NumberedPart]:
    """Yield the facts about a person: their description, wishes, memories, feelings and thoughts."""
    persona, person = moment.participant.persona, moment.participant
    yield "self", "text", texts.fill("person", {"name": persona.name})
    if persona.age is not None:
        yield "self", "item", texts.fill("age", {"name": persona.name, "age": persona.age})
    yield from _facts(moment, ("occupation",))
    about = [persona.character, *persona.background, persona.lifestyle, persona.home, person.activity]
    yield from _items(texts, (text for text in (*about, *moment.situation) if text))
    yield from _facts(moment, ("style",))
    for secret in person.secrets:
        yield "self", "item", texts.fill("secret", {"name": persona.name, "text": secret})
    yield from _driven(moment, texts)
    if isinstance(person, Villager):
        yield from _villager(moment, person)
    if moment.memories:
        yield "self", "text", texts.fill("memories", {"name": persona.name})
        yield from _items(texts, moment.memories)
    if moment.earlier:
        yield "self", "text", texts.fill("earlier", {"name": persona.name})
    for dialogue in moment.earlier:
        for utterance in dialogue.utterances:
            yield "self", "item", texts.fill("line", {"name": utterance.speaker, "text": utterance.text})
    if moment.assessment is not None:
        yield from _mind(moment.assessment, persona.name, moment.language)


def _facts(moment: Moment, entries: Sequence[str]) -> Iterator[NumberedPart]:
    for line in lines_of(moment.participant, entries, moment.language):
        yield "self", "item", line


def _driven(moment: Moment, texts: PromptTemplate) -> Iterator[NumberedPart]:
    """Yield what drives a person: poles, descriptions, interests, relations, goals, and how they speak."""
    person, character, language = moment.participant, moment.character, moment.language
    poles = character.big_five if character is not None else person.big_five
    if poles:
        value = {"value": translated_list(poles, language)}
        yield "self", "item", template("utterance", language).fill("basic_info.big_five", value)
    descriptions = character.descriptions if character is not None else person.descriptions
    yield from _items(texts, [*descriptions, *([person.setting] if person.setting else [])])
    yield from _facts(moment, ("interests", "relation", "goal"))
    group = template("group", language)
    done = moment.assessment.done if moment.assessment is not None else ()
    for at, step in enumerate(character.plan if character is not None else ()):
        is_done = at < len(done) and done[at]
        yield "self", "item", group.fill("goals.done" if is_done else "goals.open", {"value": step.text})
    yield from _facts(moment, ("example",))


def _villager(moment: Moment, person: Villager) -> Iterator[NumberedPart]:
    album, speaker = template("album", moment.language), {"speaker": person.persona.name}
    for name, value in person.properties:
        yield "self", "item", album.fill("basic_info.property", {"name": name, "value": value})
    if moment.album:
        yield "self", "text", album.fill("album.lead", speaker)
    for picture in moment.album:
        yield "self", "item", album.fill("album.item", {"picture": picture.described})
    if moment.exchanges:
        yield "self", "text", album.fill("previous_dialogues.lead", speaker)
    for past in moment.exchanges:
        yield "self", "item", album.fill("previous_dialogues.item", {**vars(past), "picture": past.picture.described})


def _mind(assessment: Assessment, name: str, language: str) -> Iterator[NumberedPart]:
    group = template("group", language)
    strength = round(_STRONGEST * assessment.emotion_strength)
    feeling = {"speaker": name, "value": translated(assessment.emotion, language), "strength": strength}
    if assessment.situation:
        yield "self", "item", group.fill("situation.seen", {"speaker": name, "value": assessment.situation})
    yield "self", "item", group.fill("situation.feeling", feeling)
    if assessment.thought:
        yield "self", "item", group.fill("situation.thought", {"speaker": name, "value": assessment.thought})


def _items(texts: PromptTemplate, known: Iterable[str]) -> Iterator[NumberedPart]:
    for text in known:
        yield "self", "item", texts.fill("item", {"text": text})
