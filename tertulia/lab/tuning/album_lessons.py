"""From exchanges about pictures to lessons: the plan, the question and the answer."""

import random
from collections.abc import Sequence

from tertulia.lab.tuning.lesson import Lesson, answer_of
from tertulia.prompts.album import CallMaterial, PastExchange, assemble_call
from tertulia.prompts.examples import album_exchanges
from tertulia.state.album import Picture, Villager
from tertulia.state.parameters import Parameters
from tertulia.state.parameters.parameters import ALBUM_CHAT
from tertulia.state.records import Persona
from tertulia.worlds.scenes import AlbumPerson, AlbumScene


def album_lesson(scene: AlbumScene, call: str, generator: random.Random) -> Lesson:
    """Return a call of an exchange, with its plan, question or answer."""
    settings = {name: ALBUM_CHAT[name] for name in ("block_order", "removable_blocks")}
    people = {person.name: _villager(person, scene.album) for person in (scene.asker, scene.answerer)}
    name = scene.answerer.name if call == "answer" else scene.asker.name
    history = [
        PastExchange(past.asker, past.answerer, _picture(past.picture), past.question, past.answer)
        for past in scene.history
        if name in (past.asker, past.answerer)
    ]
    album = list(scene.album)
    generator.shuffle(album)
    material = CallMaterial(
        call=call,
        setting=scene.setting,
        speaker=people[name],
        asker=scene.asker.name,
        answerer=scene.answerer.name,
        place=scene.place,
        history=history,
        album=[_picture(caption) for caption in album],
        picture=None if call == "plan" else _picture(scene.picture),
        question=scene.question if call == "answer" else "",
        example=generator.choice(album_exchanges(call, scene.setting)),
    )
    prompt = assemble_call(material, "chat_turns", Parameters(**settings))
    return Lesson(call, prompt, answer=answer_of({name: getattr(scene, call)}))


def _villager(person: AlbumPerson, album: Sequence[str]) -> Villager:
    properties = tuple(person.properties.items())
    return Villager(persona=Persona(name=person.name), properties=properties, album=tuple(album))


def _picture(caption: str) -> Picture:
    what, _, variant = caption.partition(":")
    return Picture(id=caption, caption=what.strip(), variant=variant.strip() or None)
