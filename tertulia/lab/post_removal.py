"""Score the pruned prompts of stored turns again, to see the attention after removal (APP Fig. 5a).

Scores are drawn as in a run: responses to the prompt are generated, and the attention that they pay is averaged
(APP §3.1, Eq. 1). Scores of the full prompt are those of the run if the same model drew them by its attention in that
turn; else they are drawn, too. Both prompts of a turn are scored over the same layers.

Figures are kept in the store by turn, with the precision in which the model computed. Those that are there, all in one
precision, are taken; the model is opened for a missing one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tertulia.lab.annotations.precisions import kept_figures, named_with, precision_of
from tertulia.metrics.post_removal import PostRemoval, mean_post_removal, post_removal
from tertulia.nodes.scorers.attention import scoring_request
from tertulia.prompts.remove import remove_units
from tertulia.state.annotation import Annotation
from tertulia.state.errors import NotFoundError
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.questions import BatchingModel, ScoredGeneration
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, RunRecord, TurnRecord
from tertulia.state.scored_layers import scorer_name
from tertulia.state.store import Store
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

#: Prompts that are put to a model at once.
BATCH = 10

#: The key of the figures in an annotation.
_ANSWER = "figures"

#: A turn: its run and its number.
_Turn = tuple[str, int]


async def post_removal_of_runs(
    runs: Sequence[tuple[RunRecord, int]],
    store: SqlStore,
    name: str,
    open_model: Callable[[], LanguageModel],
    show: Callable[[str], None] = lambda _: None,
) -> dict[str, PostRemoval]:
    """Return the attention after removal in the prompts of runs, by run: the mean over its turns from a given one on.

    Fig. 5a has it by the model that spoke. The store keeps the figures, run by run.

    Args:
        runs: Each with its first turn that counts.
        name: The model's name in the store.
        open_model: Opens it; called for a missing figure.
        show: Receives a line for each run that is scored.

    Raises:
        NotFoundError: No turn of a run has a prompt.
        AttentionUnavailableError: The model does not show its attention.
        ModelError: The model failed; earlier figures are kept.
    """
    records = {run.run: run for run, _ in runs}
    prompts = {run.run: _prompts(store, run, first) for run, first in runs}
    asked = {(run, turn): prompt for run, of_run in prompts.items() for turn, prompt in of_run.items()}
    if not asked:
        return {}
    by_precision = _kept(store, name, asked)
    known = next((found for found in by_precision.values() if found.keys() == asked.keys()), None)
    if known is None:
        model = open_model()
        precision = precision_of(model)
        known = by_precision.get(precision, {})
        missing = [run for run, turns in prompts.items() if any((run, turn) not in known for turn in turns)]
        for number, run in enumerate(missing, 1):
            show(f"attention: conversation {number} of {len(missing)}")
            found = await _scored(store, records[run], prompts[run], model, named_with(name, precision))
            known |= {(run, turn): figures for turn, figures in found.items()}
    return {run: mean_post_removal(known[run, turn] for turn in turns) for run, turns in prompts.items()}


def _prompts(store: Store, run: RunRecord, first: int) -> dict[int, str]:
    """Return the content hash of the full prompt of each turn that has one, from a turn on."""
    records = (store.turn_record(run.run, turn.turn) for turn in store.turns(run.run, first))
    found = {record.turn.turn: record.prompt for record in records if record.prompt is not None}
    if not found:
        raise NotFoundError(f"no turn of run {run.run} has a prompt; look into a run in which a model speaks")
    return found


def _kept(store: SqlStore, name: str, asked: Mapping[_Turn, str]) -> dict[str, dict[_Turn, PostRemoval]]:
    """Return the figures that a store has of turns, by the precision in which the model computed."""
    found: dict[str, dict[_Turn, PostRemoval]] = {}
    for precision, run, annotation in kept_figures(store, "post_removal", name, dict.fromkeys(run for run, _ in asked)):
        turn = run, annotation.first
        if asked.get(turn) != annotation.prompt:
            continue
        try:
            figures = PostRemoval.model_validate_json(str(annotation.answers.get(_ANSWER)))
        except ValidationError:
            continue  # as if there were none: they are measured again
        found.setdefault(precision, {})[turn] = figures
    return found


@dataclass(frozen=True)
class _Scoring:
    """Scores of a prompt's units, and how many tokens were read and written for them: none if a run has them."""

    scores: Mapping[str, float]
    read: int = 0
    written: int = 0


async def _scored(
    store: SqlStore, run: RunRecord, prompts: Mapping[int, str], model: LanguageModel, name: str
) -> dict[int, PostRemoval]:
    """Return the figures of turns of a run by a model, stored as soon as they are there."""
    started = time.perf_counter()
    records = [store.turn_record(run.run, turn) for turn in prompts]
    full = [store.prompt(prompt) for prompt in prompts.values()]
    scorings = await _scorings(run, list(zip(records, full, strict=True)), model)
    seconds = (time.perf_counter() - started) / len(records)
    found: dict[int, PostRemoval] = {}
    annotations = []
    for record, prompt, (before, after) in zip(records, full, scorings, strict=True):
        turn = record.turn.turn
        found[turn] = post_removal(prompt, record.removed, before.scores, after.scores)
        annotations.append(
            Annotation(
                instrument="post_removal",
                model=name,
                first=turn,
                last=turn,
                prompt=prompts[turn],
                answers={_ANSWER: found[turn].model_dump_json()},
                prompt_tokens=before.read + after.read,
                reply_tokens=before.written + after.written,
                seconds=seconds,
            )
        )
    Annotations(store.file).save(run.run, annotations)
    return found


async def _scorings(
    run: RunRecord, turns: Sequence[tuple[TurnRecord, Prompt]], model: LanguageModel
) -> list[tuple[_Scoring, _Scoring]]:
    """Return the scorings of the full and of the pruned prompt of each turn; the same one if nothing was removed."""
    questions = [_question(run, record, prompt, model) for record, prompt in turns]
    full = [_recorded(record, model, question) for (record, _), question in zip(turns, questions, strict=True)]
    asked = [question for question, recorded in zip(questions, full, strict=True) if recorded is None]
    for (record, prompt), question in zip(turns, questions, strict=True):
        if record.removed:
            of_pruned = _question(run, record, remove_units(prompt, record.removed), model)
            asked.append(replace(of_pruned, options=question.options))
    scorings = iter(await _drawn(asked, model))
    before = [next(scorings) if recorded is None else recorded for recorded in full]
    return [
        (of_full, next(scorings) if record.removed else of_full)
        for (record, _), of_full in zip(turns, before, strict=True)
    ]


def _recorded(record: TurnRecord, model: LanguageModel, question: ScoredGeneration) -> _Scoring | None:
    is_of_model = record.scored_by == scorer_name(model, question.options)
    return _Scoring(record.scores) if is_of_model and record.scores is not None else None


async def _drawn(questions: Sequence[ScoredGeneration], model: LanguageModel) -> list[_Scoring]:
    if isinstance(model, BatchingModel):
        answers = []
        for first in range(0, len(questions), BATCH):
            answers += await model.answer_batch(questions[first : first + BATCH])
    else:
        answers = [await model.generate_scored(asked.request, asked.options) for asked in questions]
    return [
        _Scoring(answer[1], len(asked.request.prompt.input_ids), sum(len(reply.tokens) for reply in answer[0]))
        for asked, answer in zip(questions, answers, strict=True)
        if isinstance(answer, tuple)
    ]


def _question(run: RunRecord, record: TurnRecord, prompt: Prompt, model: LanguageModel) -> ScoredGeneration:
    speaker, turn = record.turn.speaker or "", record.turn.turn
    override = run.participant_models.get(speaker)
    parameters = Parameters.model_validate(override.parameters if override else run.parameters)
    generators = tuple(
        keyed_generator(run.seed, round=turn, agent=speaker, node="post_removal", row=row)
        for row in range(parameters.scoring_responses)
    )
    return scoring_request(prompt, generators, model, parameters)
