"""CPU time of what trials ask a model, one after another and as batches: `python -m benchmarks.side_by_side`.

Trials of a case are driven one after another, and what each asks the model is recorded. The same questions, with the
same generators, are then asked again in both ways: trial by trial, and, turn by turn, those of all trials that stand at
the same place of a turn as one batch. Rounding differs between the two, and with it what is drawn, so the tokens that
were written are given too. CPU times of the process with one thread; each way begins with nothing in memory.

    python -m benchmarks.side_by_side [SCENARIO] [TRIALS] [TURNS] [LAMBDA …]
"""

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from langgraph.checkpoint.memory import InMemorySaver

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.runs.access.engines import Engines
from tertulia.runs.driving.conversation import drive
from tertulia.runs.planning.starting import begin_with, plan_run
from tertulia.state.language_model import Embedder
from tertulia.state.questions import Answer, Generation, Likelihood, NextOption, Question, ScoredGeneration
from tertulia.state.records import Reply
from tertulia.storage.store import SqlStore


@dataclass(frozen=True)
class Asked:
    """A question as it was asked: in which turn, and the states of its generators."""

    turn: int
    question: Question
    states: tuple[Any, ...]

    def again(self) -> Question:
        """Return the question with generators as they were."""
        question = self.question
        if not isinstance(question, Generation | ScoredGeneration):
            return question
        generators = []
        for state in self.states:
            generators.append(random.Random())
            generators[-1].setstate(state)
        return replace(question, request=replace(question.request, generators=tuple(generators)))


@dataclass(frozen=True)
class Spent:
    """CPU seconds, and the tokens that were written in them."""

    seconds: float = 0.0
    tokens: int = 0


class Recorder:
    """A model that records what it is asked, with the turn that it is asked in."""

    def __init__(self, model: CausalLanguageModel) -> None:
        self._model = model
        self.asked: list[Asked] = []
        self.turn = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def generate(self, request: Any) -> Any:
        """Record and answer."""
        return (await self._note(Generation(request)))[0]

    async def generate_scored(self, request: Any, options: Any) -> Any:
        """Record and answer."""
        return (await self._note(ScoredGeneration(request, options)))[0]

    async def log_likelihood(self, prompt: Any, reply: Any) -> Any:
        """Record and answer."""
        return (await self._note(Likelihood(prompt, reply)))[0]

    async def probabilities(self, prompt: Any, options: Any) -> Any:
        """Record and answer."""
        return (await self._note(NextOption(prompt, tuple(options))))[0]

    async def _note(self, question: Question) -> list[Answer]:
        drawing = question.request.generators if isinstance(question, Generation | ScoredGeneration) else ()
        states = tuple(generator.getstate() for generator in drawing)
        self.asked.append(Asked(self.turn, question, states))
        return await self._model.answer_batch([question])


def main(scenario: str, trials: int, turns: int, removal_factors: Sequence[float]) -> None:
    """Print the figures."""
    torch.set_num_threads(1)
    model, embedder = open_model("smollm2", cache=cache_folder()), open_embedder("minilm")
    assert isinstance(model, CausalLanguageModel)
    print(f"{scenario}, {trials} trials of {turns} turns, {str(model.model.dtype).removeprefix('torch.')}, one thread")
    for removal_factor in removal_factors:
        recorded = [record(model, embedder, scenario, removal_factor, turns, 10 + trial) for trial in range(trials)]
        single, batched = measure(model, recorded, turns)
        utterances = sum(len({asked.turn for asked in trial}) for trial in recorded)
        print(f"λ = {removal_factor:g}: {utterances} utterances; CPU seconds, and tokens written")
        for kind, alone in single.items():
            beside = batched[kind]
            print(
                f"  {kind:17} one by one {alone.seconds:6.1f} ({alone.tokens:5})   batches {beside.seconds:6.1f} "
                f"({beside.tokens:5})   ratio {alone.seconds / beside.seconds:.2f}"
            )
        totals = [sum(spent.seconds for spent in way.values()) for way in (single, batched)]
        print(f"  all               one by one {totals[0]:6.1f}           batches {totals[1]:6.1f}", end="")
        print(f"           ratio {totals[0] / totals[1]:.2f}")


def record(
    model: CausalLanguageModel, embedder: Embedder, scenario: str, removal_factor: float, turns: int, seed: int
) -> list[Asked]:
    """Return what a trial asks the model."""
    recorder = Recorder(model)

    def note(event: object) -> None:
        recorder.turn += type(event).__name__ == "TurnFinished"

    with SqlStore.open(":memory:", create=True) as store:
        settings = {"removal_factor": removal_factor, "max_turns": turns, "ending": "continuation"}
        plan = plan_run(scenario, settings, seed=seed)
        plan = replace(plan, parameters=model.traits.resolve(plan.parameters))
        context = begin_with(store, plan, Engines(recorder, {}, embedder))
        asyncio.run(drive(context, InMemorySaver(), note))
    return recorder.asked


def measure(
    model: CausalLanguageModel, trials: Sequence[Sequence[Asked]], turns: int
) -> tuple[dict[str, Spent], dict[str, Spent]]:
    """Return what each kind of question costs, one by one and as batches."""
    one_by_one = [[asked] for trial in trials for asked in trial]
    batches = []
    for turn in range(turns):
        by_trial = [[asked for asked in trial if asked.turn == turn] for trial in trials]
        for place in range(max(map(len, by_trial))):
            at_place = [of_trial[place] for of_trial in by_trial if len(of_trial) > place]
            for kind in dict.fromkeys(type(asked.question) for asked in at_place):
                batches.append([asked for asked in at_place if type(asked.question) is kind])
    return _spent(model, one_by_one), _spent(model, batches)


def _spent(model: CausalLanguageModel, batches: Sequence[Sequence[Asked]]) -> dict[str, Spent]:
    spent: dict[str, Spent] = {}
    model.clear_cache()
    for batch in batches:
        questions = [asked.again() for asked in batch]
        started = time.process_time()
        answers = asyncio.run(model.answer_batch(questions))
        passed = time.process_time() - started
        before = spent.get(type(questions[0]).__name__, Spent())
        written = sum(_tokens(answer) for answer in answers)
        spent[type(questions[0]).__name__] = Spent(before.seconds + passed, before.tokens + written)
    return spent


def _tokens(answer: Answer) -> int:
    """Return the tokens that an answer's replies were written in."""
    replies = answer[0] if isinstance(answer, tuple) else answer
    return sum(len(reply.tokens) for reply in replies if isinstance(reply, Reply)) if isinstance(replies, list) else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "tidewell:0",
        int(given[1]) if given[1:] else 10,
        int(given[2]) if given[2:] else 3,
        [float(value) for value in given[3:]] or [0.0, 0.5],
    )
