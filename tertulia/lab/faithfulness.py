"""Whether scores tell which units a line really depended on, better than the units' length does, or chance.

1. Of each line are measured: its value after random ablations, without each unit, and without the units with the
   highest scores (`tertulia/lab/annotations/ablations.py`). A value is a mean log-probability, in nats per token.
2. LDS and top-k drops are figures of a line (`metrics/faithfulness.py`), averaged over the lines of a case. Intervals
   and tests are those of cases and their sources (`tertulia/metrics/statistics.py`).
3. AT2 scores a line by weights of heads that were learned from other sources than its own.
4. Leave-one-out and the surrogate of ContextCite score a line by values of that very line, at the price of a forward
   pass for each, so they are upper references. The surrogate's LDS is that of ablations which it was not fitted on.
5. Comparisons are declared here, before anything is measured: each scorer with `length` and with `random`. The
   comparisons of LDS are one family, those of drops another; p-values are adjusted within a family (Holm).

Not known here: whether a line depended on units together that it does not depend on singly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tertulia.lab.annotations.ablations import (
    MEASURED_SCORERS,
    AblatedLine,
    AblationFigures,
    OpenModels,
    evenly_drawn,
)
from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.reports.verdicts import Outcome, adjusted_in_families
from tertulia.metrics.faithfulness import (
    Ablations,
    Floats,
    LearnedHeads,
    lds,
    learn_elsewhere,
    learn_heads,
    rank_of_first,
    surrogate,
    surrogate_lds,
    top_units,
)
from tertulia.metrics.inference import CONFIDENCE
from tertulia.metrics.statistics import CaseFigure, CaseMean, Contrast, case_mean, paired_difference
from tertulia.models.served.chat_names import is_chat_name
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.errors import ModelError, NotFoundError, SettingError, UsageError, nearest_hint
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore

#: The scorers, each in words.
SCORERS: Mapping[str, str] = {
    "attention": "Eq. 1, over responses drawn to the prompt, as λ has it",
    "attention_per_token": "the same, divided by the tokens of the unit (App. C)",
    "attention_of_line": "Eq. 1, over the line that was spoken",
    "beyond_neutral": "the line's attention by head, beyond that of a neutral reply",
    "sentence": "what the sentence about a turn goes by: the model's learned weights of heads, over the line",
    "at2": "the line's attention by head, weighed as learned from other sources (AT2)",
    "embedding_similarity": "likeness to the last lines",
    "length": "tokens of the unit",
    "random": "a draw",
    "leave_one_out": "what the line loses without the unit, measured",
    "context_cite": "ridge regression on the line's own ablations (ContextCite)",
}

#: The baselines of each scorer.
BASELINES = ("length", "random")

#: Of how many units with the highest scores the drop is measured.
TOPS = (1, 3, 5)

#: Measures of the unit with the highest score against the measured losses of all (`leave_one_out`): whether it has the
#: largest, one of the three largest, and which share of the largest.
RANKED = ("first", "first3", "share")

#: Why AT2 has no figures.
_ONE_SOURCE = (
    "AT2 is left out: its weights are tested on other sources than they are learned from, and "
    "the lines are all from one"
)

#: The measures, and the least difference that anybody would care for.
MEASURES: Mapping[str, float] = {"lds": 0.1, **dict.fromkeys(RANKED, 0.1), **{f"drop{k}": 0.05 for k in TOPS}}


@dataclass(frozen=True)
class LineFigures:
    """The figures of a line: by scorer and measure, `None` for none.

    Beside the measures, `highest` is the highest score.
    """

    line: AblatedLine
    source: str
    full: float
    by_scorer: Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Comparison:
    """A scorer against another by a measure: whether it is higher.

    Attributes:
        outcome: In the words of the laboratory's other verdicts.
        p, p_adjusted: Two-sided, by itself and in its family.
        bound: It is no larger than this, at 95 %, if that is below the least difference.
    """

    measure: str
    scorer: str
    baseline: str
    found: Contrast
    outcome: Outcome
    p: float | None
    p_adjusted: float | None
    bound: float | None

    @property
    def is_primary(self) -> bool:
        """Whether it is of the family of LDS."""
        return self.measure == "lds"


@dataclass(frozen=True)
class Faithfulness:
    """The findings.

    Attributes:
        measures: Those of `MEASURES` that were measured.
        weights: Of heads, learned from all sources; `None` if AT2 was not asked for.
        layers: Of the model, as the weights of its heads are ordered.
        notes: Cautions about the figures.
    """

    model: str
    ablations: int
    lines: Sequence[LineFigures]
    scorers: Sequence[str]
    measures: Sequence[str]
    comparisons: Sequence[Comparison]
    weights: LearnedHeads | None
    layers: int
    notes: Sequence[str]

    def mean(self, scorer: str, measure: str) -> CaseMean:
        """Return a measure of a scorer over cases, each the mean over its lines, with its interval over sources."""
        return case_mean(_sample(self.lines, scorer, measure), (-1.0, 1.0) if measure == "lds" else (-np.inf, np.inf))


def read_scorers(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the scorers of these names, in their order, and the baselines; all of them if none is named.

    Raises:
        SettingError: There is no scorer of a name.
    """
    names = [name.strip() for part in given or SCORERS for name in part.split(",") if name.strip()]
    for name in names:
        if name not in SCORERS:
            hint = nearest_hint(name, SCORERS)
            raise SettingError("--scorers", name, f": there is no such scorer{hint}; choose among {', '.join(SCORERS)}")
    return tuple(name for name in SCORERS if name in names or name in BASELINES)


def chosen_lines(store: SqlStore, targets: Sequence[str], setting: str | None, turns: int) -> list[AblatedLine]:
    """Return lines of experiments and runs, evenly drawn: all of one model.

    Args:
        targets: Names of experiments, and ids of runs.
        setting: Of experiments; `all`; `None`: the one that the others are compared with.

    Raises:
        NotFoundError: There is no run or experiment of a name, or no line whose prompt could be ablated.
        UsageError: They have several models.
    """
    runs: dict[str, tuple[str, RunRecord]] = {}
    for target in targets:
        runs.update({run.run: (case, run) for case, run in _runs_of(store, target, setting)})
    models = {run.model: run.run for _, run in runs.values()}
    if len(models) > 1:
        shown = ", ".join(f"{model} (run {run})" for model, run in models.items())
        raise UsageError(f"the runs have several models, {shown}; measure them apart")
    lines = evenly_drawn(store, [*runs.values()], source_of, turns)
    if not lines:
        raise NotFoundError(
            f"no line of {', '.join(targets)} can be ablated: what is needed is a line that the run's model spoke to a "
            "prompt with three removable units or more"
        )
    return lines


def models_for(run: RunRecord, access: ModelAccess, report_only: bool) -> OpenModels:
    """Return the openers of the model and the embedder of a run.

    Args:
        report_only: Whether nothing may be measured: then it raises `UsageError`.

    Raises:
        ModelError: The model is a served one.
    """
    if is_chat_name(run.model):
        raise ModelError(
            f"{run.model} runs on a server, which shows no attention heads, and not how likely a line is after each "
            "ablation; take runs of a model with weights on this machine"
        )

    def open_models() -> tuple[LanguageModel, Embedder]:
        if report_only:
            raise UsageError("not all of these lines are measured yet: leave out --report-only, and what is missing is")
        parameters = Parameters.model_validate(run.parameters)
        return access.language_model(run.model, parameters), access.embedder(run.embedder)

    return open_models


def _runs_of(store: SqlStore, target: str, setting: str | None) -> list[tuple[str, RunRecord]]:
    """Return the finished runs of an experiment in a setting, or the run of that id, each with its case."""
    if not any(record.experiment == target for record in store.experiments.all()):
        run = store.run(target)
        return [(run.scenario if run.trial is None else run.trial.case, run)]
    results = read_results(store, target)
    name = setting or results.experiment.compared_with
    if name == "all":
        return [(found.case, found.run) for found in results.runs]
    if name not in results.experiment.settings:
        there = ", ".join(results.experiment.settings)
        raise SettingError("--setting", name, f": {target} has no such setting; it has {there}")
    return [(found.case, found.run) for found in results.runs if found.setting == name]


def measure_faithfulness(
    figures: AblationFigures,
    lines: Sequence[AblatedLine],
    ablations: int,
    scorers: Sequence[str],
    show: Callable[[str], object] = str,
    tops: Sequence[int] = TOPS,
) -> Faithfulness:
    """Return the agreement of scorers with random ablations of lines, so many of each.

    Args:
        tops: Of how many units with the highest scores the drop is measured; each takes a reading of each line.

    Raises:
        ModelError: The model failed, or shows no attention heads; measured figures are kept.
    """
    measured: list[Ablations] = []
    for number, line in enumerate(lines, 1):
        show(f"line {number} of {len(lines)}: {ablations} ablations")
        measured.append(_ablations(figures, line, ablations))
        _score_beside(figures, line, scorers)
    scores: dict[str, list[list[float]]] = {}
    notes: list[str] = []
    learned: tuple[LearnedHeads | None, int] = None, 0
    for scorer in scorers:
        show(f"scores: {scorer}")
        if scorer == "at2":
            attention = [np.asarray(figures.heads(line), dtype=np.float64) for line in lines]
            learned = learn_heads(measured, attention), figures.layers(lines[0])
            if (found := _scores_learned_elsewhere(measured, attention)) is None:
                notes.append(_ONE_SOURCE)
                continue
        elif scorer == "context_cite":
            found = [surrogate(each) for each in measured]
        else:
            found = [_scores(figures, line, scorer) for line in lines]
        scores[scorer] = found
    of_lines = []
    for at, (line, each) in enumerate(zip(lines, measured, strict=True)):
        show(f"line {at + 1} of {len(lines)}: without the highest")
        of_lines.append(
            _line_figures(figures, line, each, {scorer: found[at] for scorer, found in scores.items()}, tops)
        )
    measures = ("lds", *(RANKED if "leave_one_out" in scores else ()), *(f"drop{k}" for k in tops))
    comparisons = _comparisons(of_lines, [*scores], measures)
    return Faithfulness(figures.name, ablations, of_lines, [*scores], measures, comparisons, *learned, notes)


def _scores_learned_elsewhere(measured: Sequence[Ablations], attention: Sequence[Floats]) -> list[list[float]] | None:
    """Return AT2's scores of each line, by weights learned without its source; `None` if that can't be."""
    elsewhere = learn_elsewhere(measured, attention)
    if not all(each.source in elsewhere for each in measured):
        return None
    return [elsewhere[each.source].scores(heads) for each, heads in zip(measured, attention, strict=True)]


def _ablations(figures: AblationFigures, line: AblatedLine, count: int) -> Ablations:
    drawn = line.random_ablations(count)
    values = figures.values(line, [line.full, *drawn])
    kept = np.array([[float(letter) for letter in each] for each in drawn])
    return Ablations(kept, np.array([values[each] for each in drawn]), source_of(line.case))


def _score_beside(figures: AblationFigures, line: AblatedLine, scorers: Sequence[str]) -> None:
    """Measure the scorers' values of a line while its prompt is in memory."""
    if "at2" in scorers:
        figures.heads(line)
    for scorer in scorers:
        if scorer in MEASURED_SCORERS:
            figures.scores(line, scorer)


def _scores(figures: AblationFigures, line: AblatedLine, scorer: str) -> list[float]:
    if scorer in MEASURED_SCORERS:
        return figures.scores(line, scorer)
    if scorer == "attention_per_token":
        pairs = zip(figures.scores(line, "attention"), figures.scores(line, "length"), strict=True)
        return [score / max(1.0, tokens) for score, tokens in pairs]
    full = figures.values(line, [line.full])[line.full]
    without = [line.without(place) for place in range(len(line.units))]
    values = figures.values(line, without)
    return [full - values[each] for each in without]


def _line_figures(
    figures: AblationFigures,
    line: AblatedLine,
    ablations: Ablations,
    scores: Mapping[str, Sequence[float]],
    tops: Sequence[int],
) -> LineFigures:
    removed = {
        (name, k): line.without(*top_units(of_units, k))
        for name, of_units in scores.items()
        for k in tops
        if k < len(line.units)
    }
    values = figures.values(line, [*removed.values()])
    full = figures.values(line, [line.full])[line.full]
    by_scorer: dict[str, dict[str, float | None]] = {}
    for name, of_units in scores.items():
        found: dict[str, float | None] = {}
        found["lds"] = surrogate_lds(ablations) if name == "context_cite" else lds(ablations, of_units)
        found["highest"] = max(of_units)
        if (losses := scores.get("leave_one_out")) is not None:
            rank, (first,) = rank_of_first(of_units, losses), top_units(of_units, 1)
            found |= {"first": float(rank == 1), "first3": float(rank <= 3)}
            found["share"] = max(0.0, losses[first]) / max(losses) if max(losses) > 0 else None
        for k in tops:
            found[f"drop{k}"] = full - values[removed[name, k]] if (name, k) in removed else None
        by_scorer[name] = found
    return LineFigures(line, ablations.source, full, by_scorer)


def _sample(lines: Sequence[LineFigures], scorer: str, measure: str) -> dict[str, CaseFigure]:
    by_case: dict[str, list[float]] = {}
    sources = {found.line.case: found.source for found in lines}
    for found in lines:
        if (value := found.by_scorer[scorer][measure]) is not None:
            by_case.setdefault(found.line.case, []).append(value)
    return {
        case: CaseFigure(sum(values) / len(values), len(values), source=sources[case])
        for case, values in by_case.items()
    }


# --- compared -------------------------------------------------------------------------------------------------------


def _comparisons(lines: Sequence[LineFigures], scorers: Sequence[str], measures: Sequence[str]) -> list[Comparison]:
    """Return every scorer against the baselines, by every measure; `length` against `random` alone."""
    pairs = [
        (scorer, baseline) for scorer in scorers for baseline in BASELINES if scorer != "random" and scorer != baseline
    ]
    asked = [(measure, *pair) for measure in measures for pair in pairs]
    is_primary = [measure == "lds" for measure, *_ in asked]
    tests = [
        paired_difference(_sample(lines, scorer, measure), _sample(lines, baseline, measure))
        for measure, scorer, baseline in asked
    ]
    within = [test.p_below(MEASURES[measure]) for test, (measure, *_) in zip(tests, asked, strict=True)]
    adjusted = adjusted_in_families([test.p for test in tests], is_primary)
    return [*map(_comparison, asked, tests, adjusted, adjusted_in_families(within, is_primary))]


def _comparison(
    asked: tuple[str, str, str], found: Contrast, adjusted: float | None, bounded: float | None
) -> Comparison:
    outcome: Outcome = "undecided"
    alpha = 1 - CONFIDENCE
    if adjusted is None:
        outcome = "missing" if found.value is None else "undecided"
    elif adjusted <= alpha:
        outcome = "reproduced" if (found.value or 0) > 0 else "not reproduced"
    elif bounded is not None and bounded <= alpha:
        outcome = "bounded"
    bound = found.upper_bound() if outcome == "bounded" else None
    return Comparison(*asked, found, outcome, found.p, adjusted, bound)


def lines_phrase(found: Faithfulness) -> str:
    """Return how many lines of how many cases and sources there are, in words."""
    cases, sources = {each.line.case for each in found.lines}, {each.source for each in found.lines}
    parts = counted(len(found.lines), "line"), counted(len(cases), "case"), counted(len(sources), "source")
    return f"{parts[0]} of {parts[1]} of {parts[2]}"
