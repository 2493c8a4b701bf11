"""Generate the utterance from the pruned prompt. Source: APP §3.1; several in one reply: §5."""

from dataclasses import replace

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.candidates import (
    as_asked,
    names_in_prompts,
    read_candidate,
    save_candidate,
    written_reply,
)
from tertulia.nodes.utterance.drafts import answered, draw_candidates
from tertulia.nodes.utterance.requests import sequence_request
from tertulia.prompts.placeholders import form_of
from tertulia.prompts.several import candidate_keys, drawing_order, keys_beside, read_replies
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.randomness import keyed_generator


async def generate(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Draw the first candidate, and its backups with it if the run wants them in one batch, or in one reply."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    if parameters.written_together > 1:
        await draw_together(state, context)
    else:
        may_roll_back = parameters.revision_is_wanted(bool(state["removed"])) and parameters.revision != "rewrite"
        backups = parameters.max_rollbacks if parameters.backups == "with_utterance" and may_roll_back else 0
        await draw_candidates(state, context, range(backups + 1))
    return {}


async def draw_together(state: UtteranceState, context: Context) -> None:
    """Draw several candidates in one reply and store them in the order in which they are drawn: first, then backups.

    Those of a sequence (APP §5) have equal chances; those of verbalised sampling (Zhang et al. 2025) the stated ones.
    Equal ones are one candidate, whatever their case and punctuation, and one that repeats the form is none. Each is
    stored as the reply that it would be by itself; so it is judged, and says whether it ends the conversation. If
    nothing can be read, one is drawn plainly.
    """
    parameters, number, way = context.parameters, context.parameters.written_together, context.parameters.generation
    prompt, full = answered(state, context), context.store.prompt(state["prompt"])
    speaker, turn, step = state["speaker"], state["turn"], step_of(state, "generate")
    generator = keyed_generator(context.seed, round=turn, agent=speaker, node=step)
    request = sequence_request(prompt, (generator,), context.model.tokenizer, parameters, full)
    request = replace(request, people=names_in_prompts(context))
    (reply,) = await context.asked_by(speaker, turn, step).generate(request)
    keys = candidate_keys(number, parameters.language, parameters.wording, way)
    beside = keys_beside(number, parameters.language, parameters.wording, way)
    replies = read_replies(reply.fields, keys, beside, prompt.speaker, form_of(request.prompt.source))
    if not replies:
        await draw_candidates(state, context, range(1), "no reply could be read: drawn plainly, in a call of its own")
        return
    drawing = keyed_generator(context.seed, round=turn, agent=speaker, node=step_of(state, "draw_candidate"))
    order, remarks = drawing.sample(range(len(replies)), len(replies)), [""]
    if way == "verbalized":
        stated = [written.probability for written in replies]
        order, remark = drawing_order(stated, parameters.verbalized_below, drawing)
        remarks = [
            f"{number} replies were asked for, {len(replies)} can be told apart" if len(replies) < number else "",
            remark or "",
        ]
    for attempt, index in enumerate(order):
        written = replies[index]
        whole = as_asked(written_reply(prompt, written.text, written.ended, context), reply, written.text)
        candidate = read_candidate(
            *(attempt, whole, prompt.speaker, "backup" if attempt else "drawn"),
            probability=written.probability,
            remark=("; ".join(filter(None, remarks)) or None) if attempt == 0 else None,
        )
        save_candidate(state, context, candidate)
