"""The prompts of an album chat: plan, question and answer. Source: the pairwise album chat, Fig. 13 to 15.

They are modular like those of a dialogue: role properties, records of the history, album entries and facts about
the picture are items. The album is in the plan's prompt alone, the picture in the other two.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tertulia.prompts.assemble import reply_object
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated_list
from tertulia.prompts.units import Part, prompt_of
from tertulia.state.album import Picture, Villager
from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import Layout, Parameters, Setting, Wording
from tertulia.state.records import Prompt


@dataclass(frozen=True)
class PastExchange:
    """A remembered exchange."""

    asker: str
    answerer: str
    picture: Picture
    question: str
    answer: str


@dataclass(frozen=True)
class CallMaterial:
    """The material from which the prompt for a call of an exchange is assembled.

    Attributes:
        call: `plan`, `question` or `answer`.
        history: The exchanges that the speaker remembers, oldest first.
        album: The speaker's pictures, oldest first.
        picture: The picture that the two look at; `None` while it is being chosen.
        is_seen: Whether the model is shown the picture; else it is told.
        example: A question to a person and the reply, in the example of `chat_turns`.
    """

    call: str
    setting: Setting
    speaker: Villager
    asker: str
    answerer: str
    place: str | None
    history: Sequence[PastExchange]
    album: Sequence[Picture]
    picture: Picture | None = None
    is_seen: bool = False
    question: str = ""
    example: tuple[str, str] | None = None
    language: str = DEFAULT
    wording: Wording = "own"

    @property
    def name(self) -> str:
        """The speaker's name."""
        return self.speaker.persona.name

    @property
    def partner(self) -> str:
        """The partner's name."""
        return self.answerer if self.name == self.asker else self.asker


def assemble_call(material: CallMaterial, layout: Layout, parameters: Parameters) -> Prompt:
    """Return the full prompt for a call of an exchange."""
    blocks, removable = parameters.blocks, parameters.removable_blocks
    return prompt_of(material.name, layout, blocks, removable, lambda block: _parts(material, layout, block))


def _fill(material: CallMaterial, entry: str, **variables: object) -> str:
    known = {"speaker": material.name, "partner": material.partner}
    known |= {"asker": material.asker, "answerer": material.answerer}
    return template("album", material.language, material.wording).fill(entry, known | variables)


def _texts(material: CallMaterial, entry: str) -> Iterable[Part]:
    """Yield a text of a block, if the wording has one."""
    if entry in template("album", material.language, material.wording) and (text := _fill(material, entry)):
        yield Part("text", text)


def _parts(material: CallMaterial, layout: Layout, block: str) -> Iterable[Part]:
    """Yield the parts of a block: none of those that only other prompts have; texts mostly only beside items."""
    match block:
        case "opening":
            yield from _texts(material, "opening.text")
        case "environment" | "basic_info" | "previous_dialogues" | "album" | "picture":
            if items := list(_ITEMS[block](material)):
                yield from _texts(material, f"{block}.lead")
                yield from items
                yield from _texts(material, f"{block}.tail")
            else:
                yield from _texts(material, f"{block}.empty")
        case "current_dialogue":
            entry = f"current_dialogue.{material.setting}.{material.call}"
            yield Part("text", _fill(material, entry, picture=_shown(material)), "task")
            if material.question:
                yield Part("text", _fill(material, "current_dialogue.asked", question=material.question), "question")
        case "output_instruction":
            form = json.dumps({material.name: _fill(material, "reply.utterance")}, ensure_ascii=False)
            yield Part("text", _fill(material, "output_instruction.text", value=form))
        case "example" if material.example is not None:
            asked, replied = material.example
            yield Part("text", asked, speaker=material.partner)
            yield Part("text", reply_object(material.name, replied, None, material.language), speaker=material.name)


def _shown(material: CallMaterial) -> str:
    if material.picture is None or material.is_seen:
        return _fill(material, "shown.seen")
    return _fill(material, "shown.told", picture=material.picture.caption)


def _environment(material: CallMaterial) -> Iterable[Part]:
    if material.place is not None:
        yield Part("item", _fill(material, "environment.place", place=material.place), "place")
    yield Part("item", _fill(material, "environment.pair"), "pair")


def _role(material: CallMaterial) -> Iterable[Part]:
    yield Part("item", _fill(material, "basic_info.name", value=material.name), "name")
    taken = {"name"}
    for name, value in material.speaker.properties:
        id = "_".join(name.casefold().split())
        if (id, value) != ("name", material.name):
            text = _fill(material, "basic_info.property", name=name, value=value)
            yield Part("item", text, None if id in taken else id)
            taken.add(id)


def _history(material: CallMaterial) -> Iterable[Part]:
    for past in material.history:
        shown = {**vars(past), "picture": past.picture.described}
        yield Part("item", _fill(material, "previous_dialogues.item", **shown))


def _album(material: CallMaterial) -> Iterable[Part]:
    for picture in material.album if material.call == "plan" else ():
        shown = {"caption": picture.caption, "variant": f" {picture.variant}" if picture.variant else ""}
        yield Part("item", _fill(material, "album.item", picture=picture.described, **shown), picture.id)


def _picture(material: CallMaterial) -> Iterable[Part]:
    picture = material.picture
    if picture is None:
        return
    if material.is_seen and picture.file is not None:
        text = _fill(material, "picture.image", picture=picture.described)
        yield Part("item", text, "image", picture=picture.file.hash)
        return
    yield Part("item", _fill(material, "picture.caption", picture=picture.described), "caption")
    if picture.file is not None:
        width, height = picture.file.width, picture.file.height
        yield Part("item", _fill(material, "picture.size", width=width, height=height), "size")
        if picture.file.colours:
            colours = translated_list(picture.file.colours, material.language)
            yield Part("item", _fill(material, "picture.colours", colours=colours), "colours")


_ITEMS = {
    "environment": _environment,
    "basic_info": _role,
    "previous_dialogues": _history,
    "album": _album,
    "picture": _picture,
}
