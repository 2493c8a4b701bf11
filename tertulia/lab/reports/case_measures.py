"""The figures of trials that need an embedder: whether they are to the point, whose words they are, and of populations.

All texts have their names masked: else a name would tell case and speaker, whatever is said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from tertulia.lab.population import OF_LINES
from tertulia.lab.reports.measured_trials import KnownVectors, MeasuredTrial
from tertulia.metrics.diversity import mean
from tertulia.metrics.population import PopulationFigures, Vectors, attractor, figures_of_lines, thirds
from tertulia.metrics.to_the_point import NEAREST, ToThePoint, texts_of_case, to_the_point
from tertulia.nodes.shared.known import known_to
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.album import Population
from tertulia.state.records import Case
from tertulia.views.measuring.line_checks import checks_of
from tertulia.views.measuring.population import lines_of

#: By setting, case and number, the trials that all settings have.
Trials = Mapping[str, Mapping[str, Mapping[int, MeasuredTrial]]]

#: Takes a figure of some trials of a case, or of their utterances at an index.
Figure = Callable[[Sequence[MeasuredTrial], int | None], float | None]

#: By metric, the field of `ToThePoint`.
_POINTED = {
    "to_the_point": "to_the_point",
    "match": "margin",
    "recited_words": "recited",
    "out_of_order": "out_of_order",
    "denied": "denied",
    "partners_memories": "partners",
}


class CaseMeasures:
    """Takes these figures of an experiment's trials; each text is embedded once."""

    def __init__(self, trials: Trials, embedder: KnownVectors) -> None:
        self._trials, self._embedder = trials, embedder
        self._pointed: dict[str, ToThePoint] = {}
        self._speakers: dict[tuple[str, int | None], list[float]] = {}
        self._figures: Mapping[str, Figure] = {
            **{name: partial(self._of_case, field) for name, field in _POINTED.items()},
            "speaker_found": self._speaker_found,
        }

    def figure(self, name: str) -> Figure | None:
        """Return how a figure is taken; `None` if it is none of these."""
        if name in _POINTED and not self._pointed:
            self._find_cases()
        return self._figures.get(name)

    # --- to the point -----------------------------------------------------------------------------------------------

    def _of_case(self, field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        found = (self._pointed.get(trial.run.run) for trial in trials)
        return mean(None if pointed is None else getattr(pointed, field) for pointed in found)

    def _find_cases(self) -> None:
        """Measure how much to the point each trial is, among the cases that differ in people's knowledge."""
        texts: dict[str, tuple[str, ...]] = {}
        for case, trials in next(iter(self._trials.values()), {}).items():
            trial = next(iter(trials.values()))
            if isinstance(trial.start, Case):
                texts[case] = tuple(without_names(text, trial.start.names) for text in texts_of_case(trial.start))
        first = {of_case: case for case, of_case in reversed(texts.items())}  # the same case under several names
        known = {case: of_case for case, of_case in texts.items() if first[of_case] == case}
        for cases in self._trials.values():
            for case in texts.keys() & cases.keys():
                for trial in cases[case].values():
                    self._pointed[trial.run.run] = self._point_of(trial, first[texts[case]], known)

    def _point_of(self, trial: MeasuredTrial, case: str, known: Mapping[str, Sequence[str]]) -> ToThePoint:
        assert isinstance(trial.start, Case), "only two-party conversations have a case"
        masked = [without_names(text, trial.start.names) for _, text in trial.dialogue]
        checks = checks_of(trial.dialogue, trial.start, self._embedder) if any(masked) else [None] * len(masked)
        checks = [check if text else None for check, text in zip(checks, masked, strict=True)]
        return to_the_point({case: [masked]}, known, self._embedder, {case: [checks]})[case]

    # --- of people --------------------------------------------------------------------------------------------------

    def _speaker_found(self, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        """Return the share of utterances to which the knowledge of its speaker is the nearest."""
        return mean(right for trial in trials for right in self._right_speakers(trial, at))

    def _right_speakers(self, trial: MeasuredTrial, at: int | None) -> list[float]:
        key = trial.run.run, at
        if key not in self._speakers:
            self._speakers[key] = self._found_speakers(trial, at)
        return self._speakers[key]

    def _found_speakers(self, trial: MeasuredTrial, at: int | None) -> list[float]:
        if isinstance(trial.start, Population):
            return []
        known = {name: known_to(trial.start.participant(name)) for name in trial.start.names}
        masked = {
            name: [m for text in texts if (m := without_names(text, trial.start.names))]
            for name, texts in known.items()
        }
        people = [name for name, texts in masked.items() if texts]
        if len(people) < 2:
            return []
        vectors = [np.array(self._embedder.embed(masked[name])) for name in people]
        right = []
        for (speaker, _), text in zip(trial.lines(at), _masked(trial, at), strict=True):
            if text and speaker in people:
                line = np.array(self._embedder.embed([text]))[0]
                near = [float(np.sort(of_person @ line)[-NEAREST:].mean()) for of_person in vectors]
                right.append(float(people[int(np.argmax(near))] == speaker))
        return right


#: The metrics of vectors of whole dialogues, or of utterances.
EMBEDDED = ("sim", "sim_untruncated", "vendi", "vendi_untruncated")

#: The metrics of `CaseMeasures`.
OF_CASES = (*_POINTED, "speaker_found")


def why_not_measured(
    trials: Trials, metrics: Iterable[str], why_no_embedder: Callable[[], str | None]
) -> dict[str, str]:
    """Return which of these metrics can't be had of trials of this kind, or without an embedder, and why.

    Args:
        why_no_embedder: Returns why nothing is embedded; called for a metric that needs it.
    """
    found = {metric: _why_not(trials, metric.partition("@")[0], why_no_embedder) for metric in metrics}
    return {metric: reason for metric, reason in found.items() if reason is not None}


def _why_not(trials: Trials, name: str, why_no_embedder: Callable[[], str | None]) -> str | None:
    cases = next(iter(trials.values()), {})
    if name in (*EMBEDDED, *OF_CASES) and (why := why_no_embedder()) is not None:
        return why
    if name == "recited_lines":
        return _why_no_prompt(trials)
    if name in _POINTED:
        starts = [next(iter(found.values())).start for found in cases.values()]
        texts = {tuple(texts_of_case(start)) for start in starts if isinstance(start, Case)}
        if not texts:
            return "as only conversations of two have a case"
        return "as there is no other case to tell it from" if len(texts) < 2 else None
    return None


def _why_no_prompt(trials: Trials) -> str | None:
    each = [trial for cases in trials.values() for found in cases.values() for trial in found.values()]
    has_prompts = any(line is not None for trial in each for line in trial.prompted)
    return None if has_prompts else "as no prompt is stored"


def _masked(trial: MeasuredTrial, at: int | None) -> list[str]:
    return [without_names(text, trial.start.names) for _, text in trial.lines(at)]


#: The metrics of `PopulationMeasures`.
OF_POPULATION = ("attractor", *OF_LINES)


class PopulationMeasures:
    """Takes these figures of an experiment's trials; each is measured once."""

    def __init__(self, trials: Trials, embedder: KnownVectors) -> None:
        self._trials, self._embedder = trials, embedder
        self._figures: dict[str, tuple[PopulationFigures, tuple[Vectors, Vectors] | None]] = {}
        self._attracted: dict[str, dict[str, float]] = {}

    def figure(self, name: str) -> Figure:
        """Return how one of `OF_POPULATION` is taken."""
        return self._attractor if name == "attractor" else partial(self._of_conversation, name)

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
