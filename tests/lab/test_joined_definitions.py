"""What several stores have of one experiment, joined in whatever order they are merged."""

import itertools
from pathlib import Path

import pytest

from tertulia.lab.experiments.experiment import Experiment, joined_definitions
from tertulia.state.errors import UsageError
from tertulia.storage.merging.stores import merge
from tertulia.storage.store import SqlStore

#: By what each store asked for: cases, values of λ, trials, description.
ASKED = [
    (["tidewell:2"], ["λ = 0", "λ = 1"], 2, ""),
    (["tidewell:10"], ["λ = 1", "λ = 0.5"], 3, "with more trials"),
    (["tidewell:2", "tidewell:1"], ["λ = 0", "λ = 1", "λ = 0.2"], 1, "more of λ"),
]


def an_experiment(cases: list[str], settings: list[str], trials: int, description: str, seed: int = 1) -> Experiment:
    values = {name: {"removal_factor": float(name.removeprefix("λ = "))} for name in settings}
    return Experiment(
        name="pilot", cases=tuple(cases), settings=values, trials=trials, description=description, seed=seed
    )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Stores in which an experiment was begun, one after the other."""
    folder = tmp_path_factory.mktemp("begun")
    paths = [folder / f"{number}.db" for number in range(len(ASKED))]
    for path, asked in zip(paths, ASKED, strict=True):
        with SqlStore.open(path, create=True) as store:
            store.experiments.save("pilot", an_experiment(*asked).model_dump(mode="json"))
    return paths


@pytest.mark.parametrize("order", [*itertools.permutations(range(len(ASKED)))])
def test_a_joined_experiment_is_the_same_in_any_order(
    stores: list[Path], tmp_path: Path, order: tuple[int, ...]
) -> None:
    with SqlStore.open(tmp_path / "into.db", create=True) as target:
        for number in (*order, order[0]):
            with SqlStore.open(stores[number]) as source:
                assert not merge(source, target, joined=joined_definitions).refused
        found = Experiment.model_validate(target.experiments.get("pilot").definition)
    assert found.cases == ("tidewell:2", "tidewell:1", "tidewell:10")
    assert [*found.settings] == ["λ = 0", "λ = 0.2", "λ = 0.5", "λ = 1"]
    assert (found.trials, found.description) == (3, "with more trials")


def test_what_was_added_later_stands_behind_what_there_was() -> None:
    asked = an_experiment(["tidewell:2"], ["λ = 1", "λ = 0"], 2, "")
    more = an_experiment(["tidewell:2", "tidewell:1"], ["λ = 1", "λ = 0", "λ = 0.5"], 2, "")
    joined = joined_definitions(asked.model_dump(mode="json"), more.model_dump(mode="json"))
    assert joined == more.model_dump(mode="json")


def test_experiments_that_differ_in_what_is_fixed_are_not_joined() -> None:
    one, another = (an_experiment(*ASKED[0], seed=seed).model_dump(mode="json") for seed in (1, 2))
    with pytest.raises(UsageError, match="seed was 1, and is 2"):
        joined_definitions(one, another)


def test_a_definition_that_is_none_does_not_come_into_a_store(tmp_path: Path) -> None:
    with (
        SqlStore.open(tmp_path / "source.db", create=True) as source,
        SqlStore.open(tmp_path / "into.db", True) as into,
    ):
        source.experiments.save("pilot", {"x": 1})
        found = merge(source, into, joined=joined_definitions)
        assert "its definition is damaged" in found.refused["experiment pilot"]
        assert not into.experiments.all()
