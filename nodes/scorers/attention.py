"""Score every prompt unit by the attention that responses to the full prompt pay to it. Source: APP §3.1, Eq. 1."""

from langgraph.runtime import Runtime

from nodes.generate import utterance_request
from state.contracts import Context, ScoringOptions
from state.graph_state import UtteranceState
from state.randomness import keyed_generator


async def score_attention(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Generate a few responses to the full prompt and average the attention score of every unit over them."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    prompt = context.store.prompt(state["prompt"])
    generators = tuple(
        keyed_generator(context.seed, round=state["round"], agent=state["speaker"], node="score_attention", row=row)
        for row in range(parameters.scoring_responses)
    )
    _, scores = await context.asked_by(state["speaker"], state["round"], "score").generate_scored(
        utterance_request(prompt, generators, context.model.tokenizer, parameters),
        ScoringOptions(reducer=parameters.reducer, rows=parameters.scored_rows),
    )
    return {"scores": scores, "scored_by": context.model.id}
