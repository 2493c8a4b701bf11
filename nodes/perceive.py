"""Perceive the last message: is it relevant to the agent? Source: ChatAgents §III-A, perceptual filtering."""

import numpy as np
from langgraph.runtime import Runtime

from nodes.address import is_named
from nodes.view import View
from state.cognition import Perception
from state.context import Context
from state.graph_state import CognitionState, Mind
from state.records import Turn

#: What being named adds to the importance of a message, on the scale of relevance.
_NAMED = 0.3


async def perceive(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Add the last message to the agent's working memory if it is relevant enough, and store its importance."""
    view = View.of(state, runtime.context)
    message = view.message()
    return {"mind": notice(view, perceive_message(view, message))}


def notice(view: View, perception: Perception) -> Mind:
    """Store a perception, and return the agent's mind with the message in it, if it was noticed."""
    view.context.store.save_step(view.context.run, view.round, view.name, "perceive", perception)
    if not perception.noticed:
        return view.mind
    noticed = [*view.mind["noticed"], perception.turn][-view.context.parameters.working_memory :]
    return {**view.mind, "noticed": noticed}


def perceive_message(view: View, message: Turn | None) -> Perception:
    """Return how relevant a message is to an agent, and whether it is noticed.

    Relevance is the highest cosine of the message to what the agent is (profile), knows (background) and feels
    (emotion). Messages that name the agent are always noticed, and so is the opening of the meeting.

    Args:
        view: The agent's view of the round.
        message: The last turn; `None` where the meeting has no opening line: its description is perceived.
    """
    text = view.meeting.description if message is None else f"{message.speaker}: {message.text}"
    if message is not None and message.speaker is None:
        text = SILENCE
    profile = profile_texts(view)
    vectors = np.array(view.context.embedder.embed([text, *profile.values()]))
    cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
    named = message is not None and is_named(view.name, message.text)
    relevance = float(cosines.max())
    turn = 0 if message is None else message.turn
    is_agents = message is not None and message.speaker == view.name
    return Perception(
        turn=turn,
        similarities={aspect: float(cosine) for aspect, cosine in zip(profile, cosines, strict=True)},
        relevance=relevance,
        named=named,
        noticed=is_agents or named or turn == 0 or relevance >= view.context.parameters.perception_threshold,
        importance=10 * min(1.0, relevance + (_NAMED if named else 0.0)),
    )


#: The text of a recorded silence as a message.
SILENCE = "Nobody has said anything for a while; there is an awkward silence."


def profile_texts(view: View) -> dict[str, str]:
    """Return the texts that a message is compared with: who the agent is, what they know and want, what they feel."""
    agent, character = view.agent, view.character
    known = [agent.persona.background, agent.setting, *(goal.text for goal in agent.goals), *agent.interests]
    profile = [view.name, ", ".join(character.big_five), *character.descriptions]
    return {
        "profile": " ".join(profile),
        "background": " ".join(part for part in known if part) or view.name,
        "emotion": f"{view.name} feels {view.mind['emotion']}.",
    }
