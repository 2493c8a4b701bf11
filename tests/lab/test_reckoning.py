"""What a table would take on many workers, reckoned from parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reckoning import Parts, TableSize, gpu_s, speedup, town_s, wall_s, work_s, workers_of_driver

SIZE = TableSize(cases=2, trials=10, settings=5, utterances=4, cohort=10)  # ten cohorts
PARTS = Parts(model_s=1.5, own_s=0.5, start_s=7.0, merge_s=0.1)

seconds = st.floats(0.001, 100)


def test_one_worker_takes_all_the_work_and_the_last_merge() -> None:
    assert work_s(SIZE, PARTS) == pytest.approx(800)
    assert wall_s(SIZE, PARTS, 1) == pytest.approx(7 + 800 + 1)


def test_workers_come_in_whole_cohorts() -> None:
    assert wall_s(SIZE, PARTS, 5) == pytest.approx(7 + 160 + 1)
    assert wall_s(SIZE, PARTS, 6) == wall_s(SIZE, PARTS, 5)
    assert wall_s(SIZE, PARTS, 1000) == wall_s(SIZE, PARTS, 10)


def test_the_driver_is_the_bound_where_merging_takes_longer() -> None:
    slow = Parts(model_s=1.5, own_s=0.5, start_s=7.0, merge_s=2.0)
    assert workers_of_driver(SIZE, slow) == pytest.approx(4)
    assert wall_s(SIZE, slow, 10) == pytest.approx(7 + 200 + 20)


@given(seconds, seconds, seconds, seconds, st.integers(1, 2000))
def test_more_workers_never_take_longer_nor_gain_more_than_their_number(
    model_s: float, own_s: float, start_s: float, merge_s: float, workers: int
) -> None:
    parts = Parts(model_s, own_s, start_s, merge_s)
    assert wall_s(SIZE, parts, workers + 1) <= wall_s(SIZE, parts, workers)
    assert 1 <= speedup(SIZE, parts, workers) <= workers * (1 + 1e-9)


def test_tokens_of_a_gpu_and_days_of_a_town() -> None:
    assert gpu_s(1000, 50, read_per_s=10_000, written_per_s=500) == pytest.approx(0.2)
    assert town_s(encounters=30, utterances=4, utterance_s=2.0, encounter_s=1.0) == pytest.approx(270)
