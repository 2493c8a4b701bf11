"""The memory of a run: each turn leaves no more behind than the store's own look-ups need, and caches fill up soon."""

import gc
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import pytest

import tertulia.storage.driven
import tertulia.storage.kept_contents
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
from tertulia.runs.planning.starting import begin, plan_run
from tertulia.storage.kept_contents import kept_contents
from tertulia.storage.store import SqlStore

#: By scenario: the turns at which objects are counted, and the objects that a turn may leave behind. A line of a
#: meeting may be recalled in all later rounds, so its text stays, and its embedding.
KINDS = {"tidewell": (30, 80, 80, 4), "meeting": (30, 80, 80, 15), "villagers": (32, 96, 6, 12)}

#: The turns after which a cache that grows in each turn is full.
FULL_AFTER = 2500


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path / "tertulia.db", create=True) as opened:
        yield opened


def caches() -> dict[str, Any]:
    """Return the caches of the package's functions, by their names."""
    found = [
        each for name, module in [*sys.modules.items()] if name.startswith("tertulia") for each in vars(module).values()
    ]
    return {f"{each.__module__}.{each.__name__}": each for each in found if isinstance(each, _lru_cache_wrapper)}


def sizes(store: SqlStore) -> dict[str, tuple[int, int | None]]:
    """Return how much each cache holds, and how much it may."""
    contents = kept_contents(store.file)
    held = {f"contents.{name}": len(getattr(contents, name)) for name in ("_texts", "_units", "_hashed")}
    most = tertulia.storage.kept_contents._MOST
    return {name: (held, most) for name, held in held.items()} | {
        name: (cache.cache_info().currsize, cache.cache_info().maxsize) for name, cache in caches().items()
    }


def objects(store: SqlStore) -> int:
    """Return how many objects Python holds, without those in caches."""
    for cache in caches().values():
        cache.cache_clear()
    kept_contents(store.file).forget_rows()
    kept_contents(store.file)._hashed.clear()
    gc.collect()
    return sys.getallocatedblocks()


def scenario_of(kind: str, folder: Path) -> str:
    """Return a scenario that does not end by itself."""
    if kind != "meeting":
        return kind
    shipped = Path(tertulia.__file__).parent / "worlds" / "meetings" / "team_building.yaml"
    long = folder / "long.yaml"
    lines = shipped.read_text(encoding="utf-8").splitlines()
    long.write_text("\n".join(line for line in lines if not line.startswith("ends: ")), encoding="utf-8")
    return str(long)


def drive(store: SqlStore, scenario: str, turns: int, emit: Any) -> None:
    request = RunRequest({"max_turns": turns, "ending": "off"}, model="rehearsal", seed=3)
    drive_run(store, begin(store, plan_run(scenario, request), ModelAccess()), emit)


@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_leaves_little_behind(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(tertulia.storage.driven, "_TURNS_KEPT", 20)
    monkeypatch.setattr(tertulia.storage.driven, "_PROMPTS_KEPT", 0)
    first, last, rounds, most = KINDS[kind]
    held: dict[int, int] = {}

    def count(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn.turn > first:
            held[event.turn.turn] = objects(store)

    drive(store, scenario_of(kind, tmp_path), rounds, count)
    begins, ends = (min(held[turn] for turn in range(until - 9, until + 1)) for until in (first + 10, last))
    print(kind, (ends - begins) / (last - first - 10))
    assert (ends - begins) / (last - first - 10) < most


def test_caches_of_a_dialogue_are_full_before_long(store: SqlStore) -> None:
    counted: list[dict[str, tuple[int, int | None]]] = []

    def count(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn.turn in (100, 200):
            counted.append(sizes(store))

    objects(store)
    drive(store, "tidewell", 201, count)
    for name, (held, most) in counted[1].items():
        grown = held - counted[0].get(name, (0, None))[0]
        assert grown < 10 or (most is not None and 100 * most / grown <= FULL_AFTER), (name, grown, most)
