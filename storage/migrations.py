"""How a store gets the tables of this version: a new one is made with them, an older one is migrated.

A migration that was released is never changed, and spells the columns of its time; a change is a new one, and today's
columns stand in storage/schema.py. Only whoever makes or migrates a store imports this module: it brings sqlite-utils.
"""

import base64
import sqlite3
from collections.abc import Callable, Mapping
from functools import lru_cache

from sqlite_utils import Database, Migrations

from storage.schema import APPLICATION_ID, CHECKSUM, FULL_TEXT, SCHEMA_VERSION, TABLES, schema_version
from storage.values import Value, checksum, read, searchable
from storage.views import QUERIES


class _VersionedMigrations(Migrations):
    """Migrations that are counted by `PRAGMA user_version`: migration N makes version N.

    The table in which sqlite-utils would note them is not made: stores have always told their version so, and a second
    account could contradict the first.
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
    """Bring a new or an older store to this version, all of it or nothing.

    Args:
        connection: An open connection without a transaction.
        path: The file, for the message.

    Raises:
        StorageError: The file is not a store, or a newer Tertulia wrote it; it was not touched.
    """
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
    _create_readers(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _create_readers(db: Database) -> None:
    table, columns = FULL_TEXT
    db.table(table).enable_fts(columns, create_triggers=True)
    for name, query in QUERIES.items():
        db.create_view(name, query)


def _execute(db: Database, *statements: str) -> None:
    for statement in statements:
        db.execute(statement)


# --- versions 1 to 5 ------------------------------------------------------------------------------------------------


@MIGRATIONS()
def runs_and_turns(db: Database) -> None:
    """Texts, prompts, runs, turns, scores and candidates."""
    _execute(
        db,
        """CREATE TABLE contents (
            id INTEGER PRIMARY KEY,
            hash TEXT NOT NULL UNIQUE,  -- blake2b of the text, 16 bytes, hexadecimal
            text TEXT NOT NULL)""",
        """CREATE TABLE units (
            id INTEGER PRIMARY KEY,
            unit TEXT NOT NULL,  -- its id within a prompt
            block TEXT NOT NULL,
            kind TEXT NOT NULL,
            removable INTEGER NOT NULL,
            speaker TEXT,
            content_id INTEGER NOT NULL REFERENCES contents (id))""",
        "CREATE INDEX units_by_name ON units (unit, content_id)",
        """CREATE TABLE prompts (
            hash TEXT PRIMARY KEY,
            speaker TEXT NOT NULL,
            layout TEXT NOT NULL,
            unit_ids TEXT NOT NULL)  -- JSON list of units.id in prompt order""",
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY,  -- in the order in which they were begun
            run TEXT NOT NULL UNIQUE,
            status TEXT NOT NULL,
            scenario TEXT NOT NULL,
            model TEXT NOT NULL,
            embedder TEXT NOT NULL,
            rehearsed INTEGER NOT NULL,
            seed TEXT NOT NULL,  -- text: a seed may have more than 64 bits
            parameters TEXT NOT NULL,  -- JSON
            parent_run TEXT,
            parent_turn INTEGER,
            error TEXT,
            created TEXT NOT NULL,
            case_id INTEGER NOT NULL REFERENCES contents (id))""",
        """CREATE TABLE turns (
            run TEXT NOT NULL REFERENCES runs (run),
            turn INTEGER NOT NULL,
            round INTEGER NOT NULL,
            speaker TEXT,
            content_id INTEGER NOT NULL REFERENCES contents (id),
            sim_time_s REAL NOT NULL,
            ended INTEGER NOT NULL,
            prompt TEXT REFERENCES prompts (hash),
            scored INTEGER NOT NULL,
            chosen INTEGER NOT NULL,
            rollbacks INTEGER NOT NULL,
            scored_by TEXT,
            judged_by TEXT,
            PRIMARY KEY (run, turn)) WITHOUT ROWID""",
        """CREATE TABLE unit_scores (
            run TEXT NOT NULL,
            turn INTEGER NOT NULL,
            position INTEGER NOT NULL,  -- in prompt order, from 0
            unit TEXT NOT NULL,
            score REAL,
            removed INTEGER NOT NULL,  -- its place in the order of removal, from 1; 0: it stayed
            PRIMARY KEY (run, turn, position)) WITHOUT ROWID""",
        """CREATE TABLE candidates (
            run TEXT NOT NULL,
            turn INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            content_id INTEGER NOT NULL REFERENCES contents (id),
            reply TEXT NOT NULL,  -- JSON: text, tokens, text_tokens, fields
            inconsistency REAL,
            inconsistency_runs TEXT NOT NULL,  -- JSON list
            comment TEXT,
            PRIMARY KEY (run, turn, attempt))""",
    )


@MIGRATIONS()
def steps_and_calls(db: Database) -> None:
    """Steps of cognition, and the journal of model calls."""
    _execute(
        db,
        # JSON: by participant, a model of their own and the parameters as they suit it
        "ALTER TABLE runs ADD COLUMN voices TEXT NOT NULL DEFAULT '{}'",
        """CREATE TABLE steps (
            run TEXT NOT NULL,
            round INTEGER NOT NULL,  -- 0: before the first
            agent TEXT NOT NULL,  -- empty: the whole group's
            node TEXT NOT NULL,
            record TEXT NOT NULL,  -- JSON
            PRIMARY KEY (run, round, agent, node)) WITHOUT ROWID""",
        """CREATE TABLE calls (
            id INTEGER PRIMARY KEY,  -- in the order in which they were stored
            run TEXT NOT NULL,
            round INTEGER NOT NULL,
            agent TEXT NOT NULL,
            node TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            model TEXT NOT NULL,
            prompt TEXT NOT NULL REFERENCES prompts (hash),
            replies TEXT NOT NULL,  -- JSON: text, text_tokens, fields where the text does not hold them
            tokens TEXT NOT NULL,  -- JSON list of each reply's tokens: zlib, base 85
            UNIQUE (run, round, agent, node, attempt))""",
    )


@MIGRATIONS()
def checksums_and_lineage(db: Database) -> None:
    """A checksum for every row, lineage, traces, and what is searched. Version 6 makes its views and its index anew."""
    db.conn.create_function("row_checksum", -1, lambda *values: checksum([read(value) for value in values]))
    db.conn.create_function("searchable", 1, lambda text: searchable(str(read(text))))
    _execute(
        db,
        # Every row gets a checksum (storage/tables.py); `row_checksum` and `searchable` are Python's.
        "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'dialogue'",
        """UPDATE runs SET kind = 'group_chat' WHERE (SELECT json_type(searchable(text), '$.participants')
            FROM contents WHERE contents.id = case_id) IS NOT NULL""",
        "ALTER TABLE runs ADD COLUMN extensions TEXT NOT NULL DEFAULT '[]'",  # JSON: files and packages with own nodes
        "ALTER TABLE runs ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        """UPDATE runs SET checksum = row_checksum(run, status, kind, scenario, model, embedder, rehearsed, seed,
            parameters, voices, extensions, parent_run, parent_turn, rewritten, error, created, case_id)""",
        # A run has in common with each of its ancestors what those had until the fork. Every reader joins this table.
        """CREATE TABLE lineage (
            run TEXT NOT NULL,
            ancestor TEXT NOT NULL,  -- the run itself among them
            depth INTEGER NOT NULL,  -- 0: itself, 1: its parent, ...
            turns INTEGER NOT NULL,  -- up to this turn
            rounds INTEGER NOT NULL,  -- up to this round of thoughts, calls and traces
            checksum INTEGER NOT NULL,
            PRIMARY KEY (run, ancestor)) WITHOUT ROWID""",
        """INSERT INTO lineage SELECT run, run, 0, 4611686018427387904, 4611686018427387904,
            row_checksum(run, run, 0, 4611686018427387904, 4611686018427387904) FROM runs""",
        "ALTER TABLE turns ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        """UPDATE turns SET checksum = row_checksum(run, turn, round, speaker, content_id, sim_time_s, ended, prompt,
            scored, chosen, rollbacks, scored_by, judged_by)""",
        "ALTER TABLE unit_scores ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        "UPDATE unit_scores SET checksum = row_checksum(run, turn, position, unit, score, removed)",
        "ALTER TABLE candidates ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        """UPDATE candidates SET checksum = row_checksum(run, turn, attempt, content_id, reply, inconsistency,
            inconsistency_runs, comment)""",
        "ALTER TABLE steps ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        "UPDATE steps SET checksum = row_checksum(run, round, agent, node, record)",
        "ALTER TABLE calls ADD COLUMN kind TEXT NOT NULL DEFAULT 'generate'",
        "ALTER TABLE calls ADD COLUMN parameters_id INTEGER REFERENCES contents (id)",  # JSON: what else was asked for
        "ALTER TABLE calls ADD COLUMN results TEXT NOT NULL DEFAULT '[]'",  # JSON: what was computed, not written
        "ALTER TABLE calls ADD COLUMN prompt_tokens INTEGER",
        "ALTER TABLE calls ADD COLUMN reply_tokens INTEGER",
        "ALTER TABLE calls ADD COLUMN seconds REAL",  # its share of its batch
        "ALTER TABLE calls ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        """UPDATE calls SET checksum = row_checksum(run, round, agent, node, attempt, kind, model, prompt,
            parameters_id, replies, tokens, results, prompt_tokens, reply_tokens, seconds)""",
        """CREATE TABLE traces (
            run TEXT NOT NULL,
            turn INTEGER NOT NULL,
            trace TEXT NOT NULL,  -- JSON of every execution of a node, its state before and its update: zlib, base 85
            stored TEXT NOT NULL,  -- JSON: how many rows of each table belong to the turn
            checksum INTEGER NOT NULL,
            PRIMARY KEY (run, turn))""",
        # What `tertulia search` looks through. A memory belongs to what a run starts from, the others to a run.
        """CREATE TABLE passages (
            id INTEGER PRIMARY KEY,
            start_id INTEGER REFERENCES contents (id),
            run TEXT,
            turn INTEGER NOT NULL,
            agent TEXT NOT NULL,
            kind TEXT NOT NULL,  -- utterance, thought, memory
            text TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            UNIQUE (run, turn, agent, kind))""",
        "CREATE INDEX passages_by_start ON passages (start_id)",
        """INSERT INTO passages (run, turn, agent, kind, text, checksum)
            SELECT run, turn, speaker, 'utterance', searchable(text), 0 FROM turns
            JOIN contents ON contents.id = content_id WHERE speaker IS NOT NULL""",
        """INSERT INTO passages (run, turn, agent, kind, text, checksum)
            SELECT run, round, agent, 'thought', searchable(json_extract(searchable(record), '$.thought')), 0 FROM steps
            WHERE node = 'assess'""",
        """INSERT INTO passages (start_id, turn, agent, kind, text, checksum)
            SELECT DISTINCT start.id, 0, json_extract(person.value, '$.persona.name'), 'memory',
                searchable(json_extract(memory.value, '$.text')), 0
            FROM (SELECT id, searchable(text) AS text FROM contents WHERE id IN (SELECT case_id FROM runs))
                AS start CROSS JOIN
                json_each(coalesce(json_extract(start.text, '$.participants'), json_array(
                    json_extract(start.text, '$.initiator'), json_extract(start.text, '$.partner')))) AS person
                CROSS JOIN json_each(person.value, '$.memories') AS memory""",
        "UPDATE passages SET checksum = row_checksum(start_id, run, turn, agent, kind, text)",
    )


@MIGRATIONS()
def readings(db: Database) -> None:
    """What models answered about stored conversations."""
    _execute(
        db,
        # What models were asked about a stored conversation (lab/); no part of the run.
        """CREATE TABLE readings (
            run TEXT NOT NULL,
            instrument TEXT NOT NULL,  -- inventory, speech_acts
            model TEXT NOT NULL,
            agent TEXT NOT NULL,  -- whom it is about; empty: nobody in particular
            first INTEGER NOT NULL,  -- the turns that were read
            last INTEGER NOT NULL,
            part INTEGER NOT NULL,
            prompt TEXT NOT NULL REFERENCES prompts (hash),
            answers TEXT NOT NULL,  -- JSON: by question
            prompt_tokens INTEGER NOT NULL,
            reply_tokens INTEGER NOT NULL,
            seconds REAL NOT NULL,
            checksum INTEGER NOT NULL,
            PRIMARY KEY (run, instrument, model, agent, first, part)) WITHOUT ROWID""",
    )


@MIGRATIONS()
def towns(db: Database) -> None:
    """Days of a town. Each conversation is a run of its own."""
    _execute(
        db,
        # Days of a town. Each conversation is a run of its own; a simulation names them in order.
        """CREATE TABLE simulations (
            id INTEGER PRIMARY KEY,  -- in the order in which they were begun
            simulation TEXT NOT NULL UNIQUE,
            status TEXT NOT NULL,
            town TEXT NOT NULL,  -- its name
            model TEXT NOT NULL,
            embedder TEXT NOT NULL,
            rehearsed INTEGER NOT NULL,
            seed TEXT NOT NULL,
            days INTEGER NOT NULL,
            encounters_per_day INTEGER,  -- NULL: those of the log
            parameters TEXT NOT NULL,  -- JSON
            error TEXT,
            created TEXT NOT NULL,
            town_id INTEGER NOT NULL REFERENCES contents (id),  -- JSON: people, habits, what was said before
            checksum INTEGER NOT NULL)""",
        """CREATE TABLE encounters (
            simulation TEXT NOT NULL,
            day INTEGER NOT NULL,
            number INTEGER NOT NULL,
            time TEXT NOT NULL,
            place TEXT,
            initiator TEXT NOT NULL,
            partner TEXT NOT NULL,
            activities TEXT NOT NULL,  -- JSON: of the two
            run TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            PRIMARY KEY (simulation, day, number)) WITHOUT ROWID""",
        """CREATE TABLE memories (
            id INTEGER PRIMARY KEY,
            simulation TEXT NOT NULL,
            agent TEXT NOT NULL,
            number INTEGER NOT NULL,  -- in the agent's stream, from 1
            memory TEXT NOT NULL,  -- its id
            kind TEXT NOT NULL,
            content_id INTEGER NOT NULL REFERENCES contents (id),
            created TEXT NOT NULL,
            importance REAL NOT NULL,
            evidence TEXT NOT NULL,  -- JSON list of ids
            vector TEXT NOT NULL,  -- its embedding: half precision, little-endian, base 64; empty: never recalled
            checksum INTEGER NOT NULL,
            UNIQUE (simulation, agent, number))""",
    )


# --- version 6 ------------------------------------------------------------------------------------------------------


@MIGRATIONS()
def bytes_labels_and_annotations(db: Database) -> None:
    """Bytes instead of text in three columns, labels of runs, and two names."""
    for view in db.view_names():
        if view in QUERIES:
            db.view(view).drop()
    _execute(db, *(f"DROP TRIGGER IF EXISTS passages_{event}" for event in ("inserted", "deleted", "updated")))
    db.table("passages_fts").drop(ignore=True)
    db.rename_table("readings", "annotations")
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
    _create_readers(db)


#: No checksum of a row is this, so a row that was damaged before it was converted is still told when it is read.
_DAMAGED = -1


def _convert(
    db: Database, table: str, columns: str, conversions: Mapping[str, Callable[[str], bytes]], added: int = 0
) -> None:
    """Make bytes of the text in some columns of a table, row by row, and renew the checksums of its rows.

    Args:
        db: The store.
        table: The table.
        columns: The columns that its checksum covered, in its order.
        conversions: What makes bytes of a column's text.
        added: How many new columns, all of them NULL, the checksum covers behind those.
    """
    names = [name.strip() for name in columns.split(",")]

    @lru_cache(maxsize=2)  # SQLite asks for the bytes, and then for the checksum over them
    def converted(name: str, text: str) -> bytes:
        try:
            return conversions[name](text)
        except ValueError:
            return text.encode("utf-8", "surrogatepass")

    def renewed(stored: int, *values: Value | bytes) -> int:
        row = [read(value) for value in values]
        if checksum(row) != stored:
            return _DAMAGED
        pairs = zip(names, row, strict=True)
        after = [converted(name, str(value)) if name in conversions else value for name, value in pairs]
        return checksum([*after, *[None] * added])

    db.conn.create_function("converted", 2, lambda name, value: converted(name, str(read(value))))
    db.conn.create_function("renewed", -1, renewed)
    if conversions:
        db.table(table).transform(types=dict.fromkeys(conversions, bytes))
    changes = [f"{name} = converted('{name}', {name})" for name in conversions]
    changes.append(f"{CHECKSUM} = renewed({CHECKSUM}, {columns})")
    db.execute(f"UPDATE {table} SET {', '.join(changes)}")
