"""From dialogues of two to lessons: the whole dialogue as each of the two has it."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tertulia.lab.tuning.lesson import Lesson
from tertulia.metrics.recitation import recites
from tertulia.models.tuning.sequence import GOOD
from tertulia.nodes.shared.human_needs import draw_human_needs
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt, reply_prefix_of
from tertulia.prompts.examples import exchanges
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Dialogue, Memory, Participant, Persona, Prompt, Turn, Utterance
from tertulia.worlds.scenes import DialogueScene, DraftsScene, PairScene, ScenePerson

#: The share of dialogues with human needs in the prompts.
_WITH_NEEDS = 0.15
#: The share of lessons of the first speaker that include the opening of the dialogue.
_OPENS = 0.6
#: Words in a row from an item with which a line is not learned.
_RECITED = 5


def case_of(scene: DialogueScene | DraftsScene) -> Case:
    """Return the case that a scene is: the first speaker comes across the other."""
    first = scene.speaker if isinstance(scene, DraftsScene) and not scene.lines else scene.lines[0][0]
    previous = scene.previous if isinstance(scene, DialogueScene) else ()
    initiator, partner = sorted(scene.people, key=lambda person: person.name != first)
    return Case(
        scenario="scene",
        time=scene.began,
        place=scene.place,
        initiator=_participant(initiator, scene.began),
        partner=_participant(partner, scene.began),
        previous_dialogues=tuple(
            Dialogue(
                time=datetime.fromisoformat(talk.time),
                utterances=tuple(Utterance(speaker=speaker, text=text) for speaker, text in talk.lines),
            )
            for talk in previous
        ),
    )


def _participant(person: ScenePerson, time: datetime) -> Participant:
    background = (person.background,) if person.background else ()
    persona = Persona(name=person.name, age=person.age, character=person.traits, background=background)
    return Participant(persona=persona, memories=memories_of(person.memories, time), activity=person.activity)


def memories_of(texts: Sequence[str], time: datetime) -> tuple[Memory, ...]:
    """Return memories with these texts, one from each of the hours before a time."""
    return tuple(
        Memory(
            id=str(number),
            kind="event",
            text=text,
            created=time - timedelta(hours=len(texts) - number),
            importance=5,
        )
        for number, text in enumerate(texts)
    )


def turns_of(lines: Sequence[tuple[str, str]]) -> tuple[Turn, ...]:
    """Return lines as turns, from 1."""
    return tuple(
        Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=float(number), ended=False)
        for number, (speaker, text) in enumerate(lines, 1)
    )


def dialogue_lesson(case: Case, lines: Sequence[tuple[str, str]], name: str, generator: random.Random) -> Lesson:
    """Return a whole dialogue as one person has it: all their lines are learned, except those that recite.

    All memories of the person are in the prompt. The generator draws as a run does: the order of memories, human needs,
    the example.
    """
    parameters = Parameters()
    material = _material(case, lines, name, generator)
    blocks = "bhmpec" if material.human_needs else parameters.blocks
    prompt = assemble_prompt(material, "chat_turns", blocks, parameters.removable_blocks)
    learned = unrecited(spoken_units(prompt), prompt)
    if lines[0][0] == name:
        if generator.random() < _OPENS:
            prompt = _as_opened(prompt, material, blocks, parameters)
        else:
            learned.pop("current_dialogue.turn_1", None)
    return Lesson("dialogue", prompt, learned)


def drafts_lessons(scene: DraftsScene, generator: random.Random) -> list[Lesson]:
    """Return a dialogue as the next speaker has it, with the drafts of the next line, and with the good ones alone.

    Drafts are compared behind the whole prompt, for which they were graded. Good ones are learned behind pruned prompts
    too, so that none is much likelier than the others where the memories are gone.
    """
    parameters = Parameters()
    material = replace(_material(case_of(scene), scene.lines, scene.speaker, generator), human_needs=None)
    prompt = assemble_prompt(material, "chat_turns", parameters.blocks, parameters.removable_blocks)
    good = tuple((text, grade) for text, grade in scene.drafts if grade == GOOD)
    compared, learned = (Lesson("drafts", prompt, drafts=drafts) for drafts in (scene.drafts, good))
    return [*([compared] if compared.compares else []), *([learned] if good else [])]


def _material(case: Case, lines: Sequence[tuple[str, str]], name: str, generator: random.Random) -> UtteranceMaterial:
    memories = list(case.participant(name).memories)
    generator.shuffle(memories)
    needs = draw_human_needs(generator) if generator.random() < _WITH_NEEDS else None
    return UtteranceMaterial(
        start=case,
        speaker=name,
        listeners=[case.other(name).persona.name],
        memories=memories,
        turns=turns_of(lines),
        human_needs=needs,
        asks_ending=False,
        exchange=generator.choice(exchanges()),
    )


def spoken_units(prompt: Prompt) -> dict[str, str]:
    """Return the speaker's lines in the dialogue of a prompt, with the beginning of each that is given."""
    prefix = reply_prefix_of(prompt)
    own = [unit for unit in prompt.units if unit.block == "current_dialogue" and unit.speaker == prompt.speaker]
    return {unit.id: prefix for unit in own}


def unrecited(learned: dict[str, str], prompt: Prompt) -> dict[str, str]:
    """Return the learned lines of a prompt, without those that recite its items: a model would learn to recite."""
    texts = {unit.id: unit.text for unit in prompt.units}
    items = [unit.text for unit in prompt.units if unit.removable]
    return {
        unit: given for unit, given in learned.items() if not recites(texts[unit].removeprefix(given), items, _RECITED)
    }


def _as_opened(prompt: Prompt, material: UtteranceMaterial, blocks: str, parameters: Parameters) -> Prompt:
    """Return the prompt of a dialogue as it was before the first line, followed by the lines."""
    before = replace(material, turns=())
    opening = assemble_prompt(before, "chat_turns", blocks, parameters.removable_blocks).units
    lines = [unit for unit in prompt.units if unit.block == "current_dialogue" and unit.kind == "item"]
    return prompt.model_copy(update={"units": (*opening, *lines)})


def pair_lesson(scene: PairScene, generator: random.Random, contradicts: bool = False) -> Lesson:
    """Return a dialogue of two lines, whose second agrees with its speaker's memories, or contradicts it.

    The one that contradicts is learned without the memory. So the memory alone makes it unlikely, and the judge by
    likelihood finds it by that (`nodes/utterance/judge.py`).
    """
    time = datetime(2024, 5, 14, 15)
    memories = list(scene.others) if contradicts else [scene.memory, *scene.others]
    reply = scene.contradicts if contradicts else scene.agrees
    generator.shuffle(memories)
    listener = Participant(persona=Persona(name=scene.listener), memories=())
    speaker = Participant(persona=Persona(name=scene.speaker), memories=memories_of(memories, time))
    case = Case(scenario="scene", time=time, initiator=listener, partner=speaker)
    material = UtteranceMaterial(
        start=case,
        speaker=scene.speaker,
        listeners=[scene.listener],
        memories=speaker.memories,
        turns=turns_of([(scene.listener, scene.before), (scene.speaker, reply)]),
        asks_ending=False,
        exchange=generator.choice(exchanges()),
    )
    prompt = assemble_prompt(material, "chat_turns", Parameters().blocks, Parameters().removable_blocks)
    return Lesson("pair", prompt, spoken_units(prompt))
