"""Where `view RUN` opens the page."""

from datetime import datetime
from pathlib import Path

import pytest

import tertulia
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.town import Simulation, Town
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.places import place_of

NOW = datetime(2025, 5, 1)


def a_simulation(name: str) -> Simulation:
    return Simulation(
        simulation=name,
        status="finished",
        town="pier",
        model="rehearsal",
        embedder="rehearsal",
        seed=1,
        parameters={"removal_factor": 0.5},
        days=1,
        encounters_per_day=2,
        rehearsed=True,
        created=NOW,
    )


def test_a_run_and_a_simulation_are_named_by_the_beginning_of_their_ids(tmp_path: Path) -> None:
    path, town = tmp_path / "t.db", Town(name="pier", begins=NOW, residents=())
    run = tertulia.run("tidewell", rehearse=True, rounds=1, store=path, progress=False).id
    with SqlStore.open(path) as store:
        for name in ("_town_1", "_town_2"):
            store.simulations.create(a_simulation(name), town, {})
        assert place_of(store, run[:2]) == place_of(store, "@last") == f"#/runs/{run}"
        assert place_of(store, "_town_2") == "#/towns/_town_2"
        for unknown in ("_town_", "_town_3", "", "-"):
            with pytest.raises((NotFoundError, UsageError)):
                place_of(store, unknown)
        store.simulations.create(a_simulation("_other"), town, {})
        assert place_of(store, "_o") == "#/towns/_other"
