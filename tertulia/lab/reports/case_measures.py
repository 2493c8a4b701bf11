"""The figures of trials that need their cases: whether they are to the point, whose words they are, and reused words.

All texts have their names masked: else a name would tell case and speaker, whatever is said.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tertulia.lab.reports.measured_trials import KnownVectors, MeasuredTrial
from tertulia.metrics.diversity import directions_of, mean
from tertulia.metrics.to_the_point import NEAREST, ToThePoint, texts_of_case, to_the_point
from tertulia.nodes.shared.known import known_to
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.album import Population
from tertulia.state.records import Case
from tertulia.views.measuring.line_checks import checks_of

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
#: How near the nearest of its speaker's memories is to an utterance that uses it (a cosine).
_USED = 0.5


class CaseMeasures:
    """Takes these figures of an experiment's trials; each text is embedded once."""

    def __init__(self, trials: Trials, embedder: KnownVectors) -> None:
        self._trials, self._embedder = trials, embedder
        self._pointed: dict[str, ToThePoint] = {}
        self._speakers: dict[tuple[str, int | None], list[float]] = {}
        self._uses: dict[tuple[str, int | None], list[tuple[str, int]]] = {}
        self._figures: Mapping[str, Figure] = {
            **{name: partial(self._of_case, field) for name, field in _POINTED.items()},
            "sim_gap": self._gap,
            "speaker_found": self._speaker_found,
            "memory_reuse": self._reuse,
            "memory_evenness": self._evenness,
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

    # --- of cases and people ----------------------------------------------------------------------------------------

    def _gap(self, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        """Return the mean cosine of a case's trials minus that to the trials of the other cases."""
        if len(trials) < 2:
            return None
        cases = self._trials[trials[0].setting]
        chosen = {trial.run.run for trial in trials}
        others = [
            trial
            for of_case in cases.values()
            if chosen.isdisjoint(trial.run.run for trial in of_case.values())
            for trial in of_case.values()
        ]
        here, there = self._directions(trials, at), self._directions(others, at)
        if len(here) < 2 or not len(there):
            return None
        number = len(here)
        within = (np.square(here.sum(axis=0)).sum() - number) / (number * (number - 1))
        return float(within - here.mean(axis=0) @ there.mean(axis=0))

    def _directions(self, trials: Iterable[MeasuredTrial], at: int | None) -> NDArray[np.float64]:
        texts = [text for trial in trials if (text := "\n".join(filter(None, _masked(trial, at))))]
        return np.array(directions_of(self._embedder.embed(texts))) if texts else np.empty((0, 0))

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

    # --- memories over trials ---------------------------------------------------------------------------------------

    def _used(self, trial: MeasuredTrial, at: int | None) -> list[tuple[str, int]]:
        """Return the memories that a trial's utterances use, as person and number, one for each utterance that does."""
        key = trial.run.run, at
        if key not in self._uses:
            self._uses[key] = self._find_uses(trial, at)
        return self._uses[key]

    def _find_uses(self, trial: MeasuredTrial, at: int | None) -> list[tuple[str, int]]:
        if not isinstance(trial.start, Case):
            return []
        used = []
        for (speaker, _), text in zip(trial.lines(at), _masked(trial, at), strict=True):
            if not text or speaker not in trial.start.names:
                continue
            memories = [without_names(m.text, trial.start.names) for m in trial.start.participant(speaker).memories]
            if not any(memories):
                continue
            cosines = np.array(self._embedder.embed(memories)) @ np.array(self._embedder.embed([text]))[0]
            if cosines.max() >= _USED:
                used.append((speaker, int(cosines.argmax())))
        return used

    def _reuse(self, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        """Return the share of the other trials that use a memory which one uses, as its mean over used memories."""
        if len(trials) < 2:
            return None
        counts = Counter(memory for trial in trials for memory in set(self._used(trial, at)))
        return mean((count - 1) / (len(trials) - 1) for count in counts.values())

    def _evenness(self, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
        """Return the entropy of the memories that are used, over that if all memories were used equally often."""
        counts = Counter(memory for trial in trials for memory in self._used(trial, at))
        start = trials[0].start if trials else None
        if not isinstance(start, Case) or not counts:
            return None
        number = len(start.initiator.memories) + len(start.partner.memories)
        shares = [count / counts.total() for count in counts.values()]
        return -sum(share * math.log(share) for share in shares) / math.log(number) if number > 1 else None


#: The metrics of `CaseMeasures`, and those of prompts (`measures`) and of several trials.
OF_CASES = (*_POINTED, "sim_gap", "speaker_found", "memory_reuse", "memory_evenness")
_OF_SEVERAL = ("sim_gap", "memory_reuse", "trigrams_between")


def why_not_measured(trials: Trials, metrics: Iterable[str], has_embedder: bool) -> dict[str, str]:
    """Return which of these metrics can't be had of trials of this kind and number, and why."""
    found = {metric: _why_not(trials, metric.partition("@")[0], has_embedder) for metric in metrics}
    return {metric: reason for metric, reason in found.items() if reason is not None}


def _why_not(trials: Trials, name: str, has_embedder: bool) -> str | None:
    cases = next(iter(trials.values()), {})
    if name in OF_CASES and not has_embedder:
        return "as nothing embeds what is said"
    if name in _OF_SEVERAL and max(map(len, cases.values()), default=0) < 2:
        return "as each case has one trial"
    if name == "recited_lines":
        return _why_no_prompt(trials)
    if name == "sim_gap":
        return "as there is no other case to tell it from" if len(cases) < 2 else None
    if name in _POINTED or name.startswith("memory_"):
        starts = [next(iter(found.values())).start for found in cases.values()]
        texts = {tuple(texts_of_case(start)) for start in starts if isinstance(start, Case)}
        if not texts:
            return "as only conversations of two have a case"
        return "as there is no other case to tell it from" if name in _POINTED and len(texts) < 2 else None
    return None


def _why_no_prompt(trials: Trials) -> str | None:
    each = [trial for cases in trials.values() for found in cases.values() for trial in found.values()]
    has_prompts = any(line is not None for trial in each for line in trial.prompted)
    return None if has_prompts else "as no prompt is stored"


def _masked(trial: MeasuredTrial, at: int | None) -> list[str]:
    return [without_names(text, trial.start.names) for _, text in trial.lines(at)]
