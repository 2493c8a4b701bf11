"""Days of a town: which conversations they are made of, and what everybody remembers.

Implements `state.town.TownStore`, and what `state.store.Store` says of streams.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from state.errors import NotFoundError, StorageError, nearest_hint
from state.parameters import Parameters
from state.records import Remembered, RunStatus, Stream
from state.store import Recollection
from state.town import FORMED, Encounter, Simulation, Town
from storage.contents import Contents, verified
from storage.database import StoreFile
from storage.faults import DAMAGED, storage_faults
from storage.ids import LISTED, meant
from storage.tables import Table
from storage.values import Value, json_text

if TYPE_CHECKING:
    from storage.memory_index import MemoryIndex

#: Memories that are read at once.
_CHUNK = 4096

_WITH_TEXT = "LEFT JOIN contents ON contents.id = content_id"

Streams = Mapping[str, tuple[Sequence[Remembered], Sequence[Sequence[float]]]]


class Simulations:
    """The part of a store file that holds simulations; every row has a deterministic key."""

    def __init__(self, file: StoreFile, contents: Contents, path: Path | str) -> None:
        self._file, self._contents, self._path = file, contents, path
        self._simulations, self._encounters = Table(file, "simulations"), Table(file, "encounters")
        self._memories = Table(file, "memories")
        self._indexes: dict[tuple[str, str], MemoryIndex] = {}

    # --- simulations ------------------------------------------------------------------------------------------------

    def create(self, simulation: Simulation, town: Town, streams: Streams) -> None:
        """Store a new simulation with what everybody remembers at its beginning, all of it or nothing.

        Args:
            simulation: The simulation.
            town: The town.
            streams: By resident, memories and their embeddings.
        """
        row = {
            **simulation.model_dump(exclude={"seed", "parameters", "created"}),
            "seed": str(simulation.seed),
            "parameters": json_text(simulation.parameters),
            "created": simulation.created.isoformat(),
        }
        with self._file.transaction():
            row["town_id"] = self._contents.text_id(json_text(town.model_dump(mode="json")))
            if not self._simulations.insert(row):
                raise StorageError(f"another simulation has just taken the id {simulation.simulation}; start again")
            for agent, (memories, vectors) in streams.items():
                self._insert(simulation.simulation, agent, 0, memories, vectors)

    def known(self) -> list[Simulation]:
        """Return all simulations, newest first."""
        return [self._record(row) for row in self._simulations.select("ORDER BY id DESC")]

    def get(self, simulation: str) -> Simulation:
        """Return a simulation by its id, a unique beginning of it, or `@last`.

        Raises:
            NotFoundError: There is none.
            UsageError: Several ids begin like that.
        """
        ids = [row["simulation"] for row in self._file.rows("SELECT simulation FROM simulations ORDER BY id DESC")]
        name = meant(simulation, ids, "simulation", self._path)
        if name is None:
            way = "`tertulia days` lists them" if ids else "begin with `tertulia simulate tidewell`"
            hint = nearest_hint(simulation, ids[:LISTED])
            raise NotFoundError(f"no simulation {simulation!r} in {self._path}{hint}; {way}")
        (row,) = self._simulations.select("WHERE simulation = ?", name)
        return self._record(row)

    def has(self, simulation: str) -> bool:
        """Whether there is a simulation with this id."""
        return bool(self._file.rows("SELECT 1 FROM simulations WHERE simulation = ?", simulation))

    def conversations(self) -> dict[str, str]:
        """Return the ids of all runs that are conversations of a simulation, and that simulation's."""
        return {row["run"]: row["simulation"] for row in self._file.rows("SELECT run, simulation FROM encounters")}

    def town(self, simulation: str) -> Town:
        """Return the town as a simulation found it."""
        (row,) = self._simulations.select(
            "LEFT JOIN contents ON contents.id = town_id WHERE simulation = ?", simulation, also="hash, text"
        )
        with storage_faults(self._path):
            return Town.model_validate(json.loads(self._text(row)))

    def update(self, simulation: str, **changes: Value) -> None:
        """Note how a simulation stands: `status`, `error`, or how many `days` it has."""
        with self._file.transaction():
            (row,) = self._simulations.select("WHERE simulation = ?", simulation)
            self._simulations.update(row, "simulation", **changes)

    def set_status(self, simulation: str, status: RunStatus, error: str | None = None) -> None:
        """Note how a simulation stands."""
        self.update(simulation, status=status, error=error)

    # --- encounters -------------------------------------------------------------------------------------------------

    def save_encounter(self, simulation: str, encounter: Encounter) -> None:
        """Store an encounter; one that is stored stays."""
        row = {
            "simulation": simulation,
            **encounter.model_dump(exclude={"time", "activities"}),
            "time": encounter.time.isoformat(),
            "activities": json_text(encounter.activities),
        }
        with self._file.transaction():
            self._encounters.insert(row)

    def encounters(self, simulation: str) -> list[Encounter]:
        """Return the encounters of a simulation in their order."""
        return self._read_encounters("WHERE simulation = ? ORDER BY day, number", simulation)

    def encounter(self, simulation: str, day: int, number: int) -> Encounter | None:
        """Return an encounter; `None` if it has not come about."""
        found = self._read_encounters("WHERE simulation = ? AND day = ? AND number = ?", simulation, day, number)
        return found[0] if found else None

    def last_encounters(self, simulation: str, before: Encounter, limit: int) -> list[Encounter]:
        """Return the last encounters of the same two before one, oldest first."""
        found = self._read_encounters(
            """WHERE simulation = ? AND (day, number) < (?, ?) AND ? IN (initiator, partner)
            AND ? IN (initiator, partner) ORDER BY day DESC, number DESC LIMIT ?""",
            *(simulation, before.day, before.number, *before.pair, limit),
        )
        return found[::-1]

    def _read_encounters(self, which: str, *values: Value) -> list[Encounter]:
        with storage_faults(self._path):
            return [
                Encounter(
                    **{name: row[name] for name in Encounter.model_fields}
                    | {"activities": tuple(json.loads(row["activities"]))}
                )
                for row in self._encounters.select(which, *values)
            ]

    def costs(self, simulation: str) -> dict[int, dict[str, int | float]]:
        """Return what the models of each day took: `calls`, `prompt_tokens`, `reply_tokens`, `seconds`."""
        rows = self._file.rows(
            """SELECT day, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens, sum(reply_tokens) AS reply_tokens,
            sum(seconds) AS seconds FROM encounters JOIN calls ON calls.run = encounters.run
            WHERE simulation = ? GROUP BY day""",
            simulation,
        )
        return {row.pop("day"): row for row in rows}

    def kept(self, simulation: str) -> dict[int, tuple[int, int]]:
        """Return for each day how many memories were formed, and how often somebody reflected."""
        rows = self._file.rows(
            f"""SELECT CAST(substr(memory, {len(FORMED) + 1}) AS INTEGER) AS day, count(*) AS memories,
            count(DISTINCT iif(evidence = '[]', NULL, agent || created)) AS reflections
            FROM memories WHERE simulation = ? AND memory GLOB '{FORMED}*' GROUP BY day""",
            simulation,
        )
        return {row["day"]: (row["memories"], row["reflections"]) for row in rows}

    # --- memories ---------------------------------------------------------------------------------------------------

    def save_memories(
        self,
        simulation: str,
        agent: str,
        after: int,
        memories: Sequence[Remembered],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        """Store memories behind the first `after` of a stream, all of them or none; those that are stored stay."""
        with self._file.transaction():
            self._insert(simulation, agent, after, memories, vectors)

    def _stream_length(self, simulation: str, agent: str) -> int:
        """Return how many memories a stream has now."""
        sql = "SELECT coalesce(max(number), 0) AS length FROM memories WHERE simulation = ? AND agent = ?"
        return int(self._file.rows(sql, simulation, agent)[0]["length"])

    def stream(self, simulation: Simulation, agent: str) -> Stream:
        """Return somebody's stream as it is now."""
        length = self._stream_length(simulation.simulation, agent)
        return Stream(simulation=simulation.simulation, agent=agent, length=length, embedder=simulation.embedder)

    def remembered(self, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        """Return memories of a stream in their order: those of these numbers, or all."""
        chosen = "" if numbers is None else f" AND number IN ({', '.join(map(str, map(int, numbers)))})"
        rows = self._memories.select(
            f"{_WITH_TEXT} WHERE simulation = ? AND agent = ? AND number <= ?{chosen} ORDER BY number",
            *(stream.simulation, stream.agent, stream.length),
            also="hash, text",
        )
        return [one for one in map(self._memory, rows) if one.id not in stream.without]

    def recollect(self, stream: Stream, points: Sequence[Sequence[float]], parameters: Parameters) -> Recollection:
        """Return what of a stream is worth a closer look; its index is made when it is first asked for."""
        from storage.memory_index import MemoryIndex

        index = self._indexes.setdefault((stream.simulation, stream.agent), MemoryIndex())
        while index.length < stream.length:
            self._index_more(index, stream)
        return index.recollect(stream.length, stream.without, points, parameters)

    def _index_more(self, index: "MemoryIndex", stream: Stream) -> None:
        import numpy as np

        rows = self._memories.select(
            f"{_WITH_TEXT} WHERE simulation = ? AND agent = ? AND number > ? ORDER BY number LIMIT ?",
            *(stream.simulation, stream.agent, index.length, _CHUNK),
            also="hash, text",
        )
        if not rows or [row["number"] for row in rows] != [*range(index.length + 1, index.length + 1 + len(rows))]:
            cause = f"memories of {stream.agent} in simulation {stream.simulation} are missing"
            raise StorageError(DAMAGED.format(path=self._path, cause=cause))
        for row in rows:
            index.add(row["number"], self._memory(row), np.frombuffer(row["vector"], "<f2"))

    def _insert(
        self,
        simulation: str,
        agent: str,
        after: int,
        memories: Sequence[Remembered],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        import numpy as np

        for number, (memory, vector) in enumerate(zip(memories, vectors, strict=True), start=after + 1):
            row: dict[str, Value] = {
                "simulation": simulation,
                "agent": agent,
                "number": number,
                "memory": memory.id,
                "kind": memory.kind,
                "content_id": self._contents.text_id(memory.text),
                "created": memory.created.isoformat(),
                "importance": memory.importance,
                "evidence": json_text(memory.evidence),
                "vector": np.asarray(vector, "<f2").tobytes(),
            }
            self._memories.insert(row)

    def _memory(self, row: dict[str, Any]) -> Remembered:
        with storage_faults(self._path):
            return Remembered(
                id=row["memory"],
                kind=row["kind"],
                text=self._text(row),
                created=datetime.fromisoformat(row["created"]),
                importance=row["importance"],
                evidence=tuple(json.loads(row["evidence"])),
            )

    def _text(self, row: dict[str, Any]) -> str:
        if row["hash"] is None:
            raise StorageError(DAMAGED.format(path=self._path, cause="a text is missing"))
        return verified(row["text"], row["hash"], self._path)

    def _record(self, row: dict[str, Any]) -> Simulation:
        with storage_faults(self._path):
            known = {name: row[name] for name in Simulation.model_fields}
            return Simulation(**known | {"parameters": json.loads(row["parameters"])})
