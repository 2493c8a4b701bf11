"""Algorithm 1, by examples, by its invariants, and against the paper's pseudocode written out; and its placebo."""

import random
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.nodes.utterance.prune import WALKS, chosen_units, prune_units
from tertulia.nodes.utterance.walks.placebo import as_many_words
from tertulia.prompts.remove import remove_units, removed_with_blocks
from tertulia.state.parameters import REMOVAL_TOLERANCE, Parameters, Walk
from tertulia.state.records import Prompt, Unit

SCORES = st.lists(st.integers(0, 1000).map(lambda n: n / 1024), min_size=1, max_size=25)  # exact in binary
FACTORS = st.integers(0, 64).map(lambda n: n / 64)
ORDERS = st.sampled_from(["descending", "ascending"])


def _units(scores: list[float], removable: list[bool] | None = None) -> tuple[list[Unit], dict[str, float]]:
    flags = removable or [True] * len(scores)
    units = [Unit(id=f"u{i}", block="memory", kind="item", text="x", removable=flag) for i, flag in enumerate(flags)]
    return units, {f"u{i}": score for i, score in enumerate(scores)}


def _as_printed(scores: list[float], factor: float, descending: bool) -> list[str]:
    """Algorithm 1 line by line, in floating point."""
    walk = sorted(range(len(scores)), key=lambda i: -scores[i] if descending else scores[i])
    target, current_sum, removed = factor * sum(scores), 0.0, []
    for u in walk:
        if current_sum + scores[u] <= target:
            current_sum = current_sum + scores[u]
            removed.append(f"u{u}")
        if current_sum >= target:
            break
    return removed


@pytest.mark.parametrize(
    ("scores", "factor", "order", "removed"),
    [
        ([5, 3, 2], 0.5, "descending", ["u0"]),
        ([5, 3, 2], 0.7, "descending", ["u0", "u2"]),  # 3 would overshoot: passed over, and the walk goes on
        ([5, 3, 2], 0.7, "ascending", ["u2", "u1"]),
        ([8, 1, 1], 0.3, "descending", ["u1", "u2"]),
        ([2, 2, 2, 2], 0.5, "descending", ["u0", "u1"]),  # ties in prompt order
        ([0.5, 0.3, 0.2], 0.7, "descending", ["u0", "u2"]),
        ([0.1] * 10, 0.3, "descending", ["u0", "u1", "u2"]),  # 0.1 + 0.1 + 0.1 > 0.3 in floating point
        ([0.1, 0.7, 0.2], 1, "descending", ["u1", "u2", "u0"]),
        ([2, 2, 0], 0.5, "descending", ["u0"]),  # at the target itself the walk ends, before a unit of score 0
        ([4, 4], 0.25, "descending", []),  # nothing fits
        ([5, 3], 0, "descending", []),
    ],
)
def test_examples(scores: list[float], factor: float, order, removed: list[str]) -> None:
    units, by_id = _units(scores)
    assert prune_units(units, by_id, factor, order) == removed


@given(SCORES, FACTORS, ORDERS)
def test_equals_the_pseudocode_where_floats_are_exact(scores: list[float], factor: float, order) -> None:
    units, by_id = _units(scores)
    if factor > 0:
        assert prune_units(units, by_id, factor, order) == _as_printed(scores, factor, order == "descending")


@given(st.lists(st.floats(0, 50, allow_subnormal=False), min_size=1, max_size=40), st.floats(0, 1), ORDERS)
def test_never_more_than_the_target_and_nothing_more_fits(scores: list[float], factor: float, order) -> None:
    units, by_id = _units(scores)
    removed = prune_units(units, by_id, factor, order)
    taken, total = sum(by_id[u] for u in removed), sum(scores)
    assert taken <= factor * total * (1 + 1e-9) + 1e-12
    if order == "descending" and taken < factor * total * (1 - 1e-9):
        left = [by_id[unit.id] for unit in units if unit.id not in removed]
        assert all(taken + score > factor * total * (1 - 1e-9) for score in left)


@given(st.lists(st.floats(0, 50, allow_subnormal=False), min_size=1, max_size=40), ORDERS)
def test_lambda_one_removes_all_whatever_the_rounding(scores: list[float], order) -> None:
    units, by_id = _units(scores)
    removed = prune_units(units, by_id, 1.0, order)
    assert {u for u in by_id if by_id[u] > 0} <= set(removed)


@given(SCORES, FACTORS, st.data())
def test_only_removable_units_count(scores: list[float], factor: float, data) -> None:
    flags = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    units, by_id = _units(scores, flags)
    only = [unit for unit in units if unit.removable]
    assert prune_units(units, by_id, factor) == prune_units(only, by_id, factor)


@pytest.mark.parametrize("factor", [-0.1, 1.1, float("nan")])
def test_a_factor_outside_its_range_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="removal_factor"):
        prune_units([], {}, factor)


def test_a_block_goes_with_its_last_item() -> None:
    def unit(id: str, block: str, kind) -> Unit:
        return Unit(id=id, block=block, kind=kind, text=id, removable=kind == "item")

    prompt = Prompt(
        units=(
            unit("lead", "memory", "text"),
            unit("m1", "memory", "item"),
            unit("m2", "memory", "item"),
            unit("plead", "previous_dialogues", "text"),
            unit("p1", "previous_dialogues", "item"),
            unit("ptail", "previous_dialogues", "text"),
            unit("task", "task", "text"),
        ),
        speaker="A",
        layout="single_message",
    )
    assert removed_with_blocks(prompt, ["m1"]) == ("m1",)
    assert removed_with_blocks(prompt, ["p1", "m1"]) == ("m1", "plead", "p1", "ptail")
    assert [u.id for u in remove_units(prompt, ["p1", "m2", "m1"]).units] == ["task"]
    assert remove_units(prompt, []) == prompt


# --- the calmer walks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "factor", "order", "first_overshoot", "nearest"),
    [
        ([5, 3, 2], 0.7, "descending", ["u0"], ["u0", "u1"]),  # 5 + 3 is 1 above 7, 5 is 2 below
        ([5, 3, 2], 0.6, "descending", ["u0"], ["u0"]),  # 2 above, 1 below
        ([5, 4, 1], 0.7, "descending", ["u0"], ["u0"]),  # equally near: the smaller
        ([8, 1, 1], 0.3, "descending", [], []),
        ([8, 1, 1], 0.5, "descending", [], ["u0"]),
        ([5, 3, 2], 0.7, "ascending", ["u2", "u1"], ["u2", "u1"]),
        ([0.1] * 10, 0.3, "descending", ["u0", "u1", "u2"], ["u0", "u1", "u2"]),
        ([0.1, 0.7, 0.2], 1, "descending", ["u1", "u2", "u0"], ["u1", "u2", "u0"]),
    ],
)
def test_calmer_walks_by_example(scores, factor: float, order, first_overshoot: list[str], nearest: list[str]) -> None:
    units, by_id = _units(scores)
    assert WALKS["first_overshoot"](units, by_id, factor, order) == first_overshoot
    assert WALKS["nearest"](units, by_id, factor, order) == nearest


@given(SCORES, FACTORS, ORDERS)
def test_a_calmer_walk_removes_a_beginning_of_the_order(scores: list[float], factor: float, order) -> None:
    units, by_id = _units(scores)
    visited = [f"u{i}" for i in sorted(range(len(scores)), key=lambda i: scores[i], reverse=order == "descending")]
    total, target = sum(scores), factor * sum(scores)
    before = WALKS["first_overshoot"](units, by_id, factor, order)
    nearest = WALKS["nearest"](units, by_id, factor, order)
    assert before == visited[: len(before)]
    assert nearest in (before, visited[: len(before) + 1])
    taken = sum(by_id[unit] for unit in before)
    assert taken <= target
    if taken < target:  # the next would overshoot, and no beginning of the order is nearer than the nearest walk's
        assert taken + by_id[visited[len(before)]] > target
        sums = [sum(by_id[unit] for unit in visited[:n]) for n in range(len(visited) + 1)]
        if factor:
            assert abs(sum(by_id[unit] for unit in nearest) - target) == min(abs(s - target) for s in sums)
    if factor == 1 and total:
        assert sum(by_id[unit] for unit in nearest) == total


@given(SCORES, ORDERS, st.sampled_from(["first_overshoot", "nearest"]), st.lists(FACTORS, min_size=2, max_size=2))
def test_a_calmer_walk_is_nested_in_that_of_a_greater_lambda(scores: list[float], order, walk, factors) -> None:
    units, by_id = _units(scores)
    less, more = (set(WALKS[walk](units, by_id, factor, order)) for factor in sorted(factors))
    assert less <= more


# --- the calm walk --------------------------------------------------------------------------------------------------


def _share(removed: list[str], by_id: dict[str, float]) -> float:
    return sum(by_id[unit] for unit in removed) / sum(by_id.values())


@pytest.mark.parametrize(
    ("scores", "factor", "order", "removed"),
    [
        ([50, 29, 11, 8, 2], 0.8, "descending", ["u0", "u1"]),  # 0.79 is near enough: the paper's walk goes on
        ([50, 31, 11, 8], 0.8, "descending", ["u0", "u1"]),  # 0.81 is, too
        ([50, 34, 9, 5, 2], 0.6, "descending", ["u0", "u2"]),  # 34 is passed over, 0.59 is near enough
        ([43, 30, 27], 0.57, "descending", ["u1", "u2"]),  # behind the first unit, with which 0.7 is the nearest
        ([78, 12, 10], 0.7, "descending", ["u0"]),  # all others together have 0.22
        ([78, 12, 10], 0.3, "descending", ["u1", "u2"]),
        ([90, 9, 1], 1, "descending", ["u0", "u1", "u2"]),
        ([90, 9, 1], 0.01, "descending", ["u2"]),
        ([5, 3, 2], 0.7, "ascending", ["u1", "u0"]),
        ([0, 0], 0.5, "descending", []),
    ],
)
def test_the_calm_walk_by_example(scores: list[float], factor: float, order, removed: list[str]) -> None:
    units, by_id = _units(scores)
    assert WALKS["calm"](units, by_id, factor, order) == removed


@given(SCORES, FACTORS, ORDERS)
def test_no_walk_is_nearer_than_the_calm_one_unless_both_are_near_enough(scores: list[float], factor, order) -> None:
    units, by_id = _units(scores)
    if not sum(scores):
        return
    off = {walk: abs(_share(WALKS[walk](units, by_id, factor, order), by_id) - factor) for walk in get_args(Walk)}
    tolerance = min(REMOVAL_TOLERANCE, factor / 2, (1 - factor) / 2)
    assert off["calm"] <= max(tolerance, min(off.values())) + 1e-9


@given(st.lists(st.floats(0, 50, allow_subnormal=False), min_size=1, max_size=40), ORDERS)
def test_the_calm_walk_removes_all_at_one(scores: list[float], order) -> None:
    units, by_id = _units(scores)
    assert {u for u in by_id if by_id[u] > 0} <= set(WALKS["calm"](units, by_id, 1.0, order))


# --- the placebo ----------------------------------------------------------------------------------------------------

_LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=25)


def _of_lengths(lengths: list[int]) -> list[Unit]:
    return [
        Unit(id=f"u{i}", block="memory", kind="item", text="word " * length, removable=True)
        for i, length in enumerate(lengths)
    ]


@given(_LENGTHS, st.data(), st.integers(0, 999))
def test_a_placebo_has_about_as_many_words_as_what_lambda_removes(lengths: list[int], data, seed: int) -> None:
    units = _of_lengths(lengths)
    removed = [unit.id for unit in units if data.draw(st.booleans())]
    taken = as_many_words(units, removed, random.Random(seed))
    assert taken == as_many_words(units, removed, random.Random(seed))
    assert len(set(taken)) == len(taken)
    words = dict(zip((unit.id for unit in units), lengths, strict=True))
    missing = sum(words[unit] for unit in removed) - sum(words[unit] for unit in taken)
    # No unit that was passed over at the end would bring it nearer.
    assert all(abs(missing - words[unit.id]) >= abs(missing) for unit in units if unit.id not in taken)
    if len(removed) in (0, len(units)):
        assert taken == removed


def test_a_placebo_takes_a_unit_that_has_just_the_missing_words() -> None:
    units = _of_lengths([5, 3])
    assert {*(tuple(as_many_words(units, ["u0"], random.Random(seed))) for seed in range(20))} == {("u0",), ("u1",)}


def test_a_placebo_takes_any_unit_whatever_its_score() -> None:
    units, scores = _of_lengths([10] * 12), {f"u{i}": 12.0 - i for i in range(12)}
    parameters = Parameters().with_settings({"removal_order": "placebo"})
    by_score = prune_units(units, scores, 0.5)
    drawn = [chosen_units(units, scores, 0.5, parameters, random.Random(seed)) for seed in range(200)]
    assert {len(taken) for taken in drawn} == {len(by_score)}
    assert {unit for taken in drawn for unit in taken} == set(scores)
    assert sum(set(taken) == set(by_score) for taken in drawn) < 10


@given(_LENGTHS, st.integers(0, 999))
def test_a_placebo_at_more_goes_on_where_it_stopped_at_less(lengths: list[int], seed: int) -> None:
    # The order is drawn once for all λ; of units of one length more are a continuation of fewer.
    units = _of_lengths([5] * len(lengths))
    taken = [as_many_words(units, [f"u{i}" for i in range(n)], random.Random(seed)) for n in range(len(units))]
    assert all(more[: len(less)] == less for less, more in pairwise(taken))
