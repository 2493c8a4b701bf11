"""Measure retrieval over long memory streams: its time, and its recall of the exact scan's choice.

Vectors are those of the shipped town's memories under the embedded embedder, each many times with independent noise, so
that a stream has many memories about each of a few hundred things. Times are of this process's CPU.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tertulia.models.loading import open_embedder
from tertulia.nodes.shared.memory import best_of
from tertulia.state.parameters import Parameters
from tertulia.state.records import Remembered, Stream
from tertulia.state.town import Simulation, Town
from tertulia.storage.parts import memory_index
from tertulia.storage.store import SqlStore
from tertulia.worlds.town import open_town

NOW = datetime(2026, 1, 1)
PER_DAY = 100
#: Length of the noise beside a vector of length 1.
NOISE = 0.5
TRIALS = 20

Vectors = NDArray[np.float64]


def _main(lengths: list[int]) -> None:
    themes = _themes()
    print("memories | MB | first s | looked at | recall | lowest | retrieval ms, median | highest")
    for length in lengths:
        print(" | ".join(_row(themes, length)))


def _row(themes: Vectors, length: int) -> list[str]:
    """Return the row of the table for a stream of that length."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with SqlStore.open(path, create=True) as store:
            _write(store, themes, length)
        size = path.stat().st_size
        with SqlStore.open(path) as store:
            stream = Stream(simulation="s", agent="a", length=length, embedder="minilm")
            generator = np.random.default_rng(length)
            points = [_noisy(themes[generator.integers(len(themes), size=3)], generator) for _ in range(TRIALS)]
            first = _seconds(lambda: _chosen(store, stream, points[0]))
            seconds = [_seconds(partial(_chosen, store, stream, sought)) for sought in points]
            found = [_chosen(store, stream, sought) for sought in points]
            exact = [_exact(store, stream, sought) for sought in points]
    recalls = [len({*chosen} & {*best}) / len(best) for (chosen, _), (best, _) in zip(found, exact, strict=True)]
    return [
        str(length),
        f"{size / 1e6:.0f}",
        f"{first:.2f}",
        f"{statistics.mean(looked_at for _, looked_at in found):.0f}",
        f"{statistics.mean(recalls):.3f}",
        f"{min(recalls):.2f}",
        f"{1000 * statistics.median(seconds):.1f}",
        f"{1000 * max(seconds):.1f}",
    ]


def _chosen(store: SqlStore, stream: Stream, points: Vectors) -> tuple[list[int], int]:
    """Return the numbers that are recalled, as in a conversation, and how many were looked at."""
    found = store.recollect(stream, points.tolist(), Parameters())
    numbers = best_of(found, Parameters())
    store.remembered(stream, numbers)
    return numbers, len(found.numbers)


def _exact(store: SqlStore, stream: Stream, points: Vectors) -> tuple[list[int], int]:
    scanned = memory_index.SCANNED
    memory_index.SCANNED = stream.length
    try:
        return _chosen(store, stream, points)
    finally:
        memory_index.SCANNED = scanned


def _themes() -> Vectors:
    opened = open_town("tidewell", from_log=False)
    texts = sorted({memory.text for memories in opened.memories.values() for memory in memories})
    return np.array(open_embedder("minilm").embed(texts))


def _noisy(vectors: Vectors, generator: np.random.Generator) -> Vectors:
    noise = generator.standard_normal(vectors.shape) * NOISE / np.sqrt(vectors.shape[1])
    moved: Vectors = vectors + noise
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved


def _write(store: SqlStore, themes: Vectors, length: int) -> None:
    """Store a simulation with one stream that has the same number of memories every day."""
    generator, drawn = np.random.default_rng(1), random.Random(1)
    vectors = _noisy(themes[generator.integers(len(themes), size=length)], generator)
    memories = [
        Remembered(
            id=f"m{at}",
            kind="event",
            text=f"Memory number {at}, of which there are many.",
            created=NOW - timedelta(days=(length - at) / PER_DAY),
            importance=drawn.randint(1, 10),
        )
        for at in range(length)
    ]
    simulation = Simulation.model_validate(
        {
            "simulation": "s",
            "status": "finished",
            "town": "tidewell",
            "model": "rehearsal",
            "embedder": "minilm",
            "rehearsed": True,
            "seed": 1,
            "days": 1,
            "encounters_per_day": 1,
            "parameters": {},
            "created": NOW,
        }
    )
    town = Town(name="tidewell", begins=NOW, residents=())
    store.simulations.create(simulation, town, {"a": (memories, vectors)})  # type: ignore[dict-item]


def _seconds(make: Callable[[], object]) -> float:
    started = time.process_time()
    make()
    return time.process_time() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1_000, 5_000, 20_000, 100_000])
    _main(parser.parse_args().lengths)
