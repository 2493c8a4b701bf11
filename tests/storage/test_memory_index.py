"""Memories of a long stream by an index: as good as the exact scan, and the same whenever it is made."""

import random
import zlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import pytest

from tertulia.nodes.shared.memory import best_of, recall, retrieve_memories
from tertulia.state.errors import StorageError
from tertulia.state.parameters import Parameters
from tertulia.state.records import Memory, Participant, Persona, Remembered, Stream
from tertulia.state.store import Recollection
from tertulia.state.town import Simulation, Town
from tertulia.storage.parts.memory_index import MemoryIndex
from tertulia.storage.store import SqlStore

NOW = datetime(2026, 5, 6, 9, 30)
DIMENSIONS = 96


class Themes:
    """An embedder whose texts `THEME:NUMBER` lie around their themes, as sentences about one thing do."""

    id = "themes"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [_vector(text) for text in texts]

    embed_untruncated = embed


@cache
def _vector(text: str) -> list[float]:
    theme = np.array(random.Random(text.partition(":")[0]).choices((-1, 1), k=DIMENSIONS))
    vector = theme + np.random.default_rng(zlib.crc32(text.encode())).normal(0, 1.2, DIMENSIONS) + 0.6
    # As the store keeps it: in half precision.
    return [float(value) for value in (vector / np.linalg.norm(vector)).astype(np.float16)]


def a_stream(count: int, seed: int = 1) -> list[Remembered]:
    drawn = random.Random(seed)
    ages_h = sorted((drawn.random() * count / 4 for _ in range(count)), reverse=True)  # a hundred a day
    return [
        Remembered(
            id=f"m{at}",
            kind="event",
            text=f"{drawn.randrange(40)}:{at}",
            created=NOW - timedelta(hours=age_h + 1),
            importance=drawn.randint(1, 10),
        )
        for at, age_h in enumerate(ages_h, start=1)
    ]


def indexed(memories: Sequence[Remembered]) -> MemoryIndex:
    index = MemoryIndex()
    for number, (memory, vector) in enumerate(
        zip(memories, Themes().embed([m.text for m in memories]), strict=True), 1
    ):
        index.add(number, memory, np.array(vector, np.float16))
    return index


def asked(index: MemoryIndex, length: int, points: Sequence[str], *without: str) -> Recollection:
    return index.recollect(length, without, Themes().embed(list(points)), Parameters())


LONG = a_stream(5000)


@pytest.fixture(scope="module")
def long_index() -> MemoryIndex:
    return indexed(LONG)


def test_of_five_thousand_it_finds_what_the_exact_scan_finds(long_index: MemoryIndex) -> None:
    shares = []
    for trial in range(20):
        points = [f"{trial}:now", f"{trial + 7}:then", f"{trial + 19}:said"]
        exact = retrieve_memories(LONG, points, NOW, Themes(), Parameters())
        found = asked(long_index, 5000, points)
        assert len(found.numbers) < 4500, "it looked at nearly everything"
        best = {f"m{number}" for number in best_of(found, Parameters())}
        shares.append(len(best & {memory.id for memory in exact}) / len(exact))
    assert sum(shares) / len(shares) >= 0.98
    assert min(shares) >= 0.9


def test_what_came_later_makes_no_difference(long_index: MemoryIndex) -> None:
    shorter = indexed(LONG[:4500])
    for trial in range(5):
        points = [f"{trial}:now", f"{trial}:then"]
        assert asked(long_index, 4500, points) == asked(shorter, 4500, points)


def test_a_short_stream_is_looked_at_whole() -> None:
    stream = a_stream(300)
    found = asked(indexed(stream), 300, ["1:now", "2:then"])
    assert list(found.numbers) == list(range(1, 301))
    exact = retrieve_memories(stream, ["1:now", "2:then"], NOW, Themes(), Parameters())
    assert [f"m{number}" for number in best_of(found, Parameters())] == [memory.id for memory in exact]


def a_memory(number: int, text: str, kind: str = "event") -> Remembered:
    return Remembered.model_validate(
        {"id": f"m{number}", "kind": kind, "text": text, "created": NOW - timedelta(hours=9 - number), "importance": 5}
    )


def test_chats_idle_things_what_is_passed_over_and_what_comes_again() -> None:
    told = (("1:a",), ("the oven is idle",), ("1:b", "chat"), ("2:c",), ("1:a",), ("3:d",))
    index = indexed([a_memory(number, *words) for number, words in enumerate(told, start=1)])
    assert list(asked(index, 4, ["1:x"]).numbers) == [1, 4]
    assert list(asked(index, 6, ["1:x"]).numbers) == [4, 5, 6], "of the same text the latest, as of that length"
    assert list(asked(index, 6, ["1:x"], "m4", "m6", "no such id").numbers) == [5]
    assert list(asked(index, 0, ["1:x"]).numbers) == []
    assert list(asked(index, 1, ["1:x"], "m1").numbers) == []


# --- in the store ---------------------------------------------------------------------------------------------------


def a_simulation() -> Simulation:
    names = {"simulation": "town", "status": "running", "town": "pier", "model": "m", "embedder": "themes"}
    figures = {"rehearsed": False, "seed": 1, "days": 1, "encounters_per_day": 2, "parameters": {}, "created": NOW}
    return Simulation.model_validate({**names, **figures})


def stored(memories: Sequence[Remembered]) -> SqlStore:
    store = SqlStore.open(":memory:")
    vectors = Themes().embed([memory.text for memory in memories])
    store.simulations.create(a_simulation(), Town(name="pier", begins=NOW, residents=()), {"Mara": (memories, vectors)})
    return store


def somebody(length: int, *beside: Memory, **changes: object) -> Participant:
    known = {"simulation": "town", "agent": "Mara", "length": length, "embedder": "themes"}
    stream = Stream.model_validate(known | changes)
    return Participant(persona=Persona(name="Mara"), memories=beside, stream=stream)


def ids(store: SqlStore, person: Participant, *points: str) -> list[str]:
    return [memory.id for memory in recall(person, points, NOW, Themes(), store, Parameters())]


@pytest.fixture
def store() -> SqlStore:
    return stored(LONG[:400])


def test_from_the_store_as_by_the_definition(store: SqlStore) -> None:
    points = ("3:now", "11:then")
    for length in (400, 250):
        exact = retrieve_memories(LONG[:length], points, NOW, Themes(), Parameters())
        assert ids(store, somebody(length), *points) == [memory.id for memory in exact]


def test_written_again_nothing_changes(store: SqlStore) -> None:
    other = LONG[7].model_copy(update={"text": "another"})
    store.simulations.save_memories("town", "Mara", 399, [other, *LONG[400:402]], Themes().embed(["1:a"] * 3))
    stream = store.simulations.stream(a_simulation(), "Mara")
    assert stream.length == 402
    assert store.remembered(stream) == LONG[:402]


def test_a_fork_may_remember_more_or_less(store: SqlStore) -> None:
    found = ids(store, somebody(400), "3:now")
    assert found[0] not in ids(store, somebody(400, without=(found[0],)), "3:now")
    more = Memory(id="added_1", kind="thought", text="3:now", created=NOW - timedelta(hours=1), importance=10)
    assert "added_1" in ids(store, somebody(400, more), "3:now")
    assert ids(store, somebody(0, more), "3:now") == ["added_1"]


def test_another_embedder_reads_the_texts_anew(store: SqlStore) -> None:
    exact = retrieve_memories(LONG[:400], ["3:now"], NOW, Themes(), Parameters())
    assert ids(store, somebody(400, embedder="of the parent"), "3:now") == [memory.id for memory in exact]


def test_what_is_recalled_is_checked(store: SqlStore) -> None:
    store.file.write("UPDATE memories SET importance = 10 WHERE number = 5")
    with pytest.raises(StorageError, match="a row of memories does not match its checksum"):
        ids(store, somebody(400), "3:now")
    store.file.write("DELETE FROM memories WHERE number = 5")
    with pytest.raises(StorageError, match="memories of Mara in simulation town are missing"):
        ids(store, somebody(400), "3:now")
