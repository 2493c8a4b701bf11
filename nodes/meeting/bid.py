"""A bid for the floor (the step `decide`): the parts of willingness, and how similar the thought is to earlier ones.

Source: ChatAgents App. B, Eq. 1 and 3. The race computes willingness itself, and evaluates it again during a silence.
"""

import numpy as np
from langgraph.runtime import Runtime

from tertulia.nodes.meeting.past import Thoughts
from tertulia.nodes.meeting.ratings import rate_parts
from tertulia.nodes.meeting.touch import touch_of
from tertulia.nodes.meeting.view import View
from tertulia.nodes.meeting.willingness import (
    GOAL_FLOOR,
    address_of_agent,
    goal_part,
    moved,
    need_to_speak,
    propensity_of,
)
from tertulia.nodes.shared.memory import Numbers
from tertulia.prompts.translations import translated_list
from tertulia.state.cognition import Assessment, Touch
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionState, OpenBid, Parts
from tertulia.state.preparing import prepare

#: The number of last lines that the topic is measured on.
_LATEST_LINES = 3


async def decide(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Return the agent's open bid: the parts of willingness, and the similarity of their thought to earlier ones."""
    view = View.of(state, runtime.context)
    parameters = view.context.parameters
    address = address_of_agent(view)
    need = need_to_speak(view.mind["quiet"], len(view.present), parameters)
    mind = view.mind
    if parameters.willingness == "rated":
        parts, mind = await rate_parts(view, address)
    else:
        touch = touch_of(view) if parameters.willingness == "heard" else None
        if touch is not None:
            view.context.store.save_step(view.context.run, view.round, view.name, "hear", touch)
        parts = computed_parts(view, address, need, touch)
    assessment = view.context.store.step(view.context.run, view.round, view.name, "assess", Assessment)
    await prepare(view.context.embedder, [] if assessment is None else [assessment.thought])
    similarity, highest = thought_similarity(Thoughts.of(view), parameters.similarity_cutoff)
    bid = OpenBid(**parts, address=address, need=need, similarity=similarity, similarity_max=highest)
    return {"minds": {view.name: mind}, "bids": {view.name: bid}}


def computed_parts(view: View, address: float, need: float, touch: Touch | None = None) -> Parts:
    """Return the parts of willingness from embeddings and from the agent's state.

    Args:
        address: How much the last line speaks to them, in [0, 1].
        need: Their need to speak, in [0, 1].
        touch: How much the last lines touch them; `None`: the topic alone is measured on it, and only as a whole.
    """
    open_shares = [step.share for step, done in zip(view.character.plan, view.done(), strict=True) if not done]
    goal, feeling = goal_part(open_shares, view.elapsed_share()), view.mind["emotion_strength"]
    if touch is not None:
        goal, feeling = max(GOAL_FLOOR, moved(goal / 4, touch.goal)), moved(feeling / 2, touch.emotion)
    return Parts(
        topic=moved(topic_part(view) if touch is None else touch.topic, address),
        goal=goal,
        emotion=moved(feeling, need),
        personality=moved(propensity_of(view.agent, view.character.big_five), address, need),
    )


def topic_part(view: View) -> float:
    """Return S_topic: cosine of the agent's knowledge vector and the last lines; below 0 counts as 0.

    The knowledge vector is the mean embedding of the agent's character, poles, background, work, goals and interests.
    """
    agent = view.agent
    known = [
        agent.persona.character,
        translated_list(view.character.big_five, view.language),
        agent.persona.known_background,
        agent.persona.occupation,
        agent.setting,
        *(goal.text for goal in agent.goals),
        *agent.interests,
    ]
    lines = [turn.text for turn in view.lines() if turn.speaker is not None][-_LATEST_LINES:]
    texts = [text for text in known if text]
    vectors = np.array(view.context.embedder.embed([" ".join(lines) or view.meeting.description, *texts]))
    knowledge = vectors[1:].mean(0)
    length = float(np.linalg.norm(knowledge))
    return float(np.clip(vectors[0] @ knowledge / length, 0.0, 1.0)) if length else 0.0


def thought_similarity(thoughts: Numbers, cutoff: float) -> tuple[float, float | None]:
    """Return S̄ and S_max of a new thought. Source: ChatAgents App. B, Eq. 3.

    Args:
        thoughts: The embeddings of the n thoughts since the agent last spoke, oldest first, and of the new one: an
            array `(n + 1, D)`. Thought i (from 0) has the weight (i+1)/n; cosines below 0 count as 0.
        cutoff: S̄ is the mean of the weighted similarities above it; 0 if there are none.
    """
    earlier, thought = thoughts[:-1], thoughts[-1]
    if not len(earlier):
        return 0.0, None
    weights = np.arange(1, len(earlier) + 1) / len(earlier)
    weighted = np.clip(earlier @ thought, 0.0, 1.0) * weights
    high = weighted[weighted > cutoff]
    return float(high.mean()) if len(high) else 0.0, float(weighted.max())
