"""The tables, as numbered migrations: version N of the schema is what the first N of them make.

A migration that was released is never changed; a change is a new one. Texts stand once, in `contents`, and the other
tables point to them; so do prompts to their units, most of which stand in every prompt of a conversation.
"""

import sqlite3
from contextlib import closing
from functools import cache

from state.errors import StorageError
from storage.faults import DAMAGED
from storage.values import checksum, read, searchable
from storage.views import VIEWS

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
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
    ),
    (
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
    ),
    (
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
        "CREATE VIRTUAL TABLE passages_fts USING fts5 (text, content = 'passages', content_rowid = 'id')",
        """CREATE TRIGGER passages_inserted AFTER INSERT ON passages BEGIN
            INSERT INTO passages_fts (rowid, text) VALUES (new.id, new.text); END""",
        """CREATE TRIGGER passages_deleted AFTER DELETE ON passages BEGIN
            INSERT INTO passages_fts (passages_fts, rowid, text) VALUES ('delete', old.id, old.text); END""",
        """CREATE TRIGGER passages_updated AFTER UPDATE ON passages BEGIN
            INSERT INTO passages_fts (passages_fts, rowid, text) VALUES ('delete', old.id, old.text);
            INSERT INTO passages_fts (rowid, text) VALUES (new.id, new.text); END""",
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
        *VIEWS,
    ),
    (
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
    ),
    (
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
    ),
)

SCHEMA_VERSION = len(MIGRATIONS)

#: Tells a store from other programs' SQLite files: `Poly` in ASCII, after the project's first name, under which the
#: first stores were made.
APPLICATION_ID = int.from_bytes(b"Poly", "big")


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a new or an older store to this version, all of it or nothing.

    Args:
        connection: An open connection without a transaction.
        path: The file, for the message.

    Raises:
        StorageError: The file is not a store, or a newer Tertulia wrote it; it was not touched.
    """
    if _schema_version(connection, path) == SCHEMA_VERSION:
        return
    connection.create_function("row_checksum", -1, lambda *values: checksum([read(one) for one in values]))
    connection.create_function("searchable", 1, lambda text: searchable(str(read(text))))
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it meanwhile.
        for statements in MIGRATIONS[_schema_version(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def check_tables(connection: sqlite3.Connection, path: str) -> None:
    """Compare the store's tables with what the migrations make; what others have added beside them is theirs.

    Raises:
        StorageError: A table is missing or was changed.
    """
    found = _definitions(connection)
    for name, definition in _own_definitions().items():
        if found.get(name) != definition:
            raise StorageError(DAMAGED.format(path=path, cause=f"{name} is not as it was made"))


@cache
def _own_definitions() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        migrate(fresh, ":memory:")
        return _definitions(fresh)


def _definitions(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def _schema_version(connection: sqlite3.Connection, path: str) -> int:
    # One statement sees one moment: another process may be making the tables.
    tables, application, version = connection.execute(
        """SELECT (SELECT count(*) FROM sqlite_master), application_id, user_version
        FROM pragma_application_id, pragma_user_version"""
    ).fetchone()
    if tables and application != APPLICATION_ID:
        raise StorageError(f"{path} is a SQLite file of something else; take another file with --store")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer Tertulia (schema version {version}, this one knows up to "
            f"{SCHEMA_VERSION}); upgrade Tertulia, or take another file with --store"
        )
    return int(version)
