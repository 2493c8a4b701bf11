"""The computation of a turn: the steps of agents' cognition, and the trace of every node."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import override

from tertulia.state.cognition import Assessment, Trace
from tertulia.state.records import Record
from tertulia.state.store import AnyRecord, CognitionStore, StepsOfRound
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.contents import Contents, at_one_moment
from tertulia.storage.tables import Table, select_tuples
from tertulia.storage.values import DamagedValueError, Value, json_text, packed, parsed, unpacked

#: The tables whose rows belong to a turn, each with the column that numbers it.
_OF_A_TURN = {
    **{table: f"{table}.turn" for table in ("unit_scores", "candidates", "parts")},
    **{table: f"{table}.round" for table in ("steps", "calls")},
}

_Counts = dict[Literal["unit_scores", "candidates", "parts", "steps", "calls"], int]
_COUNTS: TypeAdapter[_Counts] = TypeAdapter(_Counts, config=ConfigDict(defer_build=True))

#: Past all turns and rounds.
NO_LIMIT = 2**62

_OF_A_RUN = "JOIN lineage ON ancestor = steps.run AND round <= rounds WHERE lineage.run = ?"


class RoundRows(StepsOfRound):
    """The rows of the steps of a round, by agent and node; each is read as a record when it is asked for."""

    def __init__(self, records: Mapping[tuple[str, str], str], read: Callable[[type[Any], str], Any]) -> None:
        self._records, self._read = records, read

    @override
    def step(self, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        record = self._records.get((agent, node))
        return None if record is None else self._read(kind, record)


class Cognition(Contents, CognitionStore):
    """Steps and traces of a store file; every row has a deterministic key."""

    @override
    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        row = step_row(run, round, agent, node, record)
        with self.file.joined():
            Table(self.file, "steps").insert(row, replace=True)
            if isinstance(record, Assessment):
                self.save_passage(run, round, agent, "thought", record.thought)

    @override
    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        key = "AND round = ? AND agent = ? AND node = ? ORDER BY depth LIMIT 1"
        rows = Table(self.file, "steps").select(f"{_OF_A_RUN} {key}", run, round, agent, node)
        return self._record(kind, rows[0]["record"]) if rows else None

    @override
    def steps_of_round(self, run: str, round: int) -> "RoundRows":
        of_round = f"{_OF_A_RUN} AND round BETWEEN ? AND ? ORDER BY depth DESC"  # with `=`, SQLite reads all before it
        rows = Table(self.file, "steps").select(of_round, run, round, round)
        return RoundRows({(row["agent"], row["node"]): row["record"] for row in rows}, self._record)

    @at_one_moment
    @override
    def steps(
        self,
        run: str,
        node: str,
        kind: type[AnyRecord],
        first: int = 0,
        last: int | None = None,
        agent: str | None = None,
    ) -> dict[tuple[int, str], AnyRecord]:
        last = NO_LIMIT if last is None else last
        self.check_run(run, first, last)
        of_agent = ("", ()) if agent is None else (" AND agent = ?", (agent,))
        # A fork may have prepared an agent anew: its own row is the last of its key.
        rows = Table(self.file, "steps").select(
            f"{_OF_A_RUN} AND round BETWEEN ? AND ? AND node = ?{of_agent[0]} ORDER BY round, agent, depth DESC",
            *(run, first, last, node, *of_agent[1]),
        )
        with record_faults(self.path):
            return {(row["round"], row["agent"]): kind.model_validate(parsed(row["record"])) for row in rows}

    @override
    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        row: dict[str, Value] = {
            "run": run,
            "turn": turn,
            "trace": packed(json_text(trace.model_dump())),
            "stored": json_text(self._stored(run, turn)),
        }
        Table(self.file, "traces").insert(row, replace=True)

    def check_run(
        self, run: str, first: int = 1, last: int = NO_LIMIT, tables: Sequence[str] = ("steps", "parts")
    ) -> None:
        """Raise `StorageError` if an executed turn from `first` to `last` lacks its row, or rows of some tables."""
        lineage = "JOIN lineage ON ancestor = traces.run AND traces.turn <= rounds WHERE lineage.run = ?"
        check_turns(self, f"{lineage} AND traces.turn BETWEEN ? AND ?", (run, first, last), tables)

    def check_turn(self, run: str, turn: int) -> None:
        """Raise `StorageError` if a row of a turn is missing; a row with an altered key is missing."""
        rows = Table(self.file, "traces").select("WHERE run = ? AND turn = ?", run, turn)
        for table, count in self._counts(rows[0]["stored"]) if rows else ():
            # Read, not counted: the rest of a key may have been altered too, by which a row is found.
            of_turn = f"WHERE run = ? AND {_OF_A_TURN[table]} = ?"
            found = len(select_tuples(self.file, table, of_turn, run, turn).values)
            if found < count:
                raise damaged(self.path, f"turn {turn} of run {run} has {found} of {count} rows in {table}")

    def _counts(self, stored: str) -> list[tuple[str, int]]:
        """Return how many rows of each table were noted; those of a table that can't be are passed over."""
        with record_faults(self.path):
            return [(table, count) for table, count in _COUNTS.validate_python(parsed(stored)).items()]

    def _stored(self, run: str, turn: int) -> dict[str, int]:
        counts = ", ".join(
            f"(SELECT count(*) FROM {table} WHERE run = :run AND {number} = :turn) AS {table}"
            for table, number in _OF_A_TURN.items()
        )
        return self.file.named_rows(f"SELECT {counts}", {"run": run, "turn": turn})[0]

    @at_one_moment
    @override
    def trace(self, run: str, turn: int) -> Trace | None:
        of_turn = "JOIN lineage ON ancestor = traces.run AND turn <= rounds WHERE lineage.run = ? AND turn = ?"
        rows = Table(self.file, "traces").select(f"{of_turn} ORDER BY depth LIMIT 1", run, turn)
        if not rows:  # a run may have none; but a damaged index hides one that is there
            if self.file.rows(f"SELECT 1 FROM traces {self.file.dialect.unindexed} {of_turn} LIMIT 1", run, turn):
                raise damaged(self.path, f"the index of traces lacks turn {turn} of run {run}")
            return None
        try:
            text = unpacked(rows[0]["trace"])
        except DamagedValueError as error:
            raise damaged(self.path, f"a trace does not read: {error}") from error
        return self._record(Trace, text)

    def _record(self, kind: type[AnyRecord], text: str) -> AnyRecord:
        with record_faults(self.path):
            return kind.model_validate(parsed(text))


def step_row(run: str, round: int, agent: str, node: str, record: Record) -> dict[str, Value]:
    """Return a step as its row; `ValueError` or `TypeError` if the record holds values that are no JSON."""
    return {"run": run, "round": round, "agent": agent, "node": node, "record": json_text(record.model_dump())}


def check_turns(store: Contents, which: str, values: Sequence[Value], tables: Sequence[str]) -> None:
    """Check that turns that were executed are stored, with all their rows in some tables.

    Args:
        which: SQL that follows `FROM traces`: the turns.

    Raises:
        StorageError: One is not, or not whole.
    """
    lacking = " OR ".join(
        f"(SELECT count(*) FROM {table} WHERE {table}.run = traces.run AND {_OF_A_TURN[table]} = traces.turn)"
        f" < {store.file.dialect.json_field('stored', table, 'count')}"
        for table in tables
    )
    broken = store.file.rows(
        f"""SELECT traces.run, traces.turn FROM traces {which} AND (
            (SELECT count(*) FROM turns WHERE turns.run = traces.run AND turns.turn = traces.turn) = 0
            OR {lacking}) LIMIT 1""",
        *values,
    )
    if broken:
        raise damaged(store.path, "turn {turn} of run {run} is not whole".format_map(broken[0]))
