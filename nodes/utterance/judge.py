"""Judge whether the utterance conflicts with the removed units of its prompt. Source: APP §4.1.

There are two judges; a higher figure is worse. `rating` is the paper's, `likelihood` is for models too small to rate
(docs/readings.md says how it was measured). By how much a reply is likelier without the removed facts is above 0 by
nature, as it was drawn without them: its expectation is a Kullback–Leibler divergence. If the model shows its
vocabulary's probabilities, that is taken off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from langgraph.runtime import Runtime

from tertulia.nodes.shared.asking import text_of
from tertulia.nodes.utterance.candidates import candidate_at, utterance_of
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.cut import joined
from tertulia.prompts.judge import RATING_KEYS, assemble_judge_prompt
from tertulia.prompts.names import listed
from tertulia.prompts.person import is_example
from tertulia.prompts.placeholders import form_of, is_placeholder
from tertulia.prompts.remove import remove_units
from tertulia.prompts.renaming import renaming_of
from tertulia.prompts.render import render, retokenized
from tertulia.state.context import Context
from tertulia.state.errors import UsageError
from tertulia.state.graph_state import UtteranceState, step_of
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField
from tertulia.state.questions import NextTokenModel, Sampling
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Candidate, Prompt, Reply


@dataclass(frozen=True)
class Judgement:
    """The judgement of a candidate.

    Attributes:
        runs: The figure of each scoring run.
        comment: The judge's comment, if any.
        way: How it was judged: `rating`, `likelihood`, or `centred likelihood`.
    """

    runs: tuple[float, ...]
    comment: str | None = None
    way: str = "likelihood"

    @property
    def inconsistency(self) -> float:
        """The mean over the scoring runs."""
        return sum(self.runs) / len(self.runs)


async def judge(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Judge the candidate at hand against the removed items; as the baseline, or with `persona_check`, against all."""
    context = runtime.context.of(state["speaker"], "judge")
    parameters = context.parameters
    prompt = context.store.prompt(state["prompt"])
    against_all = parameters.persona_check or not state["removed"]
    removed = [unit.id for unit in prompt.units if unit.removable] if against_all else state["removed"]
    candidate = candidate_at(context, state["turn"], state["attempt"], state.get("part", ""))
    if parameters.judge == "likelihood":
        judgement = await judge_by_likelihood(state, context, prompt, removed, candidate)
    else:
        judgement = await judge_by_rating(state, context, prompt, None if against_all else removed, candidate)
    figures = {
        "inconsistency": judgement.inconsistency,
        "inconsistency_runs": judgement.runs,
        "comment": judgement.comment,
    }
    judged = candidate.model_copy(update=figures)
    context.store.save_candidate(context.run, state["turn"], judged, state.get("part", ""))
    is_baseline = not (state["removed"] or parameters.persona_check)
    conflicts = not is_baseline and is_conflict(judgement.inconsistency, parameters.inconsistency_threshold)
    may_revise = len(state["inconsistency"]) < parameters.revisions_max and has_revision(state, context)
    return {
        "inconsistency": [*state["inconsistency"], judgement.inconsistency],
        "conflict": conflicts and may_revise,
        "judged_by": f"{judgement.way} by {context.model.id}",
    }


def has_revision(state: UtteranceState, context: Context) -> bool:
    """Whether there is something to fall back on: a reply with several may hold fewer candidates than it should."""
    parameters = context.parameters
    if parameters.written_together == 1 or parameters.revision == "rewrite":
        return True
    drawn = sum(
        candidate.attempt < parameters.drawn_max
        for candidate in context.store.candidates(context.run, state["turn"], state.get("part", ""))
    )
    taken = sum(attempt < parameters.drawn_max for attempt in (*state.get("set_aside", ()), state["attempt"]))
    return bool(taken < drawn)


def is_conflict(inconsistency: float, threshold: float | None) -> bool:
    """Whether an inconsistency exceeds θ (three ratings that sum to 20 pass θ = 6.67)."""
    if threshold is None:
        raise UsageError("this model has no calibrated threshold for its judge; set inconsistency_threshold")
    return inconsistency > threshold


async def judge_by_rating(
    state: UtteranceState, context: Context, prompt: Prompt, removed: Sequence[str] | None, candidate: Candidate
) -> Judgement:
    """Let the model comment and rate from 1 to 10, a few times. Source: APP §4.1.

    Args:
        removed: The removed units; `None` for all items.
        candidate: The candidate; it is read in the names that people have in the prompt.
    """
    speaker, turn, step = state["speaker"], state["turn"], step_of(state, "judge")
    renaming = renaming_of(context.start.names, context.parameters.names)
    language, wording = context.parameters.language, context.parameters.wording
    listeners = listed([renaming.name_of(name) for name in state["present"] if name != speaker], language)
    chosen = [
        unit
        for unit in prompt.units
        if unit.kind == "item" and (removed is None or unit.id in removed) and not is_example(unit.id)
    ]
    utterance = utterance_of(candidate.reply, prompt.speaker)
    question = assemble_judge_prompt(prompt.speaker, listeners, joined(chosen), utterance, language, wording)
    generators = tuple(
        keyed_generator(context.seed, round=turn, agent=speaker, node=step, attempt=candidate.attempt, row=row)
        for row in range(context.parameters.judge_runs)
    )
    key = RATING_KEYS[wording]
    fields = (ReplyField("comment", "text", max_tokens=60), ReplyField(key, "integer", minimum=1, maximum=10))
    replies = await context.asked_by(speaker, turn, step).generate(
        GenerationRequest.of(context.parameters, render(question, context.model.tokenizer), fields, generators)
    )
    # Without a rewriter, it is the first run's.
    considered = replies if context.parameters.revision in ("rewrite", "combined") else replies[:1]
    threshold, placeholder = context.parameters.inconsistency_threshold, form_of(question)["comment"]
    return Judgement(
        runs=tuple(float(reply.fields[key]) for reply in replies),
        comment=telling_comment(considered, threshold, placeholder, key),
        way="rating",
    )


def telling_comment(
    replies: Sequence[Reply], threshold: float | None, placeholder: str, key: str = RATING_KEYS["own"]
) -> str | None:
    """Return the comment of the run that found the worst conflict, the first of several; `None` if none says anything.

    If some runs found a conflict, the comments of the others are passed over: they would tell the rewriter that nothing
    is wrong with the utterance.

    Args:
        replies: One per scoring run, with comment and rating.
        threshold: θ; a rating above it is a conflict.
        placeholder: The text that the judge was shown in the place of a comment.
        key: The key of the rating.
    """
    worst_first = sorted(replies, key=lambda reply: -int(reply.fields[key]))
    conflicts = [reply for reply in worst_first if threshold is not None and int(reply.fields[key]) > threshold]
    comments = (text_of(reply, "comment") for reply in conflicts or worst_first)
    return next((comment for comment in comments if comment and not is_placeholder(comment, placeholder)), None)


async def judge_by_likelihood(
    state: UtteranceState, context: Context, prompt: Prompt, removed: Sequence[str], candidate: Candidate
) -> Judgement:
    """Compare the likelihood of the utterance with the removed units and without them, in nats per token.

    The figure is the mean log-probability of the utterance's tokens after the pruned prompt, minus that after the full
    prompt: positive if the removed facts make the utterance less likely. Centred, it is how much more they do so than
    for other replies to the same prompt (`centred_contrast`).
    """
    model = context.asked_by(state["speaker"], state["turn"], step_of(state, "judge"))
    reply_prefix, reply = reply_prefix_of(prompt), candidate.reply
    if "judge" in context.roles:  # another model may have written it
        reply = retokenized(model.tokenizer, reply, reply_prefix)
    answered = remove_units(prompt, state.get("removed", removed))
    prompts = (prompt, remove_units(prompt, removed), answered)
    full, pruned, shown = (render(each, model.tokenizer, reply_prefix) for each in prompts)
    if isinstance(context.model, NextTokenModel):
        assert isinstance(model, NextTokenModel)
        spoken = context.of(state["speaker"], "speak").parameters
        sampling = Sampling(spoken.sampling_temperature, spoken.top_p, spoken.min_p)
        figure = await centred_contrast(model, full, pruned, shown, reply, sampling)
        return Judgement(runs=(figure,), way="centred likelihood")
    likelihood = await model.log_likelihood(full, reply)
    return Judgement(runs=(await model.log_likelihood(pruned, reply) - likelihood,))


async def centred_contrast(
    model: NextTokenModel,
    full: RenderedPrompt,
    pruned: RenderedPrompt,
    answered: RenderedPrompt,
    reply: Reply,
    sampling: Sampling,
) -> float:
    """Return how much likelier a reply is after the pruned prompt than the full one, less the expected difference.

    For every token the expectation is over the tokens that could have been drawn in its place, after the same words:
    so the figure is 0 on average over replies that are drawn from `answered` like that, whatever was removed.

    Args:
        answered: The prompt that was answered: the pruned one, the full one (as the baseline), or a third.
        sampling: How replies are drawn. Bans, DRY, the reply's grammar, and the choice of the best draft are left out.

    Returns:
        A mean over the tokens of the reply's first text, in nats.
    """
    first, past_last = reply.text_tokens
    figure = 0.0
    # By the chain log p/q = log r/q − log r/p with r = `answered`; if that is p or q, its term is 0.
    for other, sign in ((full, 1), (pruned, -1)):
        if other.input_ids != answered.input_ids:
            (found,) = await model.token_figures(answered, [reply.tokens[:past_last]], other, sampling=sampling)
            of_tokens = zip(found.log_likelihoods, found.other_log_likelihoods, found.expected, strict=True)
            figure += sign * fmean([mine - others - expected for mine, others, expected in of_tokens][first:])
    return figure
