"""The figures of a population as a report's metrics: each of a trial, their mean over the trials of a case."""

from collections.abc import Sequence
from functools import partial

from tertulia.lab.population import OF_LINES
from tertulia.lab.reports.case_measures import Figure, Trials
from tertulia.lab.reports.measured_trials import KnownVectors, MeasuredTrial
from tertulia.metrics.diversity import mean
from tertulia.metrics.population import PopulationFigures, Vectors, attractor, figures_of_lines, thirds
from tertulia.views.measuring.population import lines_of


class PopulationMeasures:
    """Takes these figures of an experiment's trials; each is measured once."""

    def __init__(self, trials: Trials, embedder: KnownVectors) -> None:
        self._trials, self._embedder = trials, embedder
        self._figures: dict[str, tuple[PopulationFigures, tuple[Vectors, Vectors] | None]] = {}
        self._attracted: dict[str, dict[str, float]] = {}

    def figure(self, name: str) -> Figure | None:
        """Return how a figure is taken; `None` if it is none of these."""
        if name == "attractor":
            return self._attractor
        return partial(self._of_conversation, name) if name in OF_LINES else None

    def _of_conversation(self, name: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        return None if at is not None else mean(getattr(self._measured(trial)[0], name) for trial in trials)

    def _measured(self, trial: MeasuredTrial) -> tuple[PopulationFigures, tuple[Vectors, Vectors] | None]:
        if trial.run.run not in self._figures:
            lines, recited = lines_of(trial.conversation, self._embedder)
            figures = figures_of_lines(lines, recited, trial.run.seed)
            self._figures[trial.run.run] = figures, None if figures.reason else thirds(lines)
        return self._figures[trial.run.run]

    def _attractor(self, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        if at is not None or not trials:
            return None
        of_setting = self._attracted_in(trials[0].setting)
        return mean(of_setting.get(trial.run.run) for trial in trials)

    def _attracted_in(self, setting: str) -> dict[str, float]:
        if setting not in self._attracted:
            each = [trial for of_case in self._trials[setting].values() for trial in of_case.values()]
            ends = {trial.run.run: end for trial in each if (end := self._measured(trial)[1]) is not None}
            cases = [trial.run.scenario for trial in each if trial.run.run in ends]
            early, late = ([end[part] for end in ends.values()] for part in (0, 1))
            values = attractor(early, late, cases) if len(ends) > 1 else []
            self._attracted[setting] = dict(zip(ends, values, strict=False))
        return self._attracted[setting]
