"""Decide whether to speak: the parts of willingness, and how similar the thought is to earlier thoughts.

Source: ChatAgents App. B, Eq. 1 and 3. The race computes willingness itself, and evaluates it again during a silence.
"""

from collections.abc import Sequence

import numpy as np
from langgraph.runtime import Runtime

from nodes.memory import Numbers
from nodes.past import Thoughts
from nodes.view import View
from state.context import Context
from state.graph_state import CognitionState, OpenBid
from state.meeting import Attendee

#: The number of last lines that the topic is measured on.
_LATEST_LINES = 3
#: The propensity to speak, by extraversion.
_PROPENSITY = {"extroverted": 0.8, "introverted": 0.3}


async def decide(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Return the agent's open bid: the parts of willingness, and the similarity of their thought to earlier ones."""
    view = View.of(state, runtime.context)
    similarity, highest = thought_similarity(Thoughts.of(view), view.context.parameters.similarity_cutoff)
    bid = OpenBid(
        topic=topic_part(view),
        goal=goal_part(
            [step.share for step, done in zip(view.character.plan, view.done(), strict=True) if not done],
            view.elapsed_share(),
        ),
        emotion=view.mind["emotion_strength"],
        personality=propensity_of(view.agent, view.character.big_five),
        similarity=similarity,
        similarity_max=highest,
    )
    return {"minds": {view.name: view.mind}, "bids": {view.name: bid}}


def topic_part(view: View) -> float:
    """Return S_topic: cosine of the agent's knowledge vector and the last lines; below 0 counts as 0.

    The knowledge vector is the mean embedding of the agent's traits, background, goals and interests.
    """
    agent = view.agent
    known = [
        ", ".join(view.character.big_five),
        agent.persona.background,
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


def goal_part(open_shares: Sequence[float], elapsed: float) -> float:
    """Return S_goal: the open share of the agent's plan, weighted by half at the start and fully at the end.

    Args:
        open_shares: Shares of the steps that are not done; empty without a plan.
        elapsed: Share of the agent's time in the meeting that is over, in [0, 1].
    """
    return min(1.0, sum(open_shares)) * (1 + elapsed) / 2


def propensity_of(agent: Attendee, big_five: Sequence[str]) -> float:
    """Return S_personality before any silence: given by the scenario, or by extraversion."""
    if agent.propensity is not None:
        return agent.propensity
    return next(_PROPENSITY[pole] for pole in big_five if pole in _PROPENSITY)


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
