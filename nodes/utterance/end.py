"""Decide whether the utterance ends the conversation. Source: APP Table 9 (the reply says so itself)."""

from langgraph.runtime import Runtime

from tertulia.nodes.shared.line_faults import is_loop, lines_before
from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.prompts.assemble import end_question
from tertulia.prompts.ending import assemble_ending
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of


async def decide_ending(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Read the ending from the reply or, with a model too small for that, ask which continuation is likelier.

    With `ending=off` no utterance ends the conversation; only limits do. A likelier continuation never ends it with its
    first line: a small model takes many openings for partings.
    """
    context = runtime.context.of(state["speaker"])
    if context.parameters.ending == "off":
        return {"ended": False}
    candidate = candidate_at(context, state["turn"], state["chosen"], state.get("part", ""))
    if context.parameters.redraws:
        lines = [
            *lines_before(context.store, context.run, context.start, state["turn"]),
            (state["speaker"], candidate.text),
        ]
        if is_loop(lines):
            return {"ended": True}
    if context.parameters.ending == "reply":
        speaker = context.store.prompt(state["prompt"]).speaker
        return {"ended": candidate.reply.fields.get(end_question(speaker, context.parameters.language)) is True}
    before = context.store.turns(context.run, max(1, state["turn"] - 1), state["turn"] - 1)
    if not before:
        return {"ended": False}
    prompt, options = assemble_ending(
        before[-1].text, candidate.text, context.model.tokenizer, context.parameters.language
    )
    model = context.asked_by(state["speaker"], state["turn"], step_of(state, "decide_ending"))
    parting, _ = await model.probabilities(prompt, options)
    threshold = context.parameters.ending_threshold
    return {"ended": threshold is not None and parting > threshold}
