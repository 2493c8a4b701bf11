"""Make an older store of one of today: the store as version 5 of the schema held it, under the project's first name.

Version 5 is the last under that name. It knew no album chats: the store must have none. Its tables are made by
the migrations that made them then; rows are converted by the inverse of the later migrations.
"""

import base64
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from tertulia.storage.schema import APPLICATION_ID
from tertulia.storage.sqlite.migrations import MIGRATIONS
from tertulia.storage.values import checksum, read

VERSION = 5

#: Tables and columns that had another name, today's first.
_TABLES = {"annotations": "readings"}
_COLUMNS = {"participant_models": "voices"}

#: Tables that there were not.
_LATER = {"parts", "pictures"}

#: Columns that held text where there are bytes today.
_ENCODED: Mapping[tuple[str, str], Callable[[bytes], bytes]] = {
    ("traces", "trace"): base64.b85encode,
    ("calls", "tokens"): base64.b85encode,
    ("memories", "vector"): base64.b64encode,
}

#: The columns that the checksums of runs covered, in their order; those of the other tables are covered as they stand.
_RUN = (
    "run", "status", "kind", "scenario", "model", "embedder", "rehearsed", "seed", "parameters", "voices", "extensions",
    "parent_run", "parent_turn", "rewritten", "error", "created", "case_id",
)  # fmt: skip
_CALL = (
    "run", "round", "agent", "node", "attempt", "kind", "model", "prompt", "parameters_id", "replies", "tokens",
    "results", "prompt_tokens", "reply_tokens", "seconds",
)  # fmt: skip


def make_older(store: Path, older: Path) -> None:
    """Write the rows of a store to a new file, as version 5 held them; LangGraph's checkpoints with them.

    Args:
        store: A store of today, which nobody has open.
        older: The file to be made.
    """
    names = [migration.name for migration in MIGRATIONS.pending(Database(memory=True))]
    with closing(sqlite3.connect(older)) as target, closing(sqlite3.connect(store)) as source:
        MIGRATIONS.apply(Database(target), stop_before=names[VERSION])
        target.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        source.row_factory = sqlite3.Row
        source.text_factory = bytes  # text may hold half a surrogate pair
        tables = [row[0].decode() for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table in ("checkpoints", "writes"):
                (declared,) = source.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
                target.execute(declared.decode())
            elif table.startswith(("passages_fts", "sqlite_")) or table in _LATER:
                continue
            _copy(source, target, table)
        target.commit()
        target.execute("PRAGMA journal_mode = WAL")


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    older = _TABLES.get(table, table)
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({older})")]
    for row in source.execute(f"SELECT * FROM {table}"):
        found = {_COLUMNS.get(name, name): _encoded(table, name, row[name]) for name in row.keys()}  # noqa: SIM118
        if "checksum" in columns:
            covered = {"runs": _RUN, "calls": _CALL}.get(table) or [
                name for name in columns if name not in ("id", "checksum")
            ]
            found["checksum"] = checksum([read(found[name]) for name in covered])
        marks = ", ".join("?" * len(columns))
        target.execute(
            f"INSERT INTO {older} ({', '.join(columns)}) VALUES ({marks})", [found[name] for name in columns]
        )


def _encoded(table: str, column: str, value: Any) -> Any:
    """Return a value as version 5 held it: text where today there are bytes."""
    if not isinstance(value, bytes):
        return value
    if encode := _ENCODED.get((table, column)):
        return encode(value).decode()
    if table in ("checkpoints", "writes") and column in ("checkpoint", "metadata", "value"):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:  # half a surrogate pair
        return value
