"""Generate the utterance from the pruned prompt. Source: APP §3.1."""

import random

from langgraph.runtime import Runtime

from prompts.assemble import begun_reply, end_question
from prompts.remove import remove_units
from prompts.render import render
from state.contracts import Context, GenerationRequest, ReplyField, Tokenizer
from state.graph_state import UtteranceState
from state.parameters import Parameters
from state.randomness import keyed_generator
from state.records import Candidate, Prompt, Reply


async def generate(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Draw the first candidate, and its backups with it where the run wants them in one batch."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    judged = parameters.judge != "off"
    revised = judged and bool(state["removed"])
    baseline = judged and parameters.removal_factor == 0 and parameters.judge_baseline
    backups = parameters.max_rollbacks if parameters.backups == "with_utterance" and revised else 0
    await draw_candidates(state, context, range(backups + 1))
    return {
        "attempt": 0,
        "inconsistency": [],
        "conflict": False,
        "judged_by": None,
        "judging_wanted": revised or baseline,
    }


async def draw_candidates(state: UtteranceState, context: Context, attempts: range) -> None:
    """Draw candidates for these attempts and store them; each attempt has a generator of its own."""
    prompt = remove_units(context.store.prompt(state["prompt"]), state["removed"])
    generators = tuple(
        keyed_generator(context.seed, round=state["round"], agent=state["speaker"], node="generate", attempt=attempt)
        for attempt in attempts
    )
    request = utterance_request(prompt, generators, context.model.tokenizer, context.parameters)
    replies = await context.asked_by(state["speaker"], state["round"], "generate").generate(request)
    for attempt, reply in zip(attempts, replies, strict=True):
        context.store.save_candidate(context.run, state["turn"], read_candidate(attempt, reply, prompt.speaker))


def utterance_request(
    prompt: Prompt, generators: tuple[random.Random, ...], tokenizer: Tokenizer, parameters: Parameters
) -> GenerationRequest:
    """Return the request for what the speaker says and whether that ends the conversation. Source: APP Table 9."""
    speaker = prompt.speaker
    fields = [ReplyField(speaker, "speech", max_tokens=parameters.max_utterance_tokens)]
    if parameters.ending == "reply":
        fields.append(ReplyField(end_question(speaker), "boolean"))
    said = [unit.text for unit in prompt.units if unit.block == "current_dialogue" and unit.kind == "item"]
    return GenerationRequest(
        prompt=render(prompt, tokenizer, begun_reply(prompt)),
        fields=tuple(fields),
        generators=generators,
        temperature=parameters.temperature,
        top_p=parameters.top_p,
        said=tuple(tuple(tokenizer.encode(line)) for line in said),
        no_repeat_ngram=parameters.no_repeat_ngram or 0,
    )


def read_candidate(attempt: int, reply: Reply, speaker: str) -> Candidate:
    """Return the candidate that a reply holds."""
    return Candidate(attempt=attempt, text=" ".join(str(reply.fields[speaker]).split()), reply=reply)
