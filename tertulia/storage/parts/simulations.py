"""Simulations of a store file: days of a town, their encounters, and the memories of its residents."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from typing_extensions import override

from tertulia.state.agreements import Entries, Entry
from tertulia.state.errors import NotFoundError, StorageError, nearest_hint
from tertulia.state.records import Appointment, EndedBy, Record, Remembered, RunStatus, Stream
from tertulia.state.town import AGREED, FORMED, KEPT, SEEN, Encounter, Simulation, Town, TownStore
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.ids import LISTED, resolve_id
from tertulia.storage.parts.cognition import check_turns
from tertulia.storage.parts.contents import at_one_moment
from tertulia.storage.parts.runs import checked_parameters
from tertulia.storage.parts.streams import Streams
from tertulia.storage.tables import Table
from tertulia.storage.values import Value, json_text, parsed, record_of

#: By resident, memories and their embeddings.
Memories = Mapping[str, tuple[Sequence[Remembered], Sequence[Sequence[float]]]]

#: SQL for the conversations of simulations: runs that are named SIMULATION-DAY-NUMBER.
_NAMED = """simulations JOIN runs
    ON substr(runs.run, 1, length(simulations.simulation) + 1) = simulations.simulation || '-'
    AND substr(runs.run, length(simulations.simulation) + 2, 1) BETWEEN '0' AND '9'"""

#: SQL that tells memories that were formed in the simulation.
_IS_FORMED = f"substr(memory, 1, {len(FORMED)}) = '{FORMED}'"


class Simulations(Streams, TownStore):
    """Simulations of a store file; every row has a deterministic key."""

    # --- simulations ------------------------------------------------------------------------------------------------

    def create(self, simulation: Simulation, town: Town, streams: Memories) -> None:
        """Store a new simulation with its residents' memories at its beginning, all of it or nothing."""
        row = {
            **simulation.model_dump(exclude={"seed", "parameters", "created"}),
            "seed": str(simulation.seed),
            "parameters": json_text(simulation.parameters),
            "created": simulation.created.isoformat(),
        }
        with self.file.transaction():
            row["town_id"] = self.text_id(json_text(town.model_dump(mode="json")))
            if not Table(self.file, "simulations").insert_new(row):
                raise StorageError(f"another simulation has just taken the id {simulation.simulation}; start again")
            for agent, (memories, vectors) in streams.items():
                self.insert_memories(simulation.simulation, agent, 0, memories, vectors)
        self.file.save_log()

    @at_one_moment
    def all(self) -> list[Simulation]:
        """Return all simulations, newest first."""
        self._check_records()
        return [self._simulation(row) for row in Table(self.file, "simulations").select("ORDER BY id DESC")]

    def _check_records(self) -> None:
        """Check that every encounter is of a simulation that has a record."""
        lost = "SELECT simulation FROM encounters WHERE simulation NOT IN (SELECT simulation FROM simulations) LIMIT 1"
        if found := self.file.rows(lost):
            raise damaged(self.path, "the record of simulation {simulation} is missing".format_map(found[0]))

    @at_one_moment
    def get(self, simulation: str) -> Simulation:
        """Return a simulation by its id, a unique beginning of it, or `@last`.

        Raises:
            NotFoundError: There is no such simulation.
            UsageError: Several ids begin like that.
        """
        ids = [row["simulation"] for row in self.file.rows("SELECT simulation FROM simulations ORDER BY id DESC")]
        name = resolve_id(simulation, ids, "simulation", self.path)
        if name is None:
            way = "`tertulia days` lists them" if ids else "begin with `tertulia simulate tidewell`"
            hint = nearest_hint(simulation, ids[:LISTED])
            raise NotFoundError(f"no simulation {simulation!r} in {self.path}{hint}; {way}")
        (row,) = Table(self.file, "simulations").select("WHERE simulation = ?", name)
        return self._simulation(row)

    @at_one_moment
    def conversations(self) -> dict[str, str]:
        """Return the ids of all runs that are conversations of a simulation, and that simulation's."""
        self._check_encounters()
        begun = self.file.rows(f"SELECT runs.run, simulation FROM {_NAMED}")  # a kill left some without their encounter
        return {row["run"]: row["simulation"] for row in (*begun, *Table(self.file, "encounters").select(""))}

    def _check_encounters(self) -> None:
        """Check that every finished conversation has its encounter, which is stored after the run is created."""
        self._check_records()
        lost = self.file.rows(
            f"""SELECT runs.run FROM {_NAMED}
            WHERE runs.status = 'finished' AND runs.run NOT IN (SELECT run FROM encounters)
            LIMIT 1"""
        )
        if lost:
            raise damaged(self.path, "the encounter of conversation {run} is missing".format_map(lost[0]))

    def town(self, simulation: str) -> Town:
        """Return the town as a simulation found it."""
        join = "LEFT JOIN contents ON contents.id = town_id WHERE simulation = ?"
        (row,) = self.verified_texts(Table(self.file, "simulations").select(join, simulation, also="hash, text"))
        with record_faults(self.path):
            return Town.model_validate(parsed(row["text"]))

    def update(self, simulation: str, **changes: Value) -> None:
        """Change columns of a simulation: `status`, `error`, `ended_by`, or `days`."""
        with self.file.transaction():
            (row,) = Table(self.file, "simulations").select("WHERE simulation = ?", simulation)
            Table(self.file, "simulations").update(row, "simulation", **changes)

    def set_status(
        self, simulation: str, status: RunStatus, error: str | None = None, ended_by: EndedBy | None = None
    ) -> None:
        """Set the status of a simulation, why it failed, and why it ended."""
        self.update(simulation, status=status, error=error, ended_by=ended_by)
        if status != "running":
            self.file.save_log()

    # --- encounters -------------------------------------------------------------------------------------------------

    @override
    def save_encounter(self, simulation: str, encounter: Encounter) -> None:
        row = {
            "simulation": simulation,
            **encounter.model_dump(exclude={"time", "activities", "appointment"}),
            "time": encounter.time.isoformat(),
            "activities": json_text(encounter.activities),
        }
        with self.file.transaction():
            if Table(self.file, "encounters").insert_new(row) and encounter.appointment is not None:
                self._save_step(encounter.run, 0, KEPT, encounter.appointment)

    @override
    def save_agreed(self, run: str, round: int, entries: Entries) -> None:
        with self.file.transaction():
            self._save_step(run, round, AGREED, entries)

    def _save_step(self, run: str, round: int, node: str, record: Record) -> None:
        text = json_text(record.model_dump(mode="json"))
        row: dict[str, Value] = {"run": run, "round": round, "agent": "", "node": node, "record": text}
        Table(self.file, "steps").insert(row)

    @at_one_moment
    def encounters(self, simulation: str) -> list[Encounter]:
        """Return the encounters of a simulation in their order; `StorageError` if one is missing."""
        self._check_encounters()
        found = self._read_encounters("WHERE simulation = ? ORDER BY day, number", simulation)
        self._check_whole(self.get(simulation), found)
        return found

    def _check_whole(self, simulation: Simulation, found: Sequence[Encounter]) -> None:
        """Check that encounters are the first of those that the days have; all of them, if the days are over.

        Those that were agreed on are beside them: they have numbers of their own in the order of a day.
        """
        count = simulation.encounters_per_day
        counts = [len(day) for day in self.town(simulation.simulation).logged] if count is None else [count]
        days = range(1, simulation.days + 1)
        expected = ((day, number) for day in days for number in range(1, counts[(day - 1) % len(counts)] + 1))
        drawn, agreed = _ranked(found)
        needed = expected if simulation.status == "finished" else islice(expected, len(drawn))
        if missing := next((key for key, held in zip_longest(needed, drawn) if key != held), None):
            day, number = missing
            number += sum(1 for of_day, before in agreed if of_day == day and before < number)
            cause = f"encounter {number} of day {day} of simulation {simulation.simulation} is missing"
            raise damaged(self.path, cause)

    @override
    def diary(self, simulation: str) -> dict[str, tuple[Entry, ...]]:
        join = "JOIN encounters ON encounters.run = steps.run WHERE simulation = ? AND node = ? ORDER BY day, number"
        rows = Table(self.file, "steps").select(join, simulation, AGREED)
        with record_faults(self.path):
            return {row["run"]: Entries.model_validate(parsed(row["record"])).entries for row in rows}

    @override
    def encounter(self, simulation: str, day: int, number: int) -> Encounter | None:
        found = self._read_encounters("WHERE simulation = ? AND day = ? AND number = ?", simulation, day, number)
        return found[0] if found else None

    @override
    def last_encounters(self, simulation: str, before: Encounter, limit: int) -> list[Encounter]:
        # Each of the two may have begun: asked for separately, both are looked up in the index, the last ones first.
        found = [
            encounter
            for pair in (before.pair, before.pair[::-1])
            for encounter in self._read_encounters(
                """WHERE simulation = ? AND initiator = ? AND partner = ? AND (day, number) < (?, ?)
                ORDER BY day DESC, number DESC LIMIT ?""",
                *(simulation, *pair, before.day, before.number, limit),
            )
        ]
        return sorted(found, key=lambda encounter: (encounter.day, encounter.number))[-limit:]

    @at_one_moment
    def _read_encounters(self, which: str, *values: Value) -> list[Encounter]:
        rows = Table(self.file, "encounters").select(which, *values)
        with record_faults(self.path):
            kept = self._steps_before(rows, KEPT)
            made = {run: Appointment.model_validate(record) for run, record in kept.items()}
            return [
                record_of(
                    Encounter,
                    row,
                    activities=tuple(parsed(row["activities"])),
                    appointment=made.get(row["run"]),
                )
                for row in rows
            ]

    def _steps_before(self, encounters: Sequence[Mapping[str, Any]], node: str) -> dict[str, Any]:
        """Return by run the step, stored before the first turn, that says why the two of an encounter meet."""
        if not encounters:
            return {}
        runs = json.dumps([encounter["run"] for encounter in encounters])
        of_runs = f"WHERE run IN {self.file.dialect.given_texts} AND round = 0 AND agent = '' AND node = ?"
        rows = Table(self.file, "steps").select(of_runs, runs, node)
        return {row["run"]: parsed(row["record"]) for row in rows}

    @at_one_moment
    def costs(self, simulation: str) -> dict[int, dict[str, int | float]]:
        """Return the cost of each day's model calls: `calls`, `prompt_tokens`, `reply_tokens`, `seconds`."""
        of_simulation = "JOIN encounters ON encounters.run = {}.run WHERE simulation = ?"
        check_turns(self, of_simulation.format("traces"), (simulation,), ("calls",))
        join = of_simulation.format("calls")
        if self.file.is_checked:
            Table(self.file, "calls").select(join, simulation)
        rows = self.file.rows(
            f"""SELECT day, count(*) AS calls, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
            CAST(sum(reply_tokens) AS BIGINT) AS reply_tokens, sum(seconds) AS seconds
            FROM calls {join} GROUP BY day""",
            simulation,
        )
        return {row.pop("day"): row for row in rows}

    @at_one_moment
    def memory_counts(self, simulation: Simulation, encounters: Sequence[Encounter]) -> dict[int, tuple[int, int]]:
        """Return by day the number of memories formed, and of reflections.

        Args:
            encounters: All its encounters, in their order.

        Raises:
            StorageError: Some are missing, or were altered.
        """
        name = simulation.simulation
        self._check_streams(name)
        formed = Table(self.file, "memories").select(f"WHERE simulation = ? AND {_IS_FORMED}", name)
        for agent in {name for encounter in encounters for name in encounter.pair}:
            kept = {row["memory"] for row in formed if row["agent"] == agent}
            self._check_seen(simulation, encounters, agent, kept)
        counts: Counter[int] = Counter()
        reflections: dict[int, set[tuple[str, str]]] = {}
        with record_faults(self.path):
            for row in formed:
                day = int(row["memory"].removeprefix(FORMED).partition("_")[0])
                counts[day] += 1
                if parsed(row["evidence"]):
                    reflections.setdefault(day, set()).add((row["agent"], row["created"]))
        return {day: (count, len(reflections.get(day, ()))) for day, count in counts.items()}

    def _check_streams(self, simulation: str) -> None:
        """Check that the memories of each resident are numbered from 1 on, those that were formed at the end."""
        broken = self.file.rows(
            f"""SELECT agent FROM memories WHERE simulation = ? GROUP BY agent
            HAVING count(*) <> max(number) OR min(number) <> 1
            OR sum(CASE WHEN {_IS_FORMED} THEN 1 ELSE 0 END)
                <> max(number) + 1 - coalesce(min(CASE WHEN {_IS_FORMED} THEN number END), max(number) + 1) LIMIT 1""",
            simulation,
        )
        if broken:
            raise self.missing_memories(simulation, broken[0]["agent"])

    # --- memories ---------------------------------------------------------------------------------------------------

    @override
    def save_memories(
        self,
        simulation: str,
        agent: str,
        after: int,
        memories: Sequence[Remembered],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        with self.file.transaction():
            self.insert_memories(simulation, agent, after, memories, vectors)

    @at_one_moment
    def memories_of(self, simulation: Simulation, agent: str) -> list[Remembered]:
        """Return all memories of a resident in order; `StorageError` if some are missing or were altered."""
        memories = self.remembered(self.stream(simulation, agent))
        found = self._read_encounters("WHERE simulation = ? ORDER BY day, number", simulation.simulation)
        self._check_seen(simulation, found, agent, {memory.id for memory in memories})
        return memories

    def _check_seen(
        self, simulation: Simulation, encounters: Sequence[Encounter], agent: str, kept: Collection[str]
    ) -> None:
        """Check that a resident remembers what they saw in each encounter that is over; `kept`: ids of memories."""
        for encounter in encounters if simulation.status == "finished" else encounters[:-1]:
            for person, seen in zip(encounter.pair, reversed(encounter.activities), strict=True):
                if person == agent and seen is not None and encounter.memory_id(SEEN) not in kept:
                    raise self.missing_memories(simulation.simulation, agent)

    @override
    def stream(self, simulation: Simulation, agent: str) -> Stream:
        length = self.stream_length(simulation.simulation, agent)
        return Stream(simulation=simulation.simulation, agent=agent, length=length, embedder=simulation.embedder)

    def _simulation(self, row: dict[str, Any]) -> Simulation:
        with record_faults(self.path):
            return record_of(Simulation, row, parameters=checked_parameters(row["parameters"]))


def _ranked(found: Sequence[Encounter]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return day and rank of the encounters that are drawn or logged, and day and number of those agreed on.

    Gaps between numbers leave gaps between ranks.
    """
    drawn, agreed = [], []
    before: Counter[int] = Counter()  # by day
    for encounter in found:
        if not encounter.is_drawn:
            agreed.append((encounter.day, encounter.number))
            before[encounter.day] += 1
        else:
            drawn.append((encounter.day, encounter.number - before[encounter.day]))
    return drawn, agreed
