"""From meetings to lessons: lines, with the mind from which each is said, and people's answers to questions."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from tertulia.lab.tuning.dialogue_lessons import memories_of, turns_of
from tertulia.lab.tuning.lesson import Lesson, answer_of
from tertulia.nodes.mechanisms.registry import MECHANISMS, description_of
from tertulia.prompts.assemble import InnerLife, UtteranceMaterial, assemble_prompt, reply_prefix_of
from tertulia.prompts.cognition import AgentSituation, Question, ask_agent, ask_anybody
from tertulia.prompts.examples import draw_example, exchanges
from tertulia.prompts.names import clauses, enumerated
from tertulia.prompts.templates import template
from tertulia.state.cognition import Assessment, Character, SubGoal
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.parameters.parameters import GROUP_CHAT
from tertulia.state.person import Goal
from tertulia.state.records import Persona
from tertulia.worlds.scenes import MeetingPerson, MeetingScene, SceneMind

#: The mechanisms that are chosen before a thought: as many as that at most.
_CHOSEN = 2


def meeting_lessons(scene: MeetingScene, generator: random.Random) -> Iterator[Lesson]:
    """Yield each line, with the mind from which it is said, and a question about each mind; and each plan."""
    meeting = _meeting_of(scene)
    people = {person.name: person for person in scene.people}
    thinking = ["assess", "chosen", "recall", "topics", "progress", "willingness"]
    for place, mind in enumerate(scene.minds):
        person = people[mind.agent]
        yield _question(meeting, scene, person, mind, "assess", generator)
        yield _question(meeting, scene, person, mind, thinking[1 + place % (len(thinking) - 1)], generator)
        if mind.speaks:
            yield _said(meeting, scene, person, mind, generator)
    planner = generator.choice(scene.people)
    if planner.goal and len(planner.steps) == len(draw_example("plan", generator)):
        yield _plan(planner, generator)


def _meeting_of(scene: MeetingScene) -> Meeting:
    ends = None
    if scene.ends is not None:
        ends = datetime.fromisoformat(f"{scene.time[:10]} {scene.ends}")
        ends = ends if ends > scene.began else ends + timedelta(days=1)
    return Meeting(
        scenario="scene",
        title=scene.title,
        description=scene.description,
        time=scene.began,
        ends=ends,
        place=scene.place,
        participants=tuple(_attendee(person, scene.began) for person in scene.people),
        mechanisms=tuple(MECHANISMS),
    )


def _attendee(person: MeetingPerson, time: datetime) -> Attendee:
    return Attendee(
        persona=Persona(name=person.name, age=person.age, background=(person.background,) if person.background else ()),
        memories=memories_of(person.memories, time),
        big_five=person.big_five,
        descriptions=person.descriptions,
        goals=(Goal(text=person.goal, sub_goals=person.steps),) if person.goal else (),
        interests=person.interests,
    )


def _character(person: MeetingPerson) -> Character:
    steps = [SubGoal(goal=0, text=text, share=1 / len(person.steps)) for text in person.steps if person.goal]
    return Character(big_five=person.big_five, descriptions=person.descriptions, plan=tuple(steps))


def _question(
    meeting: Meeting,
    scene: MeetingScene,
    person: MeetingPerson,
    mind: SceneMind,
    name: str,
    generator: random.Random,
) -> Lesson:
    """Return a question to a person in a round, and their answer."""
    before = next((m for m in reversed(scene.minds) if m.agent == mind.agent and m.after < mind.after), None)
    situation = AgentSituation(
        meeting=meeting,
        agent=meeting.participant(person.name),
        character=_character(person),
        now=scene.began + timedelta(seconds=12 * mind.after),
        present=meeting.names,
        emotion=before.feeling if before else generator.choice(["calm", mind.feeling]),
        emotion_strength=before.strength / 10 if before else 0.3,
        lines=turns_of(scene.lines[: mind.after])[-generator.randint(3, 8) :],
        missed=False,
        last_situation=before.situation if before else "",
        last_thought=before.thought if before else "",
    )
    items, answer = _asked(person, mind, name, generator)
    example = dict(draw_example("mechanisms" if name == "chosen" else name, generator))
    question = Question(name, {}, example, items)
    prompt = ask_agent(situation, question, "chat_turns")
    return Lesson(name, prompt, answer=answer_of(answer))


def _asked(
    person: MeetingPerson, mind: SceneMind, name: str, generator: random.Random
) -> tuple[list[str], dict[str, Any]]:
    """Return the items before a question, and the answer to it."""
    fill = template("cognition", DEFAULT).fill
    match name:
        case "assess":
            items = [fill("assess.item", {"value": line}) for line in _findings(person, mind, generator)]
            answer = {
                "situation": mind.situation,
                "feeling": mind.feeling,
                "strength": mind.strength,
                "thought": mind.thought,
            }
        case "chosen":
            described = {key: description_of(mechanism, DEFAULT) for key, mechanism in MECHANISMS.items()}
            chosen = generator.sample(list(described.values()), generator.randint(0, _CHOSEN))
            items = [fill("mechanisms.round", {"round": mind.after})]
            for key, text in described.items():
                items.append(
                    fill("mechanisms.never", {"mechanism": key, "description": text, "count": 0, "last_used": 0})
                )
            entry = "mechanisms.chosen" if chosen else "mechanisms.none_chosen"
            items.append(fill(entry, {"value": clauses(chosen, DEFAULT)}))
            answer = {
                field: getattr(mind, field) for field in ("key_information", "character_analysis", "decision_reason")
            }
        case "recall":
            items, answer = [], {"recall": mind.recall}
        case "topics":
            items = [fill("topics.open", {"value": enumerated(person.interests, DEFAULT)})] if person.interests else []
            answer = {"topic": mind.topic, "move": mind.move}
        case "progress":
            names = [f"{number}. {step}" for number, step in enumerate(person.steps, 1)]
            share = f"{1 / max(1, len(names)):.0%}"
            items = [fill("progress.step", {"step": step, "share": share}) for step in names]
            answer = {**dict(zip(names, mind.steps_done, strict=True)), "next": mind.next}
        case _:
            items = [mind.situation, mind.thought]
            answer = {}
            for part in ("topic", "goal", "emotion", "personality"):
                answer |= {part: mind.ratings[part], f"{part}_reason": mind.reasons[part]}
    return items, answer


def _findings(person: MeetingPerson, mind: SceneMind, generator: random.Random) -> list[str]:
    """Return possible findings of mechanisms before a thought: memories, the topic, the next step; maybe nothing."""
    fill = template("cognition", DEFAULT).fill
    found = generator.sample(person.memories, min(len(person.memories), generator.choice([0, 2, 3])))
    if generator.random() < 0.4:
        found.append(fill("findings.topic", {"value": mind.topic.rstrip(".")}))
    if generator.random() < 0.4:
        found.append(fill("findings.next", {"value": mind.next.rstrip(".")}))
    return found


def _said(
    meeting: Meeting, scene: MeetingScene, person: MeetingPerson, mind: SceneMind, generator: random.Random
) -> Lesson:
    """Return the prompt from which a person speaks, with their thought; this line is learned."""
    settings = {name: GROUP_CHAT[name] for name in ("block_order", "removable_blocks")}
    parameters = Parameters(**settings)
    attendee = meeting.participant(person.name)
    assessment = Assessment(
        situation=mind.situation,
        thought=mind.thought,
        emotion=mind.feeling,
        emotion_strength=mind.strength / 10,
        done=mind.steps_done,
    )
    inner = InnerLife(
        character=_character(person),
        done=mind.steps_done,
        findings=[("memory_retrieval", line) for line in _findings(person, mind, generator)],
        assessment=assessment,
        clock=f"{scene.began + timedelta(seconds=12 * mind.after):%H:%M}",
    )
    memories = list(attendee.memories)
    generator.shuffle(memories)
    material = UtteranceMaterial(
        start=meeting,
        speaker=person.name,
        listeners=[name for name in meeting.names if name != person.name],
        memories=memories,
        turns=turns_of(scene.lines[: mind.after + 1]),
        asks_ending=False,
        inner_life=inner,
        exchange=generator.choice(exchanges()),
    )
    prompt = assemble_prompt(material, "chat_turns", parameters.blocks, parameters.removable_blocks)
    *_, last = (unit for unit in prompt.units if unit.speaker == person.name)
    units = prompt.units[: prompt.units.index(last) + 1]
    prompt = prompt.model_copy(update={"units": units})
    return Lesson("meeting", prompt, {last.id: reply_prefix_of(prompt)})


def _plan(person: MeetingPerson, generator: random.Random) -> Lesson:
    fill = template("cognition", DEFAULT).fill
    names = [f"step_{number}" for number in range(1, len(person.steps) + 1)]
    example = dict(zip(names, draw_example("plan", generator), strict=True))
    question = Question(
        "plan",
        {},
        example,
        [fill("plan.about", {"name": person.name, "goal": person.goal})],
        {"number": len(names)},
    )
    return Lesson(
        "plan", ask_anybody(question, "chat_turns"), answer=answer_of(dict(zip(names, person.steps, strict=True)))
    )
