"""Batches of model calls, and how those of several runs become one.

The runs of a cohort are driven side by side. A batch runs when every run of the cohort waits, and takes those that are
furthest behind: of the earliest round, and in it of the earliest step. So runs whose utterances were rolled back catch
up, and the others meet them again. The calls of a batch follow from earlier answers, and from nothing
else: a cohort that is resumed makes the same batches.

This module knows no torch and no graph.
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tertulia.models.journal import Journal, with_answer
from tertulia.state.cognition import Call
from tertulia.state.language_model import LanguageModel
from tertulia.state.model_failures import model_failures
from tertulia.state.questions import (
    Answer,
    BatchingModel,
    Generation,
    Likelihood,
    NextOption,
    NextTokenModel,
    Question,
    ScoredGeneration,
    TokenReading,
)
from tertulia.state.store import Store

#: The kinds of questions in the order in which the steps of an utterance ask them.
_ORDER: tuple[type[Question], ...] = (ScoredGeneration, Generation, Likelihood, TokenReading, NextOption)


@dataclass(frozen=True)
class WaitingCall:
    """A question that waits for its batch, with the call as it is stored, and the answered call as the result."""

    model: LanguageModel
    question: Question
    call: Call
    journal: Journal
    result: asyncio.Future[Call]

    @property
    def place(self) -> tuple[int, int]:
        """How far its run is: the round, and the step in it."""
        return self.call.round, _ORDER.index(type(self.question))

    def fail(self, error: BaseException) -> None:
        """Raise the failure in the code that awaits the result."""
        if not self.result.done():
            self.result.set_exception(error)


class CohortBatches:
    """The calls of the runs of a cohort, each of which waits for all the others; used in one thread."""

    def __init__(self, runs: Collection[str], store: Store) -> None:
        """Take the runs that make calls, before any does."""
        self._live, self._store = dict.fromkeys(runs), store
        self._waiting: dict[str, list[WaitingCall]] = {}
        self._batches: set[asyncio.Task[None]] = set()

    def hand_in(self, run: str, calls: Sequence[WaitingCall]) -> None:
        """Take the calls for which a run waits; their results are set when their batch has been stored."""
        self._waiting.setdefault(run, []).extend(calls)
        self._run_if_all_wait()

    def leave(self, run: str) -> None:
        """Note that a run makes no more calls."""
        self._live.pop(run, None)
        self._waiting.pop(run, None)
        self._run_if_all_wait()

    def _run_if_all_wait(self) -> None:
        if not self._live or any(run not in self._waiting for run in self._live):
            return
        places = {run: min(call.place for call in self._waiting[run]) for run in self._live}
        behind = min(places.values())
        batch = [call for run in self._live if places[run] == behind for call in self._waiting.pop(run)]
        task = asyncio.get_running_loop().create_task(answer_together(batch, self._store, apart_if_it_fails=True))
        self._batches.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._batches.discard)


async def answer_at_once(waiting: WaitingCall) -> Call:
    """Return a call with its answer, made by itself and stored."""
    async with waiting.journal.meter.admitted(1):
        call = await _answered(waiting)
        waiting.journal.save([call])
    return call


async def _answered(waiting: WaitingCall) -> Call:
    started = time.perf_counter()
    with model_failures(waiting.model):
        answer = await ask(waiting.model, waiting.question)
    return with_answer(waiting.call, waiting.question, answer, time.perf_counter() - started)


async def answer_together(batch: Sequence[WaitingCall], store: Store, apart_if_it_fails: bool = False) -> None:
    """Answer calls as one batch for each model, store all in one transaction, and then hand each its result.

    If the batch fails, all of them fail with it; with `apart_if_it_fails` they are made one by one instead.
    """
    async with batch[0].journal.meter.admitted(len(batch)):  # runs that are driven together have one meter
        try:
            completed = await _answers(batch)
        except Exception as error:
            if not apart_if_it_fails:
                _fail(batch, error)
                return
            completed = [await _answer_or_failure(waiting) for waiting in batch]
        except BaseException as error:
            _fail(batch, error)
            raise
        _store_and_hand_out(batch, completed, store)


async def _answers(batch: Sequence[WaitingCall]) -> list[Call | Exception]:
    completed: dict[int, Call | Exception] = {}
    for model in {id(waiting.model): waiting.model for waiting in batch}.values():
        indices = [index for index, waiting in enumerate(batch) if waiting.model is model]
        started = time.perf_counter()
        with model_failures(model):
            answers = await ask_together(model, [batch[index].question for index in indices])
        share = (time.perf_counter() - started) / len(indices)
        for index, answer in zip(indices, answers, strict=True):
            completed[index] = with_answer(batch[index].call, batch[index].question, answer, share)
    return [completed[index] for index in range(len(batch))]


async def _answer_or_failure(waiting: WaitingCall) -> Call | Exception:
    try:
        return await _answered(waiting)
    except Exception as error:
        return error


def _fail(batch: Sequence[WaitingCall], error: BaseException) -> None:
    for waiting in batch:
        waiting.fail(error)


def _store_and_hand_out(batch: Sequence[WaitingCall], completed: Iterable[Call | Exception], store: Store) -> None:
    results = list(zip(batch, completed, strict=True))
    try:
        with store.transaction():
            for journal in {id(waiting.journal): waiting.journal for waiting in batch}.values():
                calls = [call for w, call in results if w.journal is journal and isinstance(call, Call)]
                journal.save(calls)
    except BaseException as error:
        _fail(batch, error)
        if not isinstance(error, Exception):
            raise
        return
    for waiting, result in results:
        if isinstance(result, Exception):
            waiting.fail(result)
        elif not waiting.result.done():
            waiting.result.set_result(result)


async def ask_together(model: LanguageModel, questions: Sequence[Question]) -> list[Answer]:
    """Return the answers of a model to several questions, as one batch if it can."""
    requests = [question.request for question in questions if isinstance(question, Generation)]
    if len(requests) == len(questions):
        return list(await model.generate_batch(requests))
    if isinstance(model, BatchingModel):
        return await model.answer_batch(questions)
    return [await ask(model, question) for question in questions]


async def ask(model: LanguageModel, question: Question) -> Answer:
    """Return the answer of a model to a question."""
    match question:
        case Generation(request):
            return await model.generate(request)
        case ScoredGeneration(request, options):
            return await model.generate_scored(request, options)
        case Likelihood(prompt, reply):
            return await model.log_likelihood(prompt, reply)
        case NextOption(prompt, options):
            return await model.probabilities(prompt, options)
        case TokenReading(prompt, response, other, sampling):
            assert isinstance(model, NextTokenModel)
            (figures,) = await model.token_figures(prompt, [response], other, sampling=sampling)
            return figures
