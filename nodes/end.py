"""Decide whether the utterance ends the conversation. Source: APP Table 9 (the reply says so itself)."""

from langgraph.runtime import Runtime

from nodes.generate import candidate_at
from prompts.assemble import end_question
from prompts.ending import assemble_ending
from state.context import Context
from state.graph_state import UtteranceState


async def decide_ending(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Take the reply's own word for it, or, with a model too small to know, ask what is likelier to come next.

    With `ending=off` no utterance ends the conversation: limits do.
    """
    context = runtime.context.of(state["speaker"])
    if context.parameters.ending == "off":
        return {"ended": False}
    said = candidate_at(context, state["turn"], state["chosen"])
    if context.parameters.ending == "reply":
        called = context.store.prompt(state["prompt"]).speaker
        return {"ended": said.reply.fields.get(end_question(called)) is True}
    before = context.store.turns(context.run, max(1, state["turn"] - 1), state["turn"] - 1)
    prompt, options = assemble_ending(before[-1].text if before else None, said.text, context.model.tokenizer)
    model = context.asked_by(state["speaker"], state["round"], "decide_ending")
    parts, _ = await model.probabilities(prompt, options)
    threshold = context.parameters.ending_threshold
    return {"ended": threshold is not None and parts > threshold}
