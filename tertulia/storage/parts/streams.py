"""Memory streams of a store file: the memories of a simulation's residents."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tertulia.state.errors import StorageError
from tertulia.state.parameters import Parameters
from tertulia.state.records import Remembered, Stream
from tertulia.state.store import Recollection, StreamStore
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.contents import WITH_TEXT, Contents
from tertulia.storage.tables import Table
from tertulia.storage.values import Value, json_text, parsed

if TYPE_CHECKING:
    from tertulia.storage.parts.memory_index import MemoryIndex

#: Memories that are read at once.
_CHUNK = 4096

#: Streams whose indexes are kept in memory; in a large town every request is for another resident.
_INDEXES = 512


class Streams(Contents, StreamStore):
    """Memory streams of a store file."""

    @cached_property
    def _indexes(self) -> "dict[tuple[str, str], MemoryIndex]":
        """The indexes of the streams that were asked for last, by simulation and agent, the latest at the end."""
        return {}

    @override
    def remembered(self, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        chosen = "" if numbers is None else f" AND number IN ({', '.join(map(str, map(int, numbers)))})"
        rows = Table(self.file, "memories").select(
            f"{WITH_TEXT} WHERE simulation = ? AND agent = ? AND number <= ?{chosen} ORDER BY number",
            *(stream.simulation, stream.agent, stream.length),
            also="hash, text",
        )
        if numbers is None and [row["number"] for row in rows] != [*range(1, stream.length + 1)]:
            raise self.missing_memories(stream.simulation, stream.agent)
        memories = map(self._memory, self.verified_texts(rows))
        return [memory for memory in memories if memory.id not in stream.without]

    @override
    def recollect(self, stream: Stream, points: Sequence[Sequence[float]], parameters: Parameters) -> Recollection:
        from tertulia.storage.parts.memory_index import MemoryIndex

        key = stream.simulation, stream.agent
        index = self._indexes.pop(key) if key in self._indexes else MemoryIndex()
        self._indexes[key] = index
        if len(self._indexes) > _INDEXES:
            del self._indexes[next(iter(self._indexes))]
        while index.length < stream.length:
            self._index_more(index, stream)
        return index.recollect(stream.length, stream.without, points, parameters)

    def _index_more(self, index: "MemoryIndex", stream: Stream) -> None:
        import numpy as np

        rows = Table(self.file, "memories").select(
            f"{WITH_TEXT} WHERE simulation = ? AND agent = ? AND number > ? ORDER BY number LIMIT ?",
            *(stream.simulation, stream.agent, index.length, _CHUNK),
            also="hash, text",
        )
        if not rows or [row["number"] for row in rows] != [*range(index.length + 1, index.length + 1 + len(rows))]:
            raise self.missing_memories(stream.simulation, stream.agent)
        for row in self.verified_texts(rows):
            index.add(row["number"], self._memory(row), np.frombuffer(row["vector"], "<f2"))

    def insert_memories(
        self,
        simulation: str,
        agent: str,
        after: int,
        memories: Sequence[Remembered],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        """Insert memories after the first `after` of a stream, except stored ones; inside a transaction."""
        import numpy as np

        stored = self.stream_length(simulation, agent)
        rows: list[dict[str, Value]] = [
            {
                "simulation": simulation,
                "agent": agent,
                "number": number,
                "memory": memory.id,
                "kind": memory.kind,
                "content_id": self.text_id(memory.text),
                "created": memory.created.isoformat(),
                "importance": memory.importance,
                "evidence": json_text(memory.evidence),
                "vector": np.asarray(vector, "<f2").tobytes(),
            }
            for number, (memory, vector) in enumerate(zip(memories, vectors, strict=True), start=after + 1)
            if number > stored
        ]
        Table(self.file, "memories").insert_all(rows)

    def missing_memories(self, simulation: str, agent: str) -> StorageError:
        """Return the error of a stream in which memories are missing."""
        return damaged(self.path, f"memories of {agent} in simulation {simulation} are missing")

    def _memory(self, row: dict[str, Any]) -> Remembered:
        with record_faults(self.path):
            return Remembered(
                id=row["memory"],
                kind=row["kind"],
                text=row["text"],
                created=datetime.fromisoformat(row["created"]),
                importance=row["importance"],
                evidence=tuple(parsed(row["evidence"])),
            )

    def stream_length(self, simulation: str, agent: str) -> int:
        """Return how many memories a stream has now."""
        sql = "SELECT coalesce(max(number), 0) AS length FROM memories WHERE simulation = ? AND agent = ?"
        return int(self.file.rows(sql, simulation, agent)[0]["length"])
