"""Two shards of eight runs, merged in any order: every kind of run of the merged store resumes, forks and diffs."""

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.store_content import content, differences

from tertulia.api.launching import RunLauncher
from tertulia.api.running import diff
from tertulia.api.stores import Store, open_store
from tertulia.runs.driving.events import Event, StepStarted
from tertulia.runs.files.merging import merge_stores
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, plan_run

pytestmark = pytest.mark.full

SHARDS, RUNS = 2, 8

#: How many steps of which turn an interrupted run had begun.
INTERRUPTED = ((1, 4), (2, 3))


class Shard:
    """A worker's store, to which it rehearses runs one after the other."""

    def __init__(self, path: Path, plans: dict[str, RunPlan]) -> None:
        self.store, self.plans = Store(path), plans
        self._launcher = RunLauncher(self.store, None, None, None)

    def rehearse(self, plan: str, seed: int, stop: tuple[int, int] | None = None) -> None:
        """Run a conversation to its end, or until a number of steps of a turn were begun."""
        steps = Counter[int]()

        def emit(event: Event) -> None:
            if isinstance(event, StepStarted):
                steps[event.turn] += 1
                if (event.turn, steps[event.turn]) == stop:
                    raise KeyboardInterrupt

        drive = self._launcher.drive(self._launcher.beginning(replace(self.plans[plan], seed=seed)), None)
        if stop is None:
            drive(emit)
        else:
            with pytest.raises(KeyboardInterrupt):
                drive(emit)

    def fill(self, number: int) -> None:
        """Rehearse finished runs, two that were interrupted in mid-turn, forks, and in one shard a group chat."""
        self.rehearse("group" if not number else "long", number)
        for seed in (11, 12):
            self.rehearse("short", 100 * number + seed)
        for seed, stop in enumerate(INTERRUPTED, start=11):  # the next shard has them undisturbed
            self.rehearse("short", 100 * ((number + 1) % SHARDS) + seed, stop)
        finished = [run for run in self.store.runs() if run.status == "finished"]
        unchanged = finished[0].fork(at=2, progress=False)
        finished[-1].fork(at=2, removal_factor=0.4, seed=7, progress=False)
        unchanged.fork(at=1, progress=False, label="of a fork")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Stores with as many runs each; no two runs have one id, as an experiment sees to."""
    folder = tmp_path_factory.mktemp("shards")
    paths = [folder / f"{number}.db" for number in range(SHARDS)]

    def plan(scenario: str, rounds: int) -> RunPlan:
        settings = {"ending": "continuation", "ending_threshold": 1} if scenario == "tidewell" else {}
        return plan_run(scenario, RunRequest({**settings, "max_turns": rounds}, model="rehearsal", seed=0))

    plans = {"short": plan("tidewell", 2), "long": plan("tidewell", 3), "group": plan("mothers_house", 2)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tertulia.storage.parts.runs.secrets.choice", random.Random(17).choice)
        for number, path in enumerate(paths):
            Shard(path, plans).fill(number)
        yield paths


def union(shards: list[Path], into: Path) -> Path:
    assert all(source.is_whole for source in merge_stores([*map(str, shards)], into))
    return into


@pytest.fixture(scope="module")
def merged(shards: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shards merged in their order."""
    return union(shards, tmp_path_factory.mktemp("whole") / "whole.db")


def test_shards_are_the_same_store_in_any_order(shards: list[Path], merged: Path, tmp_path: Path) -> None:
    into = union(shards[::-1], tmp_path / "into.db")
    expected = content(merged, is_in_order=False)
    assert not differences(expected, content(into, is_in_order=False))
    assert all(len(source.merged.unchanged) == RUNS for source in merge_stores([*map(str, shards)], into))
    assert not differences(expected, content(into, is_in_order=False))


def test_every_run_of_a_merged_store_goes_on(shards: list[Path], merged: Path, tmp_path: Path) -> None:
    store = open_store(shutil.copy(merged, tmp_path / "into.db"))
    runs = store.runs()
    assert len(runs) == RUNS * SHARDS
    unfinished = [run for run in runs if run.status == "interrupted"]
    assert len(unfinished) == len(INTERRUPTED) * SHARDS
    twins = {run.seed: run for run in runs if run.status == "finished" and run.parent is None}
    for run in unfinished:
        run.resume(progress=False)
        assert run.status == "finished"
        assert diff(run, twins[run.seed]).is_same, run
    for run in map(store.run, [run.id for run in Store(shards[0]).runs()]):  # of every kind
        fork = run.fork(at=2, progress=False)
        assert diff(run, fork).is_same, run
