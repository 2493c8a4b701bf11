"""Measure how stable scores and the removal by them are when the scoring responses are drawn again.

Algorithm 1 scores a prompt by a few drawn responses (APP §3.1). Here the responses to stored prompts are drawn again, a
few times over, and each pair of draws is compared: by the ranks of its scores, and by the removals of each walk at
several λ. Figures are means over the pairs of a prompt, then over prompts, with a bootstrap interval over prompts.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from statistics import mean
from typing import Any, get_args

import numpy as np

from tertulia.metrics.curves import spearman
from tertulia.nodes.scorers.attention import scoring_request
from tertulia.nodes.utterance import prune
from tertulia.runs.access.engines import ModelAccess, reopen_engines
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, SettingError
from tertulia.state.language_model import NO_ATTENTION, LanguageModel
from tertulia.state.parameters import Parameters, Walk
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, RunRecord
from tertulia.state.store import Store
from tertulia.state.text import counted

#: λ at which removed sets are compared.
FACTORS = (0.25, 0.5, 0.75)

WALKS: tuple[Walk, ...] = get_args(Walk)

#: Samples of the bootstrap, and the ends of its band.
_SAMPLES, _BAND = 2000, (2.5, 97.5)

#: The fewest removable units of a prompt that is looked at.
_LEAST_UNITS = 2

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Interval:
    """A mean over prompts, and its 95 % interval; `None` if a single prompt has none."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class WalkStability:
    """How stable a walk is at a λ.

    Attributes:
        walk: Of `removal_walk`.
        removal_factor: λ.
        overlap: Jaccard index of two draws' removals: shared units over all that either removes.
        removed: Removed units over removable ones.
        removed_attention: The share of attention removed, by the scores of the draw that chose the units.
        removed_of_other: The same by the scores of the other draw.
        off_target: How far `removed_attention` is from λ.
    """

    walk: Walk
    removal_factor: float
    overlap: Interval
    removed: Interval
    removed_attention: Interval
    removed_of_other: Interval
    off_target: Interval


@dataclass(frozen=True)
class Stability:
    """How stable the scores of some prompts are over draws of responses, and the removal by walk and λ.

    The correlation is Spearman's ρ of two draws' scores over the removable units; `None` if all are alike.
    """

    prompts: int
    draws: int
    responses: int
    correlation: Interval | None
    walks: tuple[WalkStability, ...]


def measure_stability(
    store: Store, runs: Sequence[RunRecord], access: ModelAccess, draws: int, show: Callable[[str], object] = str
) -> Stability:
    """Return how stable the scores of all scored turns of runs are, over at least 2 draws.

    Raises:
        NotFoundError: No turn of theirs was scored.
        SettingError: They have different models or numbers of responses, or a model shows no attention.
    """
    first, *others = runs
    parameters = Parameters.model_validate(first.parameters)
    for run in others:
        for name, of_first, of_run in (
            ("model", first.model, run.model),
            ("scoring_responses", parameters.scoring_responses, run.parameters.get("scoring_responses")),
        ):
            if of_first != of_run:
                problem = f" is another than that of run {first.run}, {of_first}; measure them apart"
                raise SettingError(name, f"{of_run} (run {run.run})", problem)
    scored = [(run, turn) for run in runs for turn in _scored_turns(store, run)]
    if not scored:
        which = ", ".join(run.run for run in runs)
        raise NotFoundError(f"no turn of {which} was scored; run a scenario at a λ above 0, or with record_scores=true")
    model = reopen_engines(first, access).model
    if model.traits.text_only:
        raise SettingError("model", model.id, f": its scores can't be drawn anew; a remote model {NO_ATTENTION}")
    samples = []
    for run, turn in scored:
        show(f"turn {turn} of run {run.run}")
        record = store.turn_record(run.run, turn)
        assert record.prompt is not None
        prompt = store.prompt(record.prompt)
        drawn = asyncio.run(redrawn(model, prompt, Parameters.model_validate(run.parameters), draws, run.seed, turn))
        samples.append((prompt, drawn))
    return stability_of(samples, parameters.scoring_responses)


def _scored_turns(store: Store, run: RunRecord) -> Iterator[int]:
    for turn in range(1, run.turns + 1):
        record = store.turn_record(run.run, turn)
        if record.scores is None or record.prompt is None:
            continue
        if sum(unit.removable for unit in store.prompt(record.prompt).units) >= _LEAST_UNITS:
            yield turn


async def redrawn(
    model: LanguageModel, prompt: Prompt, parameters: Parameters, draws: int, seed: int, turn: int
) -> list[Scores]:
    """Return the scores of so many draws of responses, none of them those of the run."""
    found: list[Scores] = []
    for draw in range(draws):
        generators = tuple(
            keyed_generator(seed, round=turn, agent=prompt.speaker, node="stability", attempt=draw, row=row)
            for row in range(parameters.scoring_responses)
        )
        asked = scoring_request(prompt, generators, model, parameters)
        _, scores = await model.generate_scored(asked.request, asked.options)
        found.append(scores)
    return found


# --- figures --------------------------------------------------------------------------------------------------------


def stability_of(samples: Sequence[tuple[Prompt, Sequence[Scores]]], responses: int) -> Stability:
    """Return how stable scores are, from several draws for each prompt."""
    ranked = (_correlation(prompt, drawn) for prompt, drawn in samples)
    correlations = [correlation for correlation in ranked if correlation is not None]
    return Stability(
        prompts=len(samples),
        draws=len(samples[0][1]),
        responses=responses,
        correlation=_interval(correlations) if correlations else None,
        walks=tuple(_of_walk(samples, walk, factor) for walk in WALKS for factor in FACTORS),
    )


def _correlation(prompt: Prompt, drawn: Sequence[Scores]) -> float | None:
    """Return the mean ρ over pairs of draws; `None` if all scores of a draw are alike: there are no ranks then."""
    ids = [unit.id for unit in prompt.units if unit.removable]
    scores = [np.array([draw[id] for id in ids]) for draw in drawn]
    found = [spearman(first, second) for first, second in combinations(scores, 2)]
    known = [rho for rho in found if rho is not None]
    return mean(known) if len(known) == len(found) else None


def _of_walk(samples: Sequence[tuple[Prompt, Sequence[Scores]]], walk: Walk, factor: float) -> WalkStability:
    figures = [_of_prompt(prompt, drawn, walk, factor) for prompt, drawn in samples]
    names = ("overlap", "removed", "removed_attention", "removed_of_other", "off_target")
    columns = zip(*figures, strict=True)
    return WalkStability(walk, factor, **{name: _interval(column) for name, column in zip(names, columns, strict=True)})


def _of_prompt(prompt: Prompt, drawn: Sequence[Scores], walk: Walk, factor: float) -> tuple[float, ...]:
    ids = [unit.id for unit in prompt.units if unit.removable]
    sets = [set(prune.WALKS[walk](prompt.units, scores, factor, "descending")) for scores in drawn]
    shares = [[_share(scores, ids, removed) for scores in drawn] for removed in sets]
    numbers = range(len(drawn))
    return (
        mean(overlap(sets[first], sets[second]) for first, second in combinations(numbers, 2)),
        mean(len(removed) / len(ids) for removed in sets),
        mean(shares[number][number] for number in numbers),
        mean(shares[first][second] for first, second in permutations(numbers, 2)),
        mean(abs(shares[number][number] - factor) for number in numbers),
    )


def overlap(first: set[str], second: set[str]) -> float:
    """Return the Jaccard index of two sets; 1 of two that are empty."""
    return len(first & second) / len(first | second) if first | second else 1.0


def _share(scores: Scores, ids: Sequence[str], removed: set[str]) -> float:
    total = sum(scores[id] for id in ids)
    return sum(scores[id] for id in removed) / total if total else 0.0


def _interval(values: Sequence[float]) -> Interval:
    values = list(values)
    if len(values) < 2:
        return Interval(mean(values), None, None, len(values))
    generator = keyed_generator(1, node="stability: interval")
    means = [mean(generator.choices(values, k=len(values))) for _ in range(_SAMPLES)]
    low, high = np.percentile(means, _BAND)
    return Interval(mean(values), float(low), float(high), len(values))


# --- shown ----------------------------------------------------------------------------------------------------------


def stability_document(stability: Stability, runs: Sequence[RunRecord]) -> Document:
    """Return the figures as JSON."""
    found: dict[str, Any] = asdict(stability)
    return {"schema_version": SCHEMA_VERSION, "model": runs[0].model, "runs": [run.run for run in runs], **found}


def stability_page(stability: Stability, runs: Sequence[RunRecord]) -> list[str]:
    """Return the figures as Markdown."""
    prompts = counted(stability.prompts, "prompt")
    drawn = f"{stability.draws} draws of {stability.responses} responses"
    ranks = "none, as all scores are alike" if stability.correlation is None else _cell(stability.correlation, 3)
    return [
        f"{prompts}, {drawn} to each, {runs[0].model}; in brackets the 95 % interval over prompts.",
        "",
        f"Spearman's ρ of the scores of two draws: {ranks}",
        "",
        "| walk | λ | overlap of removed sets | units removed | attention removed | by the other draw | off λ by |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row.walk} | {row.removal_factor:g} | {_cell(row.overlap)} | {_cell(row.removed)} | "
            f"{_cell(row.removed_attention)} | {_cell(row.removed_of_other)} | {_cell(row.off_target, 3)} |"
            for row in stability.walks
        ),
    ]


def _cell(interval: Interval, digits: int = 2) -> str:
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.{digits}f}"
    return f"{interval.mean:.{digits}f} ({interval.low:.{digits}f}–{interval.high:.{digits}f})"
