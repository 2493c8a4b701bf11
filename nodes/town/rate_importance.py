"""The importance of new memories to a person, from 1 to 10. Source: Park et al. 2023, §4.1 (poignancy).

The place of a node inside `remember` and `reflect`; the plain node asks the model.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.shared.asking import ask_model
from tertulia.prompts.cognition import ask_anybody
from tertulia.prompts.town import ask_importance
from tertulia.state.context import Context
from tertulia.state.inner_places import RatingState
from tertulia.state.language_model import ReplyField


async def rate_importance(state: RatingState, runtime: Runtime[Context]) -> RatingState:
    """Ask the model for the importance of each memory, all in one call."""
    context, texts = runtime.context, state["memories"]
    fields = [ReplyField(str(number), "integer", minimum=1, maximum=10) for number in range(1, len(texts) + 1)]
    language = context.parameters.language
    prompt = ask_anybody(ask_importance(state["agent"], texts, language), context.layout, language)
    reply = await ask_model(context, state["round"], state["agent"], "rate_importance", prompt, fields)
    return {"importance": [float(reply.fields[field.name]) for field in fields]}


async def importance_of(
    context: Context, name: str, texts: Sequence[str], contents: Sequence[str], round: int
) -> list[float]:
    """Return the importance of memories by the run's node; if it can't tell, the model is asked.

    Args:
        context: That of the person as they think.
        contents: The subject of each memory, without date, people and place.
    """
    if not texts:
        return []
    state: RatingState = {"round": round, "agent": name, "memories": list(texts), "contents": list(contents)}
    runtime = Runtime(context=context)
    rated = await context.nodes.get("rate_importance", rate_importance)(state, runtime)
    if rated["importance"] is None:
        rated = await rate_importance(state, runtime)
    return list(rated["importance"])
