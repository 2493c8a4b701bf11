"""What of a trial only a language model can measure.

Fluency, where attention goes once units are removed, and how people come across in a personality inventory. The answers
of the last are kept in the store; the others are measured anew.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from tertulia.lab.annotations.annotating import answers_to
from tertulia.lab.annotations.inventory import inventory_requests, rated_segments
from tertulia.lab.post_removal import post_removal_of_run
from tertulia.lab.reports.measured_trials import MeasuredTrial
from tertulia.metrics.fluency import utterance_likelihoods
from tertulia.metrics.personality import table_of_poles
from tertulia.reading.rounds import read_characters
from tertulia.state.language_model import LanguageModel
from tertulia.state.store import Store
from tertulia.storage.store import SqlStore

#: Shows how far a measurement is.
Show = Callable[[str], None]


def ignore(text: str) -> None:
    """Show nothing."""


def read_fluency(trials: Iterable[MeasuredTrial], model: LanguageModel, show: Show = ignore) -> None:
    """Let a model read the dialogues of trials; equal ones are read once.

    Raises:
        ModelError: The model does not show likelihoods.
    """

    async def read_all(trials: Sequence[MeasuredTrial]) -> None:
        known: dict[tuple[tuple[str, str], ...], list[float | None]] = {}
        for number, trial in enumerate(trials, 1):
            show(f"fluency: dialogue {number} of {len(trials)}")
            key = tuple((speaker, text) for speaker, text in trial.dialogue)
            if key not in known:
                known[key] = await utterance_likelihoods(key, model)
            trial.likelihoods = known[key]

    asyncio.run(read_all([*trials]))


def read_attention(store: Store, trials: Iterable[MeasuredTrial], model: LanguageModel, show: Show = ignore) -> None:
    """Score the pruned prompts of trials again; trials without a scored prompt are passed over.

    Raises:
        AttentionUnavailableError: The model does not show its attention.
    """

    async def score_all(trials: Sequence[MeasuredTrial]) -> None:
        for number, trial in enumerate(trials, 1):
            show(f"attention: conversation {number} of {len(trials)}")
            trial.attention = await post_removal_of_run(store, trial.run, model)

    asyncio.run(score_all([trial for trial in trials if any(making.removal for making in trial.makings)]))


def read_inventories(
    store: SqlStore,
    trials: Iterable[MeasuredTrial],
    name: str,
    opened: Callable[[], LanguageModel],
    show: Show = ignore,
) -> None:
    """Let a model fill in the personality inventory about everybody in meetings; answers in the store are used again.

    The model is opened where an answer is missing.

    Raises:
        ModelError: The model failed, or gave no answer.
    """

    async def read_all() -> None:
        for trial in trials:
            requests = inventory_requests(store.turns(trial.run.run))
            answers = await answers_to(requests, store, trial.run, name, opened, show)
            rated = rated_segments(trial.run, answers, read_characters(store, trial.run.run))
            poles = (pole for dimension in table_of_poles(rated) for pole in (dimension.high, dimension.low))
            trial.poles = {pole.pole: pole.mean for pole in poles}

    asyncio.run(read_all())
