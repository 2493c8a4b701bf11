"""LDS, surrogates and head weights on made ablations, of which it is known what the values depend on."""

from __future__ import annotations

import numpy as np
import pytest
from support.on_use import on_use

from tertulia.metrics import faithfulness
from tertulia.metrics.faithfulness import (
    Ablations,
    calibrated,
    folds_of,
    lds,
    learn_elsewhere,
    learn_heads,
    surrogate,
    surrogate_lds,
)

stats = on_use("scipy.stats")

UNITS, MANY = 12, 64


def made(
    rng: np.random.Generator, effects: np.ndarray, noise: float = 0.1, count: int = MANY, source: str = ""
) -> Ablations:
    kept = (rng.random((count, len(effects))) < 0.5).astype(float)
    return Ablations(kept, kept @ effects + noise * rng.normal(size=count), source)


def test_true_effects_have_an_lds_near_1_chance_near_0_and_the_reverse_near_minus_1() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(40):
        effects = rng.gamma(1.0, size=UNITS)
        ablations = made(rng, effects)
        found.append([lds(ablations, scores) for scores in (effects, rng.random(UNITS), -effects)])
    true, chance, reversed_ = np.array(found, dtype=float).mean(0)
    assert true > 0.95
    assert reversed_ < -0.95
    assert 0.2 < chance < 0.7, "random positive scores still tell how much is kept"
    centred = [lds(made(rng, rng.normal(size=UNITS)), rng.normal(size=UNITS)) or 0.0 for _ in range(200)]
    assert abs(np.mean(centred)) < 0.08


def test_scores_that_say_nothing_have_0_and_values_that_say_nothing_none() -> None:
    rng = np.random.default_rng(2)
    ablations = made(rng, rng.normal(size=UNITS))
    assert lds(ablations, [0.0] * UNITS) == 0.0
    assert lds(Ablations(ablations.kept, np.ones(MANY)), [1.0] * UNITS) is None
    counts = ablations.kept.sum(1)
    assert lds(ablations, [0.1] * UNITS) == pytest.approx(stats.spearmanr(counts, ablations.values).statistic)


def test_the_surrogate_finds_the_effects_and_is_tested_on_what_it_has_not_seen() -> None:
    rng = np.random.default_rng(3)
    effects = rng.normal(size=UNITS)
    ablations = made(rng, effects, noise=0.05)
    assert surrogate(ablations) == pytest.approx(effects, abs=0.1)
    assert (surrogate_lds(ablations) or 0) > 0.95
    noise = [surrogate_lds(Ablations(ablations.kept, rng.normal(size=MANY))) or 0.0 for _ in range(100)]
    assert abs(np.mean(noise)) < 0.08, "fitted and tested on the same it would be far above 0"
    assert surrogate_lds(made(rng, effects, count=4)) is None


def planted(rng: np.random.Generator, true: np.ndarray, sources: int = 8) -> tuple[list[Ablations], list[np.ndarray]]:
    """Return responses whose units count by the attention of two heads."""
    attention = [rng.gamma(0.5, size=(UNITS, len(true))) for _ in range(2 * sources)]
    responses = [
        made(rng, each @ true, noise=0.3, count=32, source=f"town {at // 2}") for at, each in enumerate(attention)
    ]
    return responses, attention


def test_planted_weights_of_heads_are_recovered_and_predict_sources_that_were_not_seen() -> None:
    rng = np.random.default_rng(4)
    true = np.zeros(40)
    true[[7, 31]] = 1.0, 0.6
    responses, attention = planted(rng, true)
    learned = learn_heads(responses, attention)
    assert learned is not None
    assert np.corrcoef(learned.weights, true)[0, 1] > 0.95
    assert learned.weights.min() >= 0
    assert np.argsort(-learned.weights)[:2].tolist() == [7, 31]
    assert learned.weights[31] / learned.weights[7] == pytest.approx(0.6, abs=0.1)
    elsewhere = learn_elsewhere(responses, attention)
    tested = [lds(each, elsewhere[each.source].scores(heads)) for each, heads in zip(responses, attention, strict=True)]
    summed = [lds(each, heads.sum(1).tolist()) for each, heads in zip(responses, attention, strict=True)]
    assert np.mean(np.array(tested, dtype=float)) > 0.9
    assert np.mean(np.array(tested, dtype=float)) > np.mean(np.array(summed, dtype=float)) + 0.2


def test_estimates_are_brought_to_the_measured_losses_from_where_these_begin() -> None:
    rng = np.random.default_rng(7)
    estimates = rng.uniform(0, 3, size=200)
    losses = np.maximum(0, 0.5 * estimates - 0.2) + rng.normal(0, 0.02, size=200)
    gain, floor = calibrated(estimates.tolist(), losses.tolist())
    assert (gain, floor) == (pytest.approx(0.5, abs=0.04), pytest.approx(0.2, abs=0.04))
    assert calibrated([1.0, 2.0], [0.0, -1.0]) == (1.0, 0.0)
    assert calibrated([], []) == (1.0, 0.0)


def test_no_source_is_tested_by_weights_that_were_learned_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    responses, attention = planted(rng, rng.normal(size=6), sources=11)
    folds = folds_of([response.source for response in responses])
    assert len(folds) == 11
    assert max(folds.values()) == faithfulness.MOST_FOLDS - 1
    found = learn_elsewhere(responses, attention)
    assert found.keys() == folds.keys()
    for source, weights in found.items():
        assert source not in weights.sources
        assert all(folds[used] != folds[source] for used in weights.sources)
    read: list[int] = []
    sums_of = faithfulness._sums

    def watched(response: Ablations, heads: np.ndarray) -> object:
        read.append(id(response))
        return sums_of(response, heads)

    monkeypatch.setattr(faithfulness, "_sums", watched)
    of_first = [response for response in responses if folds[response.source] == 0]
    faithfulness._learned(responses, attention, folds, set(folds.values()) - {0})
    assert not {id(response) for response in of_first} & {*read}, "not even for the choice of the penalty"


def test_of_one_source_weights_are_learned_but_not_tested() -> None:
    rng = np.random.default_rng(6)
    responses, attention = planted(rng, rng.normal(size=6), sources=1)
    assert learn_heads(responses, attention) is not None
    assert learn_elsewhere(responses, attention) == {}
    silent = [Ablations(each.kept, np.ones(32), each.source) for each in responses]
    assert learn_heads(silent, attention) is None
