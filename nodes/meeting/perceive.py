"""Perceive the last message: is it relevant to the agent? Source: ChatAgents §III-A, perceptual filtering.

1. A message is compared with the agent's profile, background (knowledge and wishes) and emotion, with the topic of the
   meeting, with their last thought, and with the last lines in their working memory: a short answer is about its
   question.
2. No text that is compared has a participant's name in it, which would be alike in every line.
3. A message that would turn anybody's head passes whatever its relevance (`reason_to_notice`).
"""

import numpy as np
from langgraph.runtime import Runtime

from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.hearing import came_s
from tertulia.nodes.shared.names_in_text import is_named, without_names
from tertulia.prompts.cognition import line_of
from tertulia.prompts.translations import translated, translated_list
from tertulia.state.cognition import Perception
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionState, Mind
from tertulia.state.preparing import prepare
from tertulia.state.records import Turn

#: The addition of being named to the importance of a message, on the scale of relevance.
_NAMED = 0.3


async def perceive(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Add the last message to the agent's working memory if it is relevant enough, and store its importance."""
    view = View.of(state, runtime.context)
    message = view.message()
    if message is not None or came_s(view.meeting, view.name) == 0:
        await prepare(view.context.embedder, _texts_of(view, message))
    return {"mind": notice(view, perceive_message(view, message))}


def notice(view: View, perception: Perception) -> Mind:
    """Store a perception, and return the agent's mind with the message in it, if it was noticed."""
    view.context.store.save_step(view.context.run, view.round, view.name, "perceive", perception)
    if not perception.noticed or perception.turn is None:
        return view.mind
    noticed = [*view.mind["noticed"], perception.turn][-view.context.parameters.working_memory :]
    return {**view.mind, "noticed": noticed}


def perceive_message(view: View, message: Turn | None) -> Perception:
    """Return how relevant a message is to an agent, and whether it is noticed.

    Relevance is the highest cosine of the message to those texts; a silence has none.

    Args:
        message: The last turn that the agent heard; `None` if the meeting has no opening line: agents present from the
            start perceive its description, and a latecomer nothing.
    """
    if message is None and came_s(view.meeting, view.name) > 0:
        return Perception(turn=None, similarities={}, relevance=0, named=False, noticed=False, importance=0)
    similarities = _similarities(view, message)
    relevance = max(similarities.values(), default=0.0)
    named = message is not None and is_named(view.name, message.text, view.meeting.names)
    reason = reason_to_notice(view, message)
    return Perception(
        turn=0 if message is None else message.turn,
        similarities=similarities,
        relevance=relevance,
        named=named,
        noticed=reason is not None or relevance >= view.context.parameters.perception_threshold,
        reason=reason,
        importance=10 * min(1.0, relevance + (_NAMED if named else 0.0)),
    )


def reason_to_notice(view: View, message: Turn | None) -> str | None:
    """Return why an agent notices a message whatever its relevance; `None` if there is no such reason."""
    if message is None or message.turn == 0:
        return "opening"
    if message.speaker is None:
        return "silence"
    if message.speaker == view.name:
        return "own words"
    if is_named(view.name, message.text, view.meeting.names):
        return "named"
    return "question to all" if view.address["is_open_question"] else None


def aspects_of(view: View, message: Turn | None) -> dict[str, list[str]]:
    """Return the texts that a message is compared with, by aspect, participants' names taken out of them."""
    agent, meeting = view.agent, view.meeting
    number, was_there = 0 if message is None else message.turn, came_s(meeting, view.name) == 0
    persona, character = agent.persona, view.character
    known = [*persona.background, persona.occupation, persona.lifestyle, agent.setting]
    known += [*(goal.text for goal in agent.goals), *agent.interests, *(text for _, text in agent.relations)]
    subject = [meeting.title if message is None else f"{meeting.title}. {meeting.description}"]
    if meeting.opening is not None and was_there and number:
        subject.append(meeting.opening.text)
    last, language = view.last_assessment(), view.language
    profile = [text for text in (persona.character, translated_list(character.big_five, language)) if text]
    texts = {
        "profile": [" ".join([*profile, *character.descriptions])],
        "background": [" ".join(part for part in known if part)],
        "emotion": [view.texts.fill("perceived.emotion", {"emotion": translated(view.mind["emotion"], language)})],
        "subject": subject,
        "thought": [] if last is None else [last.thought],
        "lines": [turn.text for turn in view.lines() if turn.speaker is not None and turn.turn != number],
    }
    names = meeting.names
    nameless = {aspect: [without_names(text, names) for text in texts[aspect]] for aspect in texts}
    return {aspect: found for aspect in nameless if (found := [text for text in nameless[aspect] if text])}


def _texts_of(view: View, message: Turn | None) -> list[str]:
    """Return the texts that will be embedded of a message: those that are compared, and the line as it is recalled."""
    compared = [without_names(view.meeting.description if message is None else message.text, view.meeting.names)]
    compared += [text for texts in aspects_of(view, message).values() for text in texts]
    line = [] if message is None or message.speaker is None else [line_of(message, view.language)]
    return [*filter(None, compared), *line]


def _similarities(view: View, message: Turn | None) -> dict[str, float]:
    """Return the highest cosine of a message to each aspect; nothing if the message has no words but names."""
    text = without_names(view.meeting.description if message is None else message.text, view.meeting.names)
    if not text:
        return {}
    aspects = aspects_of(view, message)
    vectors = np.array(view.context.embedder.embed([text, *(text for texts in aspects.values() for text in texts)]))
    cosines = iter(np.clip(vectors[1:] @ vectors[0], 0.0, 1.0).tolist())
    return {aspect: max(next(cosines) for _ in texts) for aspect, texts in aspects.items()}
