"""Recall something from memory. Source: ChatAgents App. A (memory system), after Park et al. 2023, §4.1."""

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.past import recall_in_meeting
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.nodes.shared.called_up import called_up
from tertulia.prompts.cognition import Question
from tertulia.state.cognition import Finding
from tertulia.state.language_model import ReplyField
from tertulia.state.preparing import prepare
from tertulia.state.recall import may_be_recalled

#: The number of memories that are recalled at a time.
_RECALLED = 3
#: The number of tokens of a query, at least.
_QUERY_TOKENS = 16


async def recall(view: View) -> Finding:
    """Let the agent say its query, and return the memories nearest to it by relevance, recency and importance.

    The stream has the agent's memories from before the meeting, and turns that have left its working memory.
    """
    question = Question("recall", {"recall": view.texts.fill("answer.recall", {})}, view.example("recall"))
    limit = max(_QUERY_TOKENS, view.context.parameters.reason_tokens)
    fields = [ReplyField("recall", "text", max_tokens=limit)]
    reply = await view.ask("memory_retrieval", question, fields)
    query = text_of(reply, "recall")
    parameters = view.context.parameters.model_copy(
        update={"memory_items_min": _RECALLED, "memory_items_max": _RECALLED}
    )
    memories = [memory.text for memory in view.agent.memories if may_be_recalled(memory)]
    await prepare(view.context.embedder, [query, *memories])
    said = (turn.text for turn in view.lines() if turn.speaker is not None)
    lines = [view.meeting.description, *said, query]
    called = called_up(view.agent.memories, lines, view.now, _RECALLED)
    recalled = [memory for memory in recall_in_meeting(view, query, parameters) if memory not in called]
    found = [*called, *recalled][:_RECALLED]
    data = {"query": query, "memories": [memory.id for memory in found]}
    return Finding(lines=tuple(memory.text for memory in found), data=data)


MECHANISM = Mechanism(
    name="memory_retrieval",
    title="Memory Retrieval",
    description="search your memory for something that you may know about this; you say what to look for",
    example=(True, "I have heard about this before."),
    run=recall,
)
