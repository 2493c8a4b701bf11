"""The tables of a store: the only place in which their columns are declared.

A new store is made from these declarations (storage/sqlite/making.py), rows are written and read by them
(storage/tables.py), an opened store is compared with them (`storage/sqlite/`), and views and data frames take the
kinds of their columns from them (storage/sql_views.py). Texts are stored once, in `contents`, and the other tables
point to them; so do prompts to their units, most of which every prompt of a conversation has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

#: The version of these tables, which a store notes as `PRAGMA user_version`; a store of another one is refused.
SCHEMA_VERSION = 12

#: Tells a store from other programs' SQLite files: `Tert` in ASCII.
APPLICATION_ID = int.from_bytes(b"Tert", "big")

#: The kind of a column's values: `count` and `flag` are integers, the latter 0 or 1; `json`, `moment` (ISO 8601) and
#: `integer` (which may have more than 64 bits) are text.
Kind = Literal["text", "count", "number", "flag", "json", "moment", "integer", "bytes"]

_SQL_TYPES: Mapping[Kind, str] = {"count": "INTEGER", "flag": "INTEGER", "number": "REAL", "bytes": "BLOB"}

#: The types of values of each kind in Python.
TYPES: Mapping[Kind, tuple[type, ...]] = {
    **dict.fromkeys(("text", "json", "moment", "integer"), (str,)),
    **dict.fromkeys(("count", "flag"), (int,)),
    "number": (float, int),
    "bytes": (bytes,),
}

CHECKSUM = "checksum"


@dataclass(frozen=True)
class Column:
    """A column of a table; `references` is the table and the column that it points to."""

    name: str
    kind: Kind = "text"
    nullable: bool = False
    references: tuple[str, str] | None = None

    @property
    def sql_type(self) -> str:
        """The type in SQL."""
        return _SQL_TYPES.get(self.kind, "TEXT")

    def holds(self, value: object) -> bool:
        """Return whether a value is of the column's kind."""
        return (value is None and self.nullable) or isinstance(value, TYPES[self.kind])


@dataclass(frozen=True)
class TableSchema:
    """A table.

    Attributes:
        declared: Its columns; those that its checksum covers are in the checksum's order.
        unique: Columns that are unique together, beside the key.
        has_checksum: Whether each row ends with a checksum over all columns but `id`; texts, units and prompts are
            covered by the hashes of their contents, and pictures by theirs.
        without_rowid: Whether rows lie in the tree of their key, as SQLite's `WITHOUT ROWID` has it.
    """

    name: str
    declared: tuple[Column, ...]
    key: tuple[str, ...]
    unique: tuple[str, ...] = ()
    indexes: Mapping[str, tuple[str, ...]] | None = None
    has_checksum: bool = True
    without_rowid: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, that of the checksum among them."""
        return (*self.declared, Column(CHECKSUM, "count")) if self.has_checksum else self.declared

    @cached_property
    def checked(self) -> tuple[str, ...]:
        """The names of the columns that a checksum covers, in its order."""
        return tuple(column.name for column in self.declared if column.name != "id") if self.has_checksum else ()

    @cached_property
    def not_null(self) -> tuple[str, ...]:
        """The names of the columns that are NOT NULL: no key of one column, unless the table lacks row ids."""
        return tuple(c.name for c in self.columns if not c.nullable and (self.without_rowid or self.key != (c.name,)))

    def kind(self, name: str) -> Kind:
        """Return the kind of a column."""
        return self.column(name).kind

    def column(self, name: str) -> Column:
        """Return a column."""
        return next(column for column in self.columns if column.name == name)

    @cached_property
    def structure(self) -> frozenset[tuple[str, str, str, bool, int]]:
        """Every column as `(table, column, type, whether it is NOT NULL, its place in the key from 1)`."""
        return frozenset(
            (self.name, column.name, column.sql_type, column.name in self.not_null, place)
            for column in self.columns
            for place in [self.key.index(column.name) + 1 if column.name in self.key else 0]
        )

    @cached_property
    def index_structure(self) -> frozenset[tuple[str, bool, tuple[str, ...]]]:
        """Every index as `(table, whether it is unique, columns)`."""
        unique = {(self.name, True, self.unique)} if self.unique else set()
        return frozenset(unique | {(self.name, False, columns) for columns in (self.indexes or {}).values()})


_ID = Column("id", "count")
_CONTENT = Column("content_id", "count", references=("contents", "id"))


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


def _counts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "count") for name in names)


#: Which utterance a row belongs to: a turn's, or one of its parts; the turn's own has no name.
_UTTERANCE = (Column("run"), Column("turn", "count"), Column("part"))

#: How an utterance came about.
_HOW_IT_CAME = (
    Column("prompt", nullable=True, references=("prompts", "hash")),
    Column("scored", "flag"),
    *_counts("chosen", "rollbacks"),
    Column("scored_by", nullable=True),
    Column("judged_by", nullable=True),
    Column("removal_factor", "number", nullable=True),  # λ as it was in force
    Column("line_scores", "json", nullable=True),  # by unit, its influence on the line
    Column("line_scored_by", nullable=True),
)

#: The place of a run in an experiment; NULL for a run that is of none.
_TRIAL = (
    *(Column(name, nullable=True) for name in ("experiment", "setting", "trial_case")),
    *(Column(name, "count", nullable=True) for name in ("trial", "cohort")),
)


#: All tables, each after those that it points to.
TABLES: Mapping[str, TableSchema] = {
    table.name: table
    for table in (
        TableSchema(
            "contents",
            (_ID, *_texts("hash", "text")),  # blake2b of the text, 16 bytes, hexadecimal
            key=("id",),
            unique=("hash",),
            has_checksum=False,
        ),
        TableSchema(
            "pictures",
            (Column("hash"), Column("image", "bytes")),  # blake2b of the file's bytes, 16 bytes, hexadecimal
            key=("hash",),
            has_checksum=False,
        ),
        TableSchema(
            "units",
            (
                _ID,
                *_texts("unit", "block", "kind"),  # its id within a prompt
                Column("removable", "flag"),
                Column("speaker", nullable=True),
                _CONTENT,
                Column("picture", nullable=True, references=("pictures", "hash")),
            ),
            key=("id",),
            indexes={"units_by_name": ("unit", "content_id")},
            has_checksum=False,
        ),
        TableSchema(
            "prompts",
            (*_texts("hash", "speaker", "layout"), Column("unit_ids", "json")),  # units.id in prompt order
            key=("hash",),
            has_checksum=False,
        ),
        TableSchema(
            "runs",
            (
                _ID,  # in the order in which they were created
                *_texts("run", "status", "kind", "scenario", "model", "embedder"),
                Column("rehearsed", "flag"),
                Column("seed", "integer"),
                Column("parameters", "json"),
                Column("participant_models", "json"),  # by participant, a model of their own and its parameters
                Column("extensions", "json"),  # files and packages that nodes come from
                Column("parent_run", nullable=True),
                Column("parent_turn", "count", nullable=True),
                Column("rewritten", "flag"),
                Column("error", nullable=True),
                Column("ended_by", nullable=True),
                Column("created", "moment"),
                Column("case_id", "count", references=("contents", "id")),
                Column("label", nullable=True),
                *_TRIAL,
            ),
            key=("id",),
            unique=("run",),
            indexes={"runs_by_experiment": ("experiment",)},
        ),
        TableSchema(
            "experiments",
            (Column("experiment"), Column("definition", "json"), Column("created", "moment")),
            key=("experiment",),
            without_rowid=True,
        ),
        TableSchema(
            # The effect of λ on the diversity of a scenario with a model, from a pilot (lab/experiments/setpoint.py).
            "calibrations",
            (*_texts("calibration", "metric"), Column("curve", "json"), Column("created", "moment")),
            key=("calibration",),
            without_rowid=True,
        ),
        TableSchema(
            # The turns that a run has in common with each of its ancestors: all until the fork. Every reader joins it.
            "lineage",
            (
                *_texts("run", "ancestor"),  # the run itself among them
                *_counts("depth", "turns", "rounds"),  # 0: itself, 1: its parent; up to this turn and round
            ),
            key=("run", "ancestor"),
            without_rowid=True,
        ),
        TableSchema(
            "turns",
            (
                Column("run", references=("runs", "run")),
                *_counts("turn", "round"),
                Column("speaker", nullable=True),
                _CONTENT,
                Column("sim_time_s", "number"),
                Column("ended", "flag"),
                *_HOW_IT_CAME,
            ),
            key=("run", "turn"),
            without_rowid=True,
        ),
        TableSchema(
            # The further utterances of a turn; their round and their time are the turn's.
            "parts",
            (Column("run"), Column("turn", "count"), *_texts("part", "speaker"), _CONTENT, *_HOW_IT_CAME),
            key=("run", "turn", "part"),
            without_rowid=True,
        ),
        TableSchema(
            "unit_scores",
            (
                *_UTTERANCE,
                Column("position", "count"),  # in prompt order, from 0
                Column("unit"),
                Column("score", "number", nullable=True),
                Column("removed", "count"),  # its place in the order of removal, from 1; 0: it stayed
            ),
            key=("run", "turn", "part", "position"),
            without_rowid=True,
        ),
        TableSchema(
            "candidates",
            (
                *_UTTERANCE,
                Column("attempt", "count"),
                _CONTENT,
                Column(
                    "reply", "json"
                ),  # text, tokens, text_tokens, fields, origin, rewritable, faults, probability, string_seed, remark
                Column("inconsistency", "number", nullable=True),
                Column("inconsistency_runs", "json"),
                Column("comment", nullable=True),
            ),
            key=("run", "turn", "part", "attempt"),
        ),
        TableSchema(
            "steps",
            (
                Column("run"),
                Column("round", "count"),  # 0: before the first
                *_texts("agent", "node"),  # agent empty: the whole group's
                Column("record", "json"),
            ),
            key=("run", "round", "agent", "node"),
            without_rowid=True,
        ),
        TableSchema(
            "calls",
            (
                _ID,  # in the order in which they were stored
                Column("run"),
                Column("round", "count"),
                *_texts("agent", "node"),
                Column("attempt", "count"),
                *_texts("kind", "model"),
                Column("prompt", references=("prompts", "hash")),
                Column("parameters_id", "count", nullable=True, references=("contents", "id")),  # JSON
                Column("replies", "json"),  # text, text_tokens, fields unless the text holds them
                Column("tokens", "bytes"),  # JSON list of each reply's tokens, zlib
                Column("results", "json"),  # computed, not generated
                Column("prompt_tokens", "count", nullable=True),
                Column("reply_tokens", "count", nullable=True),
                Column("seconds", "number", nullable=True),  # its share of its batch
            ),
            key=("id",),
            unique=("run", "round", "agent", "node", "attempt"),
        ),
        TableSchema(
            "traces",
            (
                Column("run"),
                Column("turn", "count"),
                Column("trace", "bytes"),  # JSON of every execution of a node, its state and its update, zlib
                Column("stored", "json"),  # how many rows of each table belong to the turn
            ),
            key=("run", "turn"),
        ),
        TableSchema(
            # The passages of `tertulia search`. A memory belongs to the start of a run, the others to a run.
            "passages",
            (
                _ID,
                Column("start_id", "count", nullable=True, references=("contents", "id")),
                Column("run", nullable=True),
                Column("turn", "count"),
                *_texts("agent", "kind", "text"),  # kind: utterance, thought, memory
            ),
            key=("id",),
            unique=("run", "turn", "agent", "kind"),
            indexes={"passages_by_start": ("start_id",)},
        ),
        TableSchema(
            # Models' answers about stored conversations (tertulia/lab/); no part of the run.
            "annotations",
            (
                *_texts("run", "instrument", "model", "agent"),  # agent empty: none in particular
                *_counts("first", "last", "part"),  # the turns that were read
                Column("prompt", references=("prompts", "hash")),
                Column("answers", "json"),  # by question
                *_counts("prompt_tokens", "reply_tokens"),
                Column("seconds", "number"),
            ),
            key=("run", "instrument", "model", "agent", "first", "part"),
            without_rowid=True,
        ),
        TableSchema(
            # Days of a town. Each conversation is a run of its own; a simulation names them in order.
            "simulations",
            (
                _ID,  # in the order in which they were created
                *_texts("simulation", "status", "town", "model", "embedder"),
                Column("rehearsed", "flag"),
                Column("seed", "integer"),
                Column("days", "count"),
                Column("encounters_per_day", "count", nullable=True),  # NULL: those of the log
                Column("parameters", "json"),
                Column("error", nullable=True),
                Column("ended_by", nullable=True),
                Column("created", "moment"),
                Column("town_id", "count", references=("contents", "id")),  # JSON: people, habits, past dialogues
            ),
            key=("id",),
            unique=("simulation",),
        ),
        TableSchema(
            "encounters",
            (
                Column("simulation"),
                *_counts("day", "number"),
                Column("time", "moment"),
                Column("place", nullable=True),
                *_texts("initiator", "partner"),
                Column("activities", "json"),  # of the two
                Column("run"),
            ),
            key=("simulation", "day", "number"),
            # The last words of two agents to each other are asked for before every encounter.
            indexes={"encounters_by_pair": ("simulation", "initiator", "partner", "day", "number")},
            without_rowid=True,
        ),
        TableSchema(
            "memories",
            (
                _ID,
                *_texts("simulation", "agent"),
                Column("number", "count"),  # in the agent's stream, from 1
                *_texts("memory", "kind"),  # its id
                _CONTENT,
                Column("created", "moment"),
                Column("importance", "number"),
                Column("evidence", "json"),  # ids
                Column("vector", "bytes"),  # its embedding, half precision, little-endian; empty: never recalled
            ),
            key=("id",),
            unique=("simulation", "agent", "number"),
        ),
    )
}

#: LangGraph's tables, which it makes in the same file (storage/sqlite/objects.py).
_PLACE = _texts("thread_id", "checkpoint_ns", "checkpoint_id")
_CHECKPOINTS = {
    "checkpoints": (
        *_texts("parent_checkpoint_id", "type"),
        *(Column(name, "bytes") for name in ("checkpoint", "metadata")),
    ),
    "writes": (*_texts("task_id", "task_path", "channel", "type"), Column("idx", "count"), Column("value", "bytes")),
}

ALL_TABLES: Mapping[str, TableSchema] = {
    **TABLES,
    **{name: TableSchema(name, _PLACE + more, ("thread_id", "checkpoint_id")) for name, more in _CHECKPOINTS.items()},
}

#: The table whose texts are indexed in full, and its columns of texts.
FULL_TEXT = ("passages", ("text",))

#: The columns that hold bytes. No other column is called like them, so a name tells bytes from text.
BINARY = frozenset(column.name for table in ALL_TABLES.values() for column in table.columns if column.kind == "bytes")

#: The columns that hold ids of runs and simulations, which are checked whenever they are read. Likewise, no other is
#: called like them.
IDENTIFIERS = frozenset({"run", "ancestor", "parent_run", "simulation"})
