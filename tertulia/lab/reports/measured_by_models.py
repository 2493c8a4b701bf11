"""The figures of a trial that only a language model can measure.

Fluency, the attention once units are removed, the expectation of the next line, and how people come across in a
personality inventory. All but fluency is kept in the store; that is measured anew.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.annotations.annotating import answers_to
from tertulia.lab.annotations.inventory import inventory_requests, rated_segments
from tertulia.lab.annotations.next_line import Key, LineReading, next_line_figures
from tertulia.lab.annotations.self_inventory import self_inventory_requests, self_ratings
from tertulia.lab.population import answers_covered
from tertulia.lab.reports.measured_trials import MeasuredTrial
from tertulia.metrics.fluency import utterance_likelihoods
from tertulia.metrics.personality import table_of_poles
from tertulia.state.language_model import LanguageModel
from tertulia.state.meeting import Meeting
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.population import traits_given
from tertulia.views.reading.rounds import read_characters

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


def read_attention(
    store: SqlStore, trials: Iterable[MeasuredTrial], opened: Callable[[], LanguageModel], show: Show = ignore
) -> None:
    """Let the model that spoke score pruned prompts again; trials without a scored prompt are passed over.

    Figures in the store are used again; the model is opened for missing ones.

    Raises:
        AttentionUnavailableError: The model does not show its attention.
    """
    from tertulia.lab.post_removal import post_removal_of_runs  # only scoring with a model needs the graphs

    scored = [trial for trial in trials if any(making.removal for making in trial.makings)]
    name = next((trial.run.model for trial in scored), "")
    runs = [(trial.run, trial.first_turn) for trial in scored]
    found = asyncio.run(post_removal_of_runs(runs, store, name, opened, show))
    for trial in scored:
        trial.attention = found[trial.run.run]


def read_inventories(
    store: SqlStore,
    trials: Iterable[MeasuredTrial],
    name: str,
    opened: Callable[[], LanguageModel],
    show: Show = ignore,
) -> None:
    """Let a model fill in the personality inventory about everybody in meetings; answers in the store are used again.

    The model is opened for a missing answer.

    Raises:
        ModelError: The model failed, or gave no answer.
    """

    async def read_all() -> None:
        for trial in trials:
            requests = inventory_requests(store.turns(trial.run.run, trial.first_turn))
            answers = await answers_to(requests, store, trial.run, name, opened, show)
            rated = rated_segments(trial.run, answers, read_characters(store, trial.run.run))
            poles = (pole for dimension in table_of_poles(rated) for pole in (dimension.high, dimension.low))
            trial.poles = {pole.pole: pole.mean for pole in poles}

    asyncio.run(read_all())


def read_self_inventories(
    store: SqlStore, trials: Iterable[MeasuredTrial], opened: Callable[[], LanguageModel], show: Show = ignore
) -> None:
    """Let the model that spoke answer the inventory as everybody in meetings, before and after; answers are kept.

    Raises:
        ModelError: The model failed, or gave no answer.
    """

    async def read_all() -> None:
        for trial in trials:
            if isinstance(trial.start, Meeting):
                characters = read_characters(store, trial.run.run)
                requests = self_inventory_requests(trial.start, characters, store.turns(trial.run.run))
                answers = await answers_to(requests, store, trial.run, trial.run.model, opened, show)
                trial.answered = answers_covered(traits_given(characters), self_ratings(answers))

    asyncio.run(read_all())


def read_next_lines(
    store: SqlStore,
    trials: Mapping[str, Mapping[str, Mapping[int, MeasuredTrial]]],
    baseline: str,
    metrics: Collection[str],
    opened: Callable[[], LanguageModel],
    show: Show = ignore,
) -> None:
    """Let the model that spoke read lines again: their entropy, and how far pruned prompts diverge from the baseline's.

    Divergence is measured at the opening alone, as both prompts have the same past there, and the same speaker; the
    baseline itself has none. Figures in the store are used again; the model is opened for missing ones.

    Args:
        trials: By setting, case and number.
        metrics: The wanted ones: `entropy`, of all lines or at an index (`entropy@0`: the openings), and `divergence`.

    Raises:
        ModelError: The model does not show its next-token distribution.
    """
    asked = [
        _AskedTrial.of(trial, trials.get(baseline, {}).get(case, {}).get(number), metrics)
        for case in next(iter(trials.values()), {})
        for number in next(iter(trials.values()))[case]
        for trial in (cases[case][number] for cases in trials.values())
    ]
    # The openings first, trial by trial: their prompts have the most in common, and are still in memory.
    readings = [reading for trial in asked for reading in trial.opening]
    readings += [reading for trial in asked for reading in trial.later]
    name = next((trial.trial.run.model for trial in asked), "")
    found = asyncio.run(next_line_figures(readings, store, name, opened, show))
    for each in asked:
        each.tell(found)


@dataclass(frozen=True)
class _AskedTrial:
    """A trial with the questions about its lines; `None` for a line that can't be read."""

    trial: MeasuredTrial
    entropies: Sequence[LineReading | None]
    divergence: LineReading | None

    @classmethod
    def of(cls, trial: MeasuredTrial, full: MeasuredTrial | None, metrics: Collection[str]) -> "_AskedTrial":
        """Return the questions about a trial, beside the same one of the baseline."""
        lines, whole = trial.spoken_lines, "entropy" in metrics
        entropies = [
            LineReading(line) if line is not None and (whole or f"entropy@{at}" in metrics) else None
            for at, line in enumerate(lines)
        ]
        if (
            not {"divergence", "divergence@0"} & {*metrics}
            or full is None
            or full.setting == trial.setting
            or not lines
        ):
            return cls(trial, entropies, None)
        spoken, pruned = next(iter(full.spoken_lines), None), lines[0]
        if spoken is None or pruned is None or (spoken.speaker, spoken.turn) != (pruned.speaker, pruned.turn):
            return cls(trial, entropies, None)
        return cls(trial, entropies, LineReading(spoken, pruned))

    @property
    def opening(self) -> list[LineReading]:
        """The questions at the first line."""
        return [reading for reading in (self.divergence, *self.entropies[:1]) if reading is not None]

    @property
    def later(self) -> list[LineReading]:
        """The questions about the lines behind it."""
        return [reading for reading in self.entropies[1:] if reading is not None]

    def tell(self, found: Mapping[Key, float]) -> None:
        """Give the trial its figures."""
        self.trial.entropies = [None if reading is None else found[reading.key] for reading in self.entropies]
        self.trial.divergence = None if self.divergence is None else found[self.divergence.key]
