"""Migrations of the schema: a new store is made with the tables of this version, an older store is migrated to them.

A migration that was released is never changed, and spells the columns of its time; a change is a new one, and today's
columns stand in storage/schema.py. Only whoever makes or migrates a store imports this module: it brings sqlite-utils.
"""

import base64
import sqlite3
from collections.abc import Callable, Mapping
from functools import lru_cache

from tertulia.storage.faults import hearing
from tertulia.storage.schema import APPLICATION_ID, CHECKSUM, FULL_TEXT, SCHEMA_VERSION, TABLES, schema_version
from tertulia.storage.sqlite.library import Database, Migrations
from tertulia.storage.sqlite.released import VERSIONS
from tertulia.storage.values import Value, checksum, read, searchable
from tertulia.storage.views import QUERIES


class _VersionedMigrations(Migrations):
    """Migrations that are counted by `PRAGMA user_version`: migration N makes version N.

    sqlite-utils would note them in a table of its own. It is not made: all stores note their version in `user_version`,
    and two notes could contradict each other.
    """

    def applied(self, db: Database) -> list[Migrations._AppliedMigration]:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        return [self._AppliedMigration(migration.name, applied_at="") for migration in self._migrations[:version]]

    def ensure_migrations_table(self, db: Database) -> None:
        pass

    def _record_applied(self, db: Database, name: str) -> None:
        names = [migration.name for migration in self._migrations]
        db.execute(f"PRAGMA user_version = {names.index(name) + 1}")


MIGRATIONS = _VersionedMigrations("tertulia")


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a new or older store to this version, whole or not at all; `StorageError` for any other file."""
    # Not `Database.atomic`, which begins DEFERRED: two processes that open one store at once would not wait for each
    # other. Inside, each migration is a savepoint of this transaction.
    connection.execute("BEGIN IMMEDIATE")
    try:
        db = Database(connection, recursive_triggers=False, execute_plugins=False)
        # Another process may have done it meanwhile.
        if schema_version(connection, path) == 0:
            create_tables(db)
        else:
            MIGRATIONS.apply(db)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def create_tables(db: Database) -> None:
    """Make the tables, views and the full-text index of this version in an empty file."""
    for table in TABLES.values():
        sql = db.create_table_sql(
            table.name,
            {column.name: column.sql_type for column in table.columns},
            pk=table.key,
            not_null=table.not_null,
            foreign_keys=[(column.name, *column.references) for column in table.columns if column.references],
        )
        # sqlite-utils knows no tables without row ids, which spare the largest ones a second tree.
        db.execute(sql.strip().removesuffix(";") + (" WITHOUT ROWID" if table.without_rowid else ""))
        if table.unique:
            db.table(table.name).create_index(table.unique, f"{table.name}_key", unique=True)
        for name, columns in (table.indexes or {}).items():
            db.table(table.name).create_index(columns, name)
    _create_index(db)
    _create_views(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _create_index(db: Database) -> None:
    """Make the full-text index, as it is since version 6."""
    table, columns = FULL_TEXT
    db.table(table).enable_fts(columns, create_triggers=True)


def _create_views(db: Database) -> None:
    """Make the views; only for the newest version, so only its migration calls this."""
    for name, query in QUERIES.items():
        db.create_view(name, query)


def _drop_views(db: Database) -> None:
    for view in db.view_names():
        if view in QUERIES:
            db.view(view).drop()


def _execute_released(db: Database, version: int) -> None:
    for statement in VERSIONS[version - 1]:
        db.execute(statement)


# --- versions 1 to 5 ------------------------------------------------------------------------------------------------


@MIGRATIONS()
def runs_and_turns(db: Database) -> None:
    """Texts, prompts, runs, turns, scores and candidates."""
    _execute_released(db, 1)


@MIGRATIONS()
def steps_and_calls(db: Database) -> None:
    """Steps of cognition, and the journal of model calls."""
    _execute_released(db, 2)


@MIGRATIONS()
def checksums_and_lineage(db: Database) -> None:
    """A checksum for every row, lineage, traces, and search. Version 6 makes its views and its index again."""
    db.conn.create_function("row_checksum", -1, hearing(lambda *values: checksum([read(value) for value in values])))
    db.conn.create_function("searchable", 1, hearing(lambda text: searchable(str(read(text)))))
    _execute_released(db, 3)


@MIGRATIONS()
def readings(db: Database) -> None:
    """What models answered about stored conversations."""
    _execute_released(db, 4)


@MIGRATIONS()
def towns(db: Database) -> None:
    """Days of a town. Each conversation is a run of its own."""
    _execute_released(db, 5)


# --- version 6 ------------------------------------------------------------------------------------------------------


@MIGRATIONS()
def bytes_labels_and_annotations(db: Database) -> None:
    """Bytes instead of text in three columns, labels of runs, and two names."""
    _drop_views(db)
    for event in ("inserted", "deleted", "updated"):
        db.execute(f"DROP TRIGGER IF EXISTS passages_{event}")
    db.table("passages_fts").drop(ignore=True)
    _execute_released(db, 6)
    _convert(db, "traces", "run, turn, trace, stored", {"trace": base64.b85decode})
    _convert(
        db,
        "calls",
        """run, round, agent, node, attempt, kind, model, prompt, parameters_id, replies, tokens, results,
        prompt_tokens, reply_tokens, seconds""",
        {"tokens": base64.b85decode},
    )
    _convert(
        db,
        "memories",
        "simulation, agent, number, memory, kind, content_id, created, importance, evidence, vector",
        {"vector": base64.b64decode},
    )
    db.table("runs").transform(rename={"voices": "participant_models"})
    db.table("runs").add_column("label", str)
    _convert(
        db,
        "runs",
        """run, status, kind, scenario, model, embedder, rehearsed, seed, parameters, participant_models, extensions,
        parent_run, parent_turn, rewritten, error, created, case_id""",
        {},
        added=1,
    )
    _create_index(db)


#: No checksum of a row is this, so a row that was damaged before it was converted is still refused when it is read.
_DAMAGED = -1


def _convert(
    db: Database, table: str, columns: str, conversions: Mapping[str, Callable[[str], bytes]], added: int = 0
) -> None:
    """Make bytes of the text in some columns of a table, row by row, and renew the checksums of its rows.

    Args:
        columns: The columns that its checksum covered, in its order.
        conversions: What makes bytes of a column's text.
        added: How many new columns, all of them NULL, the checksum covers behind those.
    """
    names = _names(columns)

    @lru_cache(maxsize=2)  # SQLite asks for the bytes, and then for the checksum over them
    def converted(name: str, text: str) -> bytes:
        try:
            return conversions[name](text)
        except ValueError:
            return text.encode("utf-8", "surrogatepass")

    def after(row: list[Value]) -> list[Value]:
        pairs = zip(names, row, strict=True)
        return [converted(name, str(value)) if name in conversions else value for name, value in pairs] + [None] * added

    db.conn.create_function("converted", 2, hearing(lambda name, value: converted(name, str(read(value)))))
    db.conn.create_function("renewed", -1, hearing(_renewal(after)))
    if conversions:
        db.table(table).transform(types=dict.fromkeys(conversions, bytes))
    changes = [f"{name} = converted('{name}', {name})" for name in conversions]
    changes.append(f"{CHECKSUM} = renewed({CHECKSUM}, {columns})")
    db.execute(f"UPDATE {table} SET {', '.join(changes)}")


def _renewal(after: Callable[[list[Value]], list[Value]]) -> Callable[..., int]:
    """Return a function for the new checksum of a row that `after` changes, of its stored checksum and its values."""

    def renewed(stored: int, *values: Value) -> int:
        row = [read(value) for value in values]
        return checksum(after(row)) if checksum(row) == stored else _DAMAGED

    return renewed


def _names(columns: str) -> list[str]:
    return [name.strip() for name in columns.split(",")]


# --- version 7 ------------------------------------------------------------------------------------------------------


@MIGRATIONS()
def pictures_and_parts(db: Database) -> None:
    """Pictures, and the further utterances of a turn, with their candidates and scores beside the turn's own."""
    _drop_views(db)
    _execute_released(db, 7)
    _add_part(db, "unit_scores", "run, turn, position, unit, score, removed")
    _add_part(db, "candidates", "run, turn, attempt, content_id, reply, inconsistency, inconsistency_runs, comment")


def _add_part(db: Database, table: str, columns: str) -> None:
    """Fill a table from the former one, all of it utterances of the turns themselves, and drop the former one.

    Args:
        table: The table; the column `part` of it stands third.
        columns: The columns of the former one that its checksum covered, in its order.
    """
    db.conn.create_function("renewed", -1, hearing(_renewal(lambda row: [*row[:2], "", *row[2:]])))
    run, turn, *others = _names(columns)
    rest = ", ".join(others)
    db.execute(
        f"""INSERT INTO {table} ({run}, {turn}, part, {rest}, {CHECKSUM})
        SELECT {run}, {turn}, '', {rest}, renewed({CHECKSUM}, {columns}) FROM former_{table}"""
    )
    db.execute(f"DROP TABLE former_{table}")


# --- version 8 ------------------------------------------------------------------------------------------------------


@MIGRATIONS()
def experiments(db: Database) -> None:
    """Experiments, the place of a run in one, calibrations of λ, and the λ of each turn."""
    _drop_views(db)
    _execute_released(db, 8)
    _convert(
        db,
        "runs",
        """run, status, kind, scenario, model, embedder, rehearsed, seed, parameters, participant_models, extensions,
        parent_run, parent_turn, rewritten, error, created, case_id, label""",
        {},
        added=5,
    )
    how_it_came = "content_id, {}prompt, scored, chosen, rollbacks, scored_by, judged_by"
    _convert(db, "turns", f"run, turn, round, speaker, {how_it_came.format('sim_time_s, ended, ')}", {}, added=1)
    _convert(db, "parts", f"run, turn, part, speaker, {how_it_came.format('')}", {}, added=1)


# --- version 9 ------------------------------------------------------------------------------------------------------


@MIGRATIONS()
def encounters_of_a_pair(db: Database) -> None:
    """An index of the encounters of two; a town of a hundred thousand was walked through before each."""
    _drop_views(db)
    _execute_released(db, 9)
    _create_views(db)
