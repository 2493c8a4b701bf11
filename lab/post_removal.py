"""Score the pruned prompts of stored turns again, to see where the attention went (APP Fig. 5a).

Scores are drawn as in a run: responses to the prompt are generated, and the attention that they pay is averaged
(APP §3.1, Eq. 1). Nothing of it is stored. Scores of the full prompt are those of the run if the same model drew them
by its attention in that turn; else they are drawn, too. Both prompts of a turn are scored over the same layers.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from tertulia.metrics.post_removal import PostRemoval, mean_post_removal, post_removal
from tertulia.nodes.scorers.attention import scoring_request
from tertulia.prompts.remove import remove_units
from tertulia.state.errors import NotFoundError
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.questions import BatchingModel, ScoredGeneration
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, RunRecord, TurnRecord
from tertulia.state.scored_layers import scorer_name
from tertulia.state.store import Store

#: Prompts that are put to a model at once.
BATCH = 10


async def post_removal_of_run(store: Store, run: RunRecord, model: LanguageModel, first: int = 1) -> PostRemoval:
    """Return where attention goes in the prompts of a run, the mean over its turns (Fig. 5a: by the model that spoke).

    Turns before `first` are left out.

    Raises:
        NotFoundError: No turn has a prompt.
        AttentionUnavailableError: The model does not show its attention.
    """
    records = [store.turn_record(run.run, turn.turn) for turn in store.turns(run.run, first)]
    removals = [
        (record, store.prompt(record.prompt), record.removed) for record in records if record.prompt is not None
    ]
    if not removals:
        raise NotFoundError(f"no turn of run {run.run} has a prompt; look into a run in which a model speaks")
    return mean_post_removal(await post_removal_of_turns(run, removals, model))


async def post_removal_of_turns(
    run: RunRecord, removals: Sequence[tuple[TurnRecord, Prompt, Collection[str]]], model: LanguageModel
) -> list[PostRemoval]:
    """Return where attention goes in the prompts of turns, each with its full prompt and the ids of removed units."""
    questions = [_question(run, record, prompt, model) for record, prompt, _ in removals]
    full = [_recorded(record, model, question) for (record, _, _), question in zip(removals, questions, strict=True)]
    asked = [question for question, scores in zip(questions, full, strict=True) if scores is None]
    for (record, prompt, removed), question in zip(removals, questions, strict=True):
        if removed:
            of_pruned = _question(run, record, remove_units(prompt, removed), model)
            asked.append(replace(of_pruned, options=question.options))
    scores = iter(await _scores(asked, model))
    before = [next(scores) if recorded is None else recorded for recorded in full]
    after = [next(scores) if removed else known for (_, _, removed), known in zip(removals, before, strict=True)]
    return [
        post_removal(prompt, removed, of_full, of_pruned)
        for (_, prompt, removed), of_full, of_pruned in zip(removals, before, after, strict=True)
    ]


def _recorded(record: TurnRecord, model: LanguageModel, question: ScoredGeneration) -> dict[str, float] | None:
    return record.scores if record.scored_by == scorer_name(model, question.options.layers) else None


async def _scores(questions: Sequence[ScoredGeneration], model: LanguageModel) -> list[dict[str, float]]:
    if not isinstance(model, BatchingModel):
        return [(await model.generate_scored(asked.request, asked.options))[1] for asked in questions]
    answers = []
    for first in range(0, len(questions), BATCH):
        answers += await model.answer_batch(questions[first : first + BATCH])
    return [answer[1] for answer in answers if isinstance(answer, tuple)]


def _question(run: RunRecord, record: TurnRecord, prompt: Prompt, model: LanguageModel) -> ScoredGeneration:
    speaker, turn = record.turn.speaker or "", record.turn.turn
    override = run.participant_models.get(speaker)
    parameters = Parameters.of_record(override.parameters if override else run.parameters)
    generators = tuple(
        keyed_generator(run.seed, round=turn, agent=speaker, node="post_removal", row=row)
        for row in range(parameters.scoring_responses)
    )
    return scoring_request(prompt, generators, model, parameters)
