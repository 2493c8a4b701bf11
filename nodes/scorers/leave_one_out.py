"""Score every prompt unit by how much less likely a response to the full prompt is without it. Needs no attention.

A response is generated, and its likelihood computed without each unit: as many calls of the model as the prompt has
units, and two more. The comparison is that of the likelihood judge, unit by unit (`nodes/utterance/judge.py`).
"""

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.requests import utterance_request
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.render import render
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.randomness import keyed_generator


async def score_by_leaving_out(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Score each unit by the drop of the response's mean log-likelihood without it, in nats per token, at least 0."""
    context = runtime.context.of(state["speaker"])
    prompt = context.store.prompt(state["prompt"])
    model = context.asked_by(state["speaker"], state["turn"], step_of(state, "score"))
    step = step_of(state, "leave_one_out")
    generator = keyed_generator(context.seed, round=state["turn"], agent=state["speaker"], node=step)
    (response,) = await model.generate(utterance_request(prompt, (generator,), model.tokenizer, context.parameters))
    reply_prefix = reply_prefix_of(prompt)
    full = await model.log_likelihood(render(prompt, model.tokenizer, reply_prefix), response)
    scores = {}
    for unit in prompt.units:
        without = prompt.model_copy(update={"units": tuple(kept for kept in prompt.units if kept != unit)})
        scores[unit.id] = max(
            0.0, full - await model.log_likelihood(render(without, model.tokenizer, reply_prefix), response)
        )
    return {"scores": scores, "scored_by": f"leave_one_out by {model.id}"}
