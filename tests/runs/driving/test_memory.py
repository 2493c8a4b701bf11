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
from tertulia.models.batching import BatchingBroker
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.driving.events import Event, TurnFinished, ignore
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import begin, plan_run
from tertulia.state.context import Context
from tertulia.storage.driven import DrivenStore
from tertulia.storage.kept_contents import kept_contents
from tertulia.storage.store import SqlStore

#: By scenario: the turns after which and until which objects are counted, the rounds, and the objects that a turn may
#: leave behind. Most of them are in caches of libraries; a line of a meeting stays, as it may be recalled later.
KINDS = {"tidewell": (30, 80, 80, 16), "meeting": (30, 80, 80, 22), "villagers": (32, 96, 6, 13)}

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


def drive(store: SqlStore, scenario: str, turns: int, emit: Any) -> Context:
    """Drive a rehearsed run of so many turns, and return its context."""
    request = RunRequest({"max_turns": turns, "ending": "off"}, model="rehearsal", seed=3)
    context = begin(store, plan_run(scenario, request), ModelAccess())
    drive_run(store, context, emit)
    return context


@pytest.mark.full
@pytest.mark.parametrize("kind", ["tidewell", "villagers"])  # a meeting leaves 13 to 27, too near the former 30
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
    assert (ends - begins) / (last - first - 10) < most


def test_caches_of_a_dialogue_are_full_before_long(store: SqlStore) -> None:
    counted: list[dict[str, tuple[int, int | None]]] = []

    def count(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn.turn in (60, 120):
            counted.append(sizes(store))

    objects(store)
    drive(store, "tidewell", 120, count)
    for name, (held, most) in counted[1].items():
        grown = held - counted[0].get(name, (0, None))[0]
        assert grown < 6 or (most is not None and 60 * most / grown <= FULL_AFTER), (name, grown, most)


@pytest.mark.parametrize(("kind", "rounds"), [("tidewell", 12), ("meeting", 12), ("villagers", 4)])
def test_calls_of_earlier_turns_are_looked_up_in_the_store(
    store: SqlStore, tmp_path: Path, kind: str, rounds: int
) -> None:
    context = drive(store, scenario_of(kind, tmp_path), rounds, ignore)
    driven = context.store
    assert isinstance(driven, DrivenStore)
    assert isinstance(context.broker, BatchingBroker)
    last = max(driven._called)
    assert min(driven._called) >= last - 2
    assert {round for round, _, _ in context.broker._journal._attempts} <= {0, *range(last - 15, last + 1)}
    calls = store.calls(context.run)
    asked = {(call.round, call.agent, call.node, call.attempt): call for call in calls}
    assert len(asked) == len(calls)
    assert all(driven.call(context.run, *key) == call for key, call in asked.items())
