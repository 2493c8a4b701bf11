"""Judge whether the utterance conflicts with what was removed from its prompt. Source: APP §4.1.

Two judges give a figure for which higher is worse: `rating` is the paper's, `likelihood` is for models too small to
rate (docs/readings.md says how it was measured).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from nodes.view import text_of
from prompts.assemble import begun_reply
from prompts.judge import assemble_judge_prompt
from prompts.names import listed
from prompts.remove import remove_units
from prompts.render import render
from state.contracts import Context, GenerationRequest, ReplyField
from state.errors import UsageError
from state.graph_state import UtteranceState
from state.randomness import keyed_generator
from state.records import Candidate, Prompt


@dataclass(frozen=True)
class Judgement:
    """What a judge said of one candidate.

    Attributes:
        runs: The figure of each scoring run; their mean counts.
        comment: Why, in the judge's words, if it gives any.
    """

    runs: tuple[float, ...]
    comment: str | None = None

    @property
    def inconsistency(self) -> float:
        """The mean over the scoring runs."""
        return sum(self.runs) / len(self.runs)


async def judge(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Judge the candidate at hand against the removed items (at λ = 0, as the baseline, against all items)."""
    context = runtime.context.of(state["speaker"])
    parameters = context.parameters
    prompt = context.store.prompt(state["prompt"])
    baseline = not state["removed"]
    removed = [unit.id for unit in prompt.units if unit.removable] if baseline else state["removed"]
    candidate = context.store.candidates(context.run, state["turn"])[state["attempt"]]
    if parameters.judge == "likelihood":
        judgement = await judge_by_likelihood(context, prompt, removed, candidate, state["round"])
    else:
        listeners = [name for name in state["present"] if name != state["speaker"]]
        shown = None if baseline else removed
        judgement = await judge_by_rating(context, prompt, shown, candidate, listeners, state["round"])
    context.store.save_candidate(
        context.run,
        state["turn"],
        candidate.model_copy(
            update={
                "inconsistency": judgement.inconsistency,
                "inconsistency_runs": judgement.runs,
                "comment": judgement.comment,
            }
        ),
    )
    conflicts = not baseline and is_conflict(judgement.inconsistency, parameters.inconsistency_threshold)
    return {
        "inconsistency": [*state["inconsistency"], judgement.inconsistency],
        "conflict": conflicts and state["attempt"] < parameters.max_rollbacks,
        "judged_by": f"{parameters.judge} by {context.model.id}",
    }


def is_conflict(inconsistency: float, threshold: float | None) -> bool:
    """Whether an inconsistency exceeds θ (three ratings that sum to 20 pass θ = 6.67)."""
    if threshold is None:
        raise UsageError("this model has no calibrated threshold for its judge; set inconsistency_threshold")
    return inconsistency > threshold


async def judge_by_rating(
    context: Context,
    prompt: Prompt,
    removed: Sequence[str] | None,
    candidate: Candidate,
    listeners: Sequence[str],
    round: int,
) -> Judgement:
    """Let the model comment and rate from 1 to 10, a few times. Source: APP §4.1.

    Args:
        context: Model, seed and parameters.
        prompt: The full prompt.
        removed: The removed units; `None` for all items.
        candidate: What is about to be said.
        listeners: To whom.
        round: The round, for the draws.
    """
    chosen = [unit for unit in prompt.units if unit.kind == "item" and (removed is None or unit.id in removed)]
    question = assemble_judge_prompt(prompt.speaker, listed(listeners), chosen, candidate.text)
    generators = tuple(
        keyed_generator(
            context.seed, round=round, agent=prompt.speaker, node="judge", attempt=candidate.attempt, row=row
        )
        for row in range(context.parameters.judge_runs)
    )
    fields = (ReplyField("comment", "text", max_tokens=60), ReplyField("rating", "integer", minimum=1, maximum=10))
    replies = await context.asked_by(prompt.speaker, round, "judge").generate(
        GenerationRequest(
            prompt=render(question, context.model.tokenizer),
            fields=fields,
            generators=generators,
            temperature=context.parameters.temperature,
            top_p=context.parameters.top_p,
        )
    )
    return Judgement(
        runs=tuple(float(reply.fields["rating"]) for reply in replies),
        comment=text_of(replies[0], "comment") or None,
    )


async def judge_by_likelihood(
    context: Context, prompt: Prompt, removed: Sequence[str], candidate: Candidate, round: int
) -> Judgement:
    """Compare how likely the utterance is with the removed units in view and without them.

    The figure is the mean log-probability of the utterance's tokens after the pruned prompt, minus that after the full
    prompt, in nats per token: positive where the removed facts make the utterance less likely.
    """
    model, begun = context.asked_by(prompt.speaker, round, "judge"), begun_reply(prompt)
    with_facts = await model.log_likelihood(render(prompt, model.tokenizer, begun), candidate.reply)
    pruned = remove_units(prompt, removed)
    without = await model.log_likelihood(render(pruned, model.tokenizer, begun), candidate.reply)
    return Judgement(runs=(without - with_facts,))
