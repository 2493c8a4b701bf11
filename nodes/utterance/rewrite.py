"""Rewrite an utterance by the judge's comment, or ask whether it can be rewritten. Source: APP §4.1 and Limitations."""

from dataclasses import replace

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.candidates import (
    as_asked,
    candidate_at,
    names_in_prompts,
    read_candidate,
    save_candidate,
    utterance_of,
    written_reply,
)
from tertulia.nodes.utterance.requests import not_repeated
from tertulia.prompts.assemble import end_question
from tertulia.prompts.cut import joined
from tertulia.prompts.names import listed
from tertulia.prompts.renaming import renaming_of
from tertulia.prompts.render import render
from tertulia.prompts.revise import Conflict, assemble_choice, assemble_rewriting
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import GenerationRequest, ReplyField
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Candidate, Prompt


async def choose_revision(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Ask whether the removed units suffice to know a better line: only then it is rewritten."""
    context = runtime.context.of(state["speaker"], "judge")
    parameters, speaker, turn = context.parameters, state["speaker"], state["turn"]
    part, step = state.get("part", ""), step_of(state, "choose_revision")
    candidate = candidate_at(context, turn, state["attempt"], part)
    conflict = conflict_of(state, context, context.store.prompt(state["prompt"]), candidate)
    generator = keyed_generator(context.seed, round=turn, agent=speaker, node=step, attempt=candidate.attempt)
    question = render(assemble_choice(conflict), context.model.tokenizer)
    field = ReplyField("enough", "choice", choices=("yes", "no"))
    request = GenerationRequest.of(parameters, question, [field], [generator])
    (answer,) = await context.asked_by(speaker, turn, step).generate(request)
    rewritable = answer.fields["enough"] == "yes"
    context.store.save_candidate(context.run, turn, candidate.model_copy(update={"rewritable": rewritable}), part)
    return {"rewritable": rewritable}


async def rewrite(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Let the model rewrite the candidate by the removed units and the comment; its ending stays as it was."""
    context = runtime.context.of(state["speaker"])
    parameters, speaker, turn, step = context.parameters, state["speaker"], state["turn"], step_of(state, "rewrite")
    prompt = context.store.prompt(state["prompt"])
    candidate = candidate_at(context, turn, state["attempt"], state.get("part", ""))
    attempts = (*state["set_aside"], state["attempt"])
    rewritten = sum(candidate >= parameters.drawn_max for candidate in attempts)
    attempt = parameters.drawn_max + rewritten
    tokenizer = context.model.tokenizer
    conflict = conflict_of(state, context, prompt, candidate)
    # The rewritten text may come again, the remarks on it may not.
    instructions = assemble_rewriting(replace(conflict, reply="", comment=None))
    field = ReplyField(prompt.speaker, "speech", max_tokens=parameters.utterance_tokens)
    generator = keyed_generator(context.seed, round=turn, agent=speaker, node=step, attempt=attempt)
    request = replace(
        GenerationRequest.of(parameters, render(assemble_rewriting(conflict), tokenizer), [field], [generator]),
        no_repeat_from=(*not_repeated(prompt, tokenizer), *not_repeated(instructions, tokenizer)),
        no_repeat_ngram=parameters.no_repeat_ngram or 0,
        dry=parameters.dry,
        people=names_in_prompts(context),
    )
    (reply,) = await context.asked_by(speaker, turn, step).generate(request)
    ended = candidate.reply.fields.get(end_question(prompt.speaker, parameters.language))
    line = utterance_of(reply, prompt.speaker)
    rewritten_reply = as_asked(written_reply(prompt, line, ended, context), reply, line)
    save_candidate(state, context, read_candidate(attempt, rewritten_reply, prompt.speaker, "rewritten"))
    return {"attempt": attempt, "set_aside": list(attempts)}


def conflict_of(state: UtteranceState, context: Context, prompt: Prompt, candidate: Candidate) -> Conflict:
    """Return the conflict that is to be revised, in the names that people have in the prompt."""
    renaming = renaming_of(context.start.names, context.parameters.names)
    lines = [unit for unit in prompt.units if unit.block == "current_dialogue" and unit.kind == "item"]
    return Conflict(
        speaker=prompt.speaker,
        listener=listed(
            [renaming.name_of(name) for name in state["present"] if name != state["speaker"]],
            context.parameters.language,
        ),
        layout=prompt.layout,
        language=context.parameters.language,
        wording=context.parameters.wording,
        statements=joined(
            unit
            for unit in prompt.units
            if unit.kind == "item" and (context.parameters.persona_check or unit.id in state["removed"])
        ),
        last_line=lines[-1].text if lines else None,
        reply=utterance_of(candidate.reply, prompt.speaker),
        comment=candidate.comment,
    )
