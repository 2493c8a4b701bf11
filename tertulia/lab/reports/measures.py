"""The figures of an experiment: every metric of its report in every setting, by case, with each trial left out once.

1. Settings are compared on the same trials: trials that one of them lacks are left out of all (`common_trials`).
2. A metric at an utterance index (`dist3@2`, from 0) is taken of these utterances alone; of a person (`spoken:Eva`), of
   their behaviour.
3. Dist-N at equal length is for as many n-grams as every setting of a case has with any one trial left out.

Source: APP §2 (figures of a case over its trials), App. D (by index; exclusiveness), §3.2, §4.2 (removal, revision).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from types import MappingProxyType

from tertulia.lab.experiments.results import TrialRun, first_turn_of
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.population import OF_ANSWERS
from tertulia.lab.reports.case_measures import (
    EMBEDDED,
    OF_CASES,
    OF_POPULATION,
    CaseMeasures,
    Figure,
    PopulationMeasures,
    Trials,
    why_not_measured,
)
from tertulia.lab.reports.measured_trials import KnownVectors, Making, MeasuredTrial
from tertulia.metrics.diversity import Dialogue, mean, mean_pairwise_cosine
from tertulia.metrics.exclusiveness import mean_highest_cosine
from tertulia.metrics.legibility import unread_cases, why_unread
from tertulia.metrics.participation import AgentFigures
from tertulia.metrics.repetition import equals_earlier, repeated_lines
from tertulia.metrics.statistics import CaseFigure, Sample, common_trials, jackknifed, sample_of
from tertulia.metrics.variety import expected_distinct, vendi_score
from tertulia.state.language_model import Embedder
from tertulia.state.records import RunRecord
from tertulia.state.store import Store
from tertulia.views.measuring.dialogues import spoken_in

#: A trial of setting A and the same of setting B.
_Pair = tuple[MeasuredTrial, MeasuredTrial]

#: Prompts of an experiment that are kept while its trials are read.
_PROMPTS_KEPT = 512


class Measuring:
    """Takes the figures of an experiment; each trial is read once, and kept while this lives."""

    def __init__(
        self,
        store: Store,
        runs: Iterable[TrialRun],
        embedder: Embedder | None,
        each_run: bool = False,
        known: Mapping[str, MeasuredTrial] = MappingProxyType({}),
    ) -> None:
        """Collect the trials that all settings have.

        Args:
            embedder: Embeds dialogues; with `None`, nothing that needs it is measured.
            each_run: Whether every run is a case, as there is one scenario only.
            known: By run, trials that were measured before, with their readings; finished runs do not change.
        """
        # Trials of a case begin with the same prompts, whatever their settings: each is read once.
        read_prompt = lru_cache(maxsize=_PROMPTS_KEPT)(store.prompt)
        everything: dict[str, dict[str, dict[int, MeasuredTrial]]] = {}
        for found in runs:
            case = f"{found.case}, trial {found.trial}" if each_run else found.case
            cases = everything.setdefault(found.setting, {})
            trial = known.get(found.run.run) or MeasuredTrial(found, store, read_prompt)
            cases.setdefault(case, {})[found.trial] = trial
        self.trials: Trials = common_trials(everything)
        self._each_run = each_run
        self.unpaired = sum(map(_count, everything.values())) - sum(map(_count, self.trials.values()))
        self._known = None if embedder is None else KnownVectors(embedder)

    @property
    def all(self) -> list[MeasuredTrial]:
        """All trials that are measured."""
        return [trial for cases in self.trials.values() for trials in cases.values() for trial in trials.values()]

    @cached_property
    def _why_no_embedder(self) -> str | None:
        """Why nothing is embedded; asked only by what needs vectors, as the first text loads the embedder."""
        if self._known is None:
            return "as nothing embeds what is said"
        dialogues: dict[str, list[Dialogue]] = {}
        for cases in self.trials.values():
            for case, trials in cases.items():
                dialogues.setdefault(case, []).extend(trial.dialogue for trial in trials.values())
        unread = unread_cases(dialogues, self._known)
        return why_unread(self._known.id, max(unread.values())) if unread else None

    @property
    def _embedder(self) -> KnownVectors | None:
        return self._known if self._why_no_embedder is None else None

    @cached_property
    def _of_cases(self) -> CaseMeasures | None:
        return None if self._embedder is None else CaseMeasures(self.trials, self._embedder)

    @cached_property
    def _of_people(self) -> PopulationMeasures | None:
        return None if self._embedder is None else PopulationMeasures(self.trials, self._embedder)

    def truncated(self) -> int:
        """Return how many dialogues are longer than the embedder reads; 0 if nothing is embedded."""
        if self._embedder is None:
            return 0
        texts = [trial.text() for trial in self.all]
        cut, whole = self._embedder.embed(texts), self._embedder.embed_untruncated(texts)
        return sum(a != b for a, b in zip(cut, whole, strict=True))  # one within the limit has one vector

    @property
    def times(self) -> dict[str, float]:
        """The simulated time at which each case begins, in hours."""
        cases = next(iter(self.trials.values()), {})
        return {case: _one_of(trials).start.time.timestamp() / 3600 for case, trials in cases.items()}

    def figures(self, metrics: Iterable[str]) -> dict[str, dict[str, Sample]]:
        """Return the figures by setting and metric, each case with its source; a metric without figures is left out."""
        measured: dict[str, dict[str, Sample]] = {setting: {} for setting in self.trials}
        for metric in metrics:
            for setting, sample in self._samples(metric).items():
                if sample:
                    measured[setting][metric] = self._with_sources(sample)
        return measured

    def _with_sources(self, sample: Sample) -> Sample:
        """Return the figures of cases with the source of each; of single runs it is one."""
        if self._each_run:
            return sample
        return {case: replace(figure, source=source_of(case)) for case, figure in sample.items()}

    def why_not_measured(self, metrics: Iterable[str]) -> dict[str, str]:
        """Return which metrics that need a case or a prompt can't be had of these trials, and why."""
        return why_not_measured(self.trials, metrics, lambda: self._why_no_embedder)

    def _samples(self, metric: str) -> dict[str, Sample]:
        base, _, place = metric.partition("@")
        name, _, person = base.partition(":")
        at = int(place) if place else None
        if name in EMBEDDED:
            self._embed(at, name.endswith("_untruncated"))
        reaching = {
            setting: {case: _reaching(trials, at) for case, trials in cases.items()}
            for setting, cases in self.trials.items()
        }
        if name.endswith("_equal"):
            return _at_equal_length(reaching, int(name.removesuffix("_equal")[-1]), at)
        figure = self._figure(name, person)
        if figure is None:
            return {}
        return {setting: sample_of(cases, lambda trials: figure(trials, at)) for setting, cases in reaching.items()}

    def _figure(self, name: str, person: str) -> Figure | None:
        """Return how a figure is taken; `None` if it can't be."""
        if name in EMBEDDED:
            take = vendi_score if name.startswith("vendi") else mean_pairwise_cosine
            return None if self._embedder is None else partial(self._of_vectors, take, name.endswith("_untruncated"))
        if name in OF_CASES:
            return None if self._of_cases is None else self._of_cases.figure(name)
        if name in OF_POPULATION:
            return None if self._of_people is None else self._of_people.figure(name)
        if name in OF_ANSWERS:
            return lambda trials, at: mean(trial.answered.get(name) for trial in trials)
        if name == "trait":
            return lambda trials, at: mean(trial.poles.get(person) for trial in trials)
        if person:
            return partial(_of_person, name, person)
        return _FIGURES.get(name)

    # --- figures of an embedder -------------------------------------------------------------------------------------

    def _embed(self, at: int | None, is_whole: bool) -> None:
        if self._embedder is not None:
            embed = self._embedder.embed_untruncated if is_whole else self._embedder.embed
            embed([trial.text(at) for trial in self.all if trial.lines(at)])

    def _of_vectors(
        self,
        take: Callable[[Sequence[Sequence[float]]], float | None],
        is_whole: bool,
        trials: Sequence[MeasuredTrial],
        at: int | None,
    ) -> float | None:
        assert self._embedder is not None, "nothing was embedded"
        embed = self._embedder.embed_untruncated if is_whole else self._embedder.embed
        return take(embed([trial.text(at) for trial in trials]))

    def exclusiveness(self, a: str, b: str, groups: int | None, metrics: Iterable[str]) -> dict[str, Sample]:
        """Return how exclusive the lines of setting B are against setting A, by metric. Source: APP App. D, Table 6.

        Args:
            groups: Into how many the trials are split in their order; A's group i is compared with B's group i + 1, and
                the last with the first. `None`: all of A with all of B.
            metrics: `max_sim`, and `excl1` to `excl3`.
        """
        if a not in self.trials or b not in self.trials:
            return {}
        self._embed(None, is_whole=False)
        pairs = {
            case: {number: (trial, self.trials[b][case][number]) for number, trial in trials.items()}
            for case, trials in self.trials[a].items()
        }
        found: dict[str, Sample] = {}
        for metric in metrics:
            by_case = {case: _by_group(trials, groups) for case, trials in pairs.items()}
            samples = {
                case: jackknifed(pairs[case], partial(self._over_groups, metric, numbers))
                for case, numbers in by_case.items()
            }
            found[metric] = self._with_sources({case: of for case, of in samples.items() if of is not None})
        return {metric: sample for metric, sample in found.items() if sample}

    def _over_groups(self, metric: str, groups: Sequence[set[str]], pairs: Sequence[_Pair]) -> float | None:
        """Return a metric as the mean over pairs of groups, of which each has the runs of both settings."""
        if len(groups) == 1 and pairs and pairs[0][0] is pairs[0][1]:
            return None  # conversations would be compared with themselves
        parts = [[pair for pair in pairs if pair[0].run.run in group] for group in groups]
        behind = [*parts[1:], parts[0]]
        return mean(self._exclusive(metric, of_a, of_b) for of_a, of_b in zip(parts, behind, strict=True))

    def _exclusive(self, metric: str, of_a: Sequence[_Pair], of_b: Sequence[_Pair]) -> float | None:
        a, b = [pair[0] for pair in of_a], [pair[1] for pair in of_b]
        if metric == "max_sim":
            if self._embedder is None:
                return None
            return mean_highest_cosine(*(self._embedder.embed([trial.text() for trial in side]) for side in (a, b)))
        n = int(metric[-1])
        known, found = ({gram for trial in side for gram in trial.spoken().grams[n]} for side in (a, b))
        return len(found - known) / len(found) if known and found else None


def figures_of_run(
    store: Store, run: RunRecord, case: str, metrics: Iterable[str], embedder: Embedder | None = None
) -> dict[str, float]:
    """Return metrics of a run by itself: of a case `run:ID@TURN`, of the turns from there on.

    A metric that needs several dialogues, an embedder that is not given, or has nothing to measure is missing.
    """
    trial = TrialRun(case, "", 1, run, spoken_in(store, run, first_turn_of(case)))
    figures = Measuring(store, [trial], embedder).figures(metrics).get("", {})
    return {metric: float(next(iter(sample.values())).value) for metric, sample in figures.items()}


def _by_group(pairs: Mapping[int, _Pair], groups: int | None) -> list[set[str]]:
    """Return the runs of A in each group of trials, split in their order into groups that differ by one at most."""
    runs = [pairs[number][0].run.run for number in sorted(pairs)]
    count = min(groups or 1, len(runs))
    return [set(runs[len(runs) * at // count : len(runs) * (at + 1) // count]) for at in range(count)]


def _one_of(trials: Mapping[int, MeasuredTrial]) -> MeasuredTrial:
    return next(iter(trials.values()))


def _count(cases: Mapping[str, Mapping[int, object]]) -> int:
    return sum(map(len, cases.values()))


def _reaching(trials: Mapping[int, MeasuredTrial], at: int | None) -> dict[int, MeasuredTrial]:
    return {number: trial for number, trial in trials.items() if trial.lines(at)}


# --- figures of words ------------------------------------------------------------------------------------------------


def _distinct(n: int, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    grams = [trial.spoken(at).grams[n] for trial in trials]
    total = sum(found.total() for found in grams)
    return len(set().union(*grams)) / total if total else None


def _at_equal_length(trials: Trials, n: int, at: int | None) -> dict[str, Sample]:
    """Return dist-N at equal length by setting, for a sample that every setting of a case has, one trial left out."""
    samples: dict[str, dict[str, CaseFigure]] = {setting: {} for setting in trials}
    for case in next(iter(trials.values()), {}):
        of_case = {setting: cases[case] for setting, cases in trials.items()}
        size = min(_least_grams([*found.values()], n, at) for found in of_case.values())
        for setting, found in of_case.items():
            figure = jackknifed(found, partial(_distinct_of_sample, n, at, size))
            if figure is not None:
                samples[setting][case] = figure
    return dict(samples)


def _least_grams(trials: Sequence[MeasuredTrial], n: int, at: int | None) -> int:
    """Return the fewest n-grams that are left without any one trial; those of the only trial."""
    counts = [trial.spoken(at).grams[n].total() for trial in trials]
    return sum(counts) - max(counts) if len(counts) > 1 else sum(counts)


def _distinct_of_sample(n: int, at: int | None, size: int, trials: Sequence[MeasuredTrial]) -> float | None:
    counts: Counter[tuple[str, ...]] = Counter()
    for trial in trials:
        counts.update(trial.spoken(at).grams[n])
    if not 0 < size <= counts.total():
        return None
    return expected_distinct(Counter(counts.values()), counts.total(), size)


def _length(trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    utterances = sum(trial.spoken(at).utterances for trial in trials)
    return sum(trial.spoken(at).words for trial in trials) / utterances if utterances else None


def _duplicates(trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(trial.spoken(at).ends_in_repetition for trial in trials)


def _repeated_lines(trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    """Return the share of utterances that equal an earlier one of their dialogue, as its mean over dialogues."""
    if at is None:
        return mean(repeated_lines(trial.dialogue) for trial in trials)
    return mean(equals_earlier(trial.dialogue)[at] for trial in trials) if at else None


# --- figures of how turns came about ----------------------------------------------------------------------------------


def _of_removal(field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    removals = (making.removal for trial in trials for making in _turns(trial, at))
    return mean(getattr(removal, field) for removal in removals if removal is not None)


def _left(initial: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(making.left.get(initial) for trial in trials for making in _turns(trial, at))


def _of_inconsistency(field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(getattr(making.inconsistency, field) for trial in trials for making in _turns(trial, at))


def _turns(trial: MeasuredTrial, at: int | None) -> Sequence[Making]:
    return trial.makings if at is None else trial.makings[at : at + 1]


def _of_lines(field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    lines = slice(None) if at is None else slice(at, at + 1)
    return mean(chain.from_iterable(getattr(trial, field)[lines] for trial in trials))


def _divergence(trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    """Return how far opening prompts diverge from the baseline's; later ones have another past, and no figure."""
    return None if at else mean(trial.divergence for trial in trials)


def _of_attention(field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(getattr(trial.attention, field, None) for trial in trials)


# --- figures of meetings --------------------------------------------------------------------------------------------


def _of_meeting(field: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(getattr(trial.participation, field) for trial in trials)


def _of_person(name: str, person: str, trials: Sequence[MeasuredTrial], at: int | None) -> float | None:
    return mean(
        _of_agent(name, agent) for trial in trials for agent in trial.participation.agents if agent.agent == person
    )


def _of_agent(name: str, agent: AgentFigures) -> float | None:
    if name in AgentFigures.model_fields:
        value = getattr(agent, name)
        return None if value is None else float(value)
    switch = (agent.mechanisms or {}).get(name)
    decisions = 0 if switch is None else switch.on + switch.off
    return None if switch is None or not decisions else switch.on / decisions


_FIGURES: Mapping[str, Figure] = {
    **{f"dist{n}": partial(_distinct, n) for n in (1, 2, 3)},
    "without_sense": partial(_of_lines, "has_faults"),
    "repeated_lines": _repeated_lines,
    "len": _length,
    "recited_lines": partial(_of_lines, "recited"),
    "duplicate_rate": _duplicates,
    **{f"removed_{field}": partial(_of_removal, field) for field in ("items", "words", "attention")},
    **{f"left_{initial}": partial(_left, initial) for initial in "bmpe"},
    "inconsistency_before": partial(_of_inconsistency, "before"),
    "inconsistency": partial(_of_inconsistency, "after"),
    "fluency": partial(_of_lines, "likelihoods"),
    "entropy": partial(_of_lines, "entropies"),
    "divergence": _divergence,
    **{f"attention_{field}": partial(_of_attention, field) for field in ("kept", "top1", "top3")},
    **{field: partial(_of_meeting, field) for field in ("turns", "silences", "silence_s", "sim_minutes", "evenness")},
}
