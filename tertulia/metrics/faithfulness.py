"""Whether scores tell the causes of a response: pure figures over random ablations of a prompt.

An ablation keeps each of the N removable units with probability 1/2; its value is the log-probability of the response
after the remaining prompt. M ablations of one response are a `Ablations`.

    LDS           Spearman's ρ, over ablations, of the sum of the scores of the kept units with the value
    top-k drop    by how much the value falls if the k units with the highest scores are removed
    surrogate     ridge regression of the values on which units are kept: a weight per unit (ContextCite)
    head weights  ridge regression of the values on the attention of each head to the kept units: a weight per head, 0
                  or more, the same for all responses (AT2); so the score of a unit is an estimate in nats per token

ContextCite fits a lasso, here it is a ridge: it has a closed form, and with a dozen units there is little to leave out.
AT2 learns by gradient steps towards the correlation; here it is least squares on values with mean 0 within each
response, which has the same optimum in direction if all responses can be fitted.

Source: Cohen-Wang et al. 2024, arXiv 2409.00729 (ablations, LDS, top-k drop, surrogate); 2025, arXiv 2504.13752 (AT2).

Shapes: M ablations, N units, F features (one per head).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tertulia.metrics.curves import spearman
from tertulia.state.optional import SCIPY, importing

Floats = NDArray[np.float64]

#: Penalties that are tried, in units of the mean square of a feature over all ablations.
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)

#: A difference in LDS for which no fewer heads are taken.
_NEARLY = 0.01

#: Most parts that sources are dealt to.
MOST_FOLDS = 8

#: Digits behind which sums of the same numbers, in another order, differ.
_DIGITS = 10


@dataclass(frozen=True)
class Ablations:
    """The ablations of one response.

    Attributes:
        kept: Which units each has, `(M, N)` of 0 and 1.
        values: The log-probability of the response after each, `(M,)`.
        source: The source of its case.
    """

    kept: Floats
    values: Floats
    source: str = ""


def lds(ablations: Ablations, scores: Sequence[float]) -> float | None:
    """Return the linear datamodeling score of scores of the units, in [−1, 1].

    0 for scores whose sums are all the same, as they tell nothing; `None` if the values are all the same.
    """
    if len(set(ablations.values.tolist())) < 2:
        return None
    given = np.asarray(scores, dtype=np.float64)
    size = float(np.abs(given).sum()) or 1.0
    sums = np.round(ablations.kept @ (given / size), _DIGITS)
    return spearman(sums, ablations.values) or 0.0


def top_units(scores: Sequence[float], k: int) -> tuple[int, ...]:
    """Return the places of the k highest scores, ascending; of equal ones those that come first."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    return tuple(sorted(order[:k].tolist()))


def calibrated(estimates: Sequence[float], losses: Sequence[float]) -> tuple[float, float]:
    """Return gain and floor, both ≥ 0, by which max(0, gain · estimate − floor) comes nearest to measured losses.

    Nearest is least squares of the share of a token's likelihood that is lost, 1 − exp(−loss): the beginning of a loss
    counts more than how large a large one is. A loss below 0 counts as 0. With nothing to go by they are 1 and 0.
    """
    given, measured = np.asarray(estimates, dtype=np.float64), np.maximum(0.0, np.asarray(losses, dtype=np.float64))
    if not measured.any() or not given.any():
        return 1.0, 0.0
    begins = np.unique([0.0, *given.tolist()])[:-1, None, None]
    gains = np.geomspace(0.1, 10.0, 201)[:, None] * measured.mean() / given.mean()
    predicted = gains * np.maximum(0.0, given - begins)  # (begins, gains, lines)
    errors = ((np.exp(-predicted) - np.exp(-measured)) ** 2).sum(-1)
    begin, gain = np.unravel_index(int(errors.argmin()), errors.shape)
    return float(gains[gain, 0]), float(gains[gain, 0] * begins[begin, 0, 0])


def rank_of_first(scores: Sequence[float], losses: Sequence[float]) -> int:
    """Return the place, from 1, that the unit with the highest score has by its measured loss."""
    (first,) = top_units(scores, 1)
    return 1 + sum(loss > losses[first] for loss in losses)


# --- a surrogate of one response ------------------------------------------------------------------------------------


def surrogate(ablations: Ablations) -> list[float]:
    """Return ContextCite's weight of each unit; how much is shrunk is chosen by leaving out one ablation at a time."""
    kept, values = _centred(ablations.kept), _centred(ablations.values)
    errors = [_left_out_error(kept, values, penalty) for penalty in PENALTIES]
    return [*map(float, _ridge(kept.T @ kept, kept.T @ values, PENALTIES[int(np.argmin(errors))]))]


def surrogate_lds(ablations: Ablations) -> float | None:
    """Return the LDS of the surrogate on ablations that it has not seen: fitted on each half, tested on the other."""
    halves = [Ablations(ablations.kept[at::2], ablations.values[at::2]) for at in (0, 1)]
    if min(len(half.values) for half in halves) < 3:
        return None
    found = [lds(tested, surrogate(fitted)) for fitted, tested in (halves, halves[::-1])]
    known = [rho for rho in found if rho is not None]
    return sum(known) / len(known) if known else None


def _left_out_error(features: Floats, values: Floats, penalty: float) -> float:
    """Return the mean squared error of each value predicted by the others."""
    gram = features.T @ features
    solved = np.linalg.solve(gram + _shrinking(gram, penalty), features.T)
    own = np.einsum("ij,ji->i", features, solved) + 1 / len(values)  # of the mean, too
    residuals = (values - features @ (solved @ values)) / np.maximum(1e-9, 1 - own)
    return float(np.mean(residuals**2))


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(0), dtype=np.float64)


def _shrinking(gram: Floats, penalty: float) -> Floats:
    """Return the matrix that is added to the products of features: a penalty in units of their mean square."""
    size = float(np.trace(gram)) / max(1, len(gram)) or 1.0
    return np.asarray(penalty * size * np.eye(len(gram)), dtype=np.float64)


def _ridge(gram: Floats, products: Floats, penalty: float) -> Floats:
    return np.asarray(np.linalg.solve(gram + _shrinking(gram, penalty), products), dtype=np.float64)


def _non_negative_ridge(gram: Floats, products: Floats, penalty: float) -> Floats:
    """Compute `_ridge` among weights of 0 or more."""
    with importing(*SCIPY):
        from scipy.linalg import cholesky, solve_triangular
        from scipy.optimize import nnls
    factor = cholesky(gram + _shrinking(gram, penalty))  # upper: |factor w − b|² is the sum of squares and a constant
    weights, _ = nnls(factor, solve_triangular(factor, products, trans="T"))
    return np.asarray(weights, dtype=np.float64)


# --- weights of heads, of all responses -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedHeads:
    """Learned weights of heads, `(F,)`, each 0 or more, and the record of their learning.

    Attributes:
        penalty: Of `PENALTIES`, the one that predicted the sources left out best.
        responses: How many they were learned from.
        sources: The sources of these.
    """

    weights: Floats
    penalty: float
    responses: int
    sources: tuple[str, ...]

    def scores(self, attention: Floats) -> list[float]:
        """Return the score of each unit, from the attention of every head to it, `(N, F)`."""
        return [*map(float, attention @ self.weights)]


#: Sums over ablations that ridge regression needs: products of features `(F, F)`, and with the values `(F,)`.
_Sums = tuple[Floats, Floats]


def folds_of(sources: Sequence[str]) -> dict[str, int]:
    """Return the part that each source is dealt to, from 0; at most `MOST_FOLDS`, and none of several sources is whole.

    Responses of a source are always in one part, so that nothing is tested on its training data.
    """
    distinct = sorted(set(sources))
    return {source: number % min(MOST_FOLDS, len(distinct)) for number, source in enumerate(distinct)}


def learn_heads(responses: Sequence[Ablations], attention: Sequence[Floats]) -> LearnedHeads | None:
    """Return weights of heads that are learned from all responses; `None` if their values tell nothing.

    How much is shrunk is chosen by leaving out parts of the sources; of one source it is 1.

    Args:
        attention: The attention of every head to each unit, `(N, F)` of each response.
    """
    folds = folds_of([response.source for response in responses])
    return _learned(responses, attention, folds, {*folds.values()})


def learn_elsewhere(responses: Sequence[Ablations], attention: Sequence[Floats]) -> dict[str, LearnedHeads]:
    """Return by source the weights that were learned without it; nothing if all are from one source."""
    folds = folds_of([response.source for response in responses])
    every = {*folds.values()}
    by_fold = {fold: _learned(responses, attention, folds, every - {fold}) for fold in sorted(every)}
    return {source: found for source, fold in folds.items() if (found := by_fold[fold]) is not None}


def _learned(
    responses: Sequence[Ablations], attention: Sequence[Floats], folds: Mapping[str, int], used: set[int]
) -> LearnedHeads | None:
    chosen = [at for at, response in enumerate(responses) if folds[response.source] in used]
    by_fold: dict[int, list[_Sums]] = {}
    for at in chosen:
        if (sums := _sums(responses[at], attention[at])) is not None:
            by_fold.setdefault(folds[responses[at].source], []).append(sums)
    if not by_fold:
        return None
    totals = {fold: _added(sums) for fold, sums in by_fold.items()}
    penalty = 1.0 if len(totals) < 2 else _best_penalty(responses, attention, folds, totals)
    gram, products = _added([*totals.values()])
    sources = tuple(sorted({responses[at].source for at in chosen}))
    return LearnedHeads(_non_negative_ridge(gram, products, penalty), penalty, len(chosen), sources)


def _best_penalty(
    responses: Sequence[Ablations], attention: Sequence[Floats], folds: Mapping[str, int], totals: Mapping[int, _Sums]
) -> float:
    """Return the largest penalty with nearly the highest mean LDS on parts that are left out, each in turn.

    A larger one rests on more heads.
    """
    found: dict[float, list[float]] = {penalty: [] for penalty in PENALTIES}
    for withheld in totals:
        gram, products = _added([sums for fold, sums in totals.items() if fold != withheld])
        tested = [at for at, response in enumerate(responses) if folds[response.source] == withheld]
        for penalty, of_penalty in found.items():
            weights = _non_negative_ridge(gram, products, penalty)
            of_penalty += [lds(responses[at], (attention[at] @ weights).tolist()) or 0.0 for at in tested]
    means = {penalty: float(np.mean(each)) for penalty, each in found.items()}
    return max(penalty for penalty, mean in means.items() if mean >= max(means.values()) - _NEARLY)


def _sums(response: Ablations, attention: Floats) -> _Sums | None:
    """Return the sums of one response; `None` if its values are all the same."""
    values = _centred(response.values)
    if not values.any():
        return None
    features = _centred(response.kept @ attention)
    return features.T @ features, features.T @ values


def _added(sums: Sequence[_Sums]) -> _Sums:
    gram, products = zip(*sums, strict=True)
    return np.sum(gram, axis=0), np.sum(products, axis=0)
