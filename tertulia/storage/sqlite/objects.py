"""The schema of a store file: it may hold the objects of Tertulia and LangGraph, and nothing else.

A trigger, a view, a generated column or an index on an expression is SQL that SQLite executes on its own account; in a
store from a stranger, it is the stranger's. So every object is compared with those of this version:

1. A schema that is the same as a new store's, to the letter, is known by its hash; this is the common case.
2. Otherwise each object is compared token by token, as other versions of SQLite and sqlite-utils spell it otherwise.
   Triggers, views and full-text tables must be the expected ones. The SQL of a table may hold nothing but the names of
   columns and tables, types and the simplest constraints, so that no expression can be in it.

Columns of tables and indexes are compared in `structure`. This module executes nothing but one query for
`sqlite_master`, and is asked before anything is read or written.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from tertulia.state.errors import StorageError
from tertulia.state.text import path_argument
from tertulia.storage.faults import words_of_damage
from tertulia.storage.schema import TABLES
from tertulia.storage.sqlite.generation import TABLE as GENERATION

#: An object: its type, its name, the name of its table, its SQL.
Row = tuple[object, object, object, object]
Tokens = tuple[str, ...]

#: The hashes of the schema of a new store, without LangGraph's tables and with them. Other versions of sqlite-utils may
#: spell it otherwise, which costs a few milliseconds whenever a store is opened, and nothing else.
KNOWN = frozenset({"fca1ccb6c8f9e4da447556516b18eb18", "6375297279c3f98dc3228270129ae610"})

#: LangGraph's tables: it makes them itself, in the same file.
CHECKPOINT_TABLES = (
    """CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))""",
    """CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL,
    channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))""",
)

#: The full-text index, its tables, and the triggers that keep it.
FULL_TEXT_OBJECTS = (
    'CREATE VIRTUAL TABLE passages_fts USING fts5 (text, content="passages")',
    "CREATE TABLE 'passages_fts_data'(id INTEGER PRIMARY KEY, block BLOB)",
    "CREATE TABLE 'passages_fts_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    "CREATE TABLE 'passages_fts_docsize'(id INTEGER PRIMARY KEY, sz BLOB)",
    "CREATE TABLE 'passages_fts_config'(k PRIMARY KEY, v) WITHOUT ROWID",
    """CREATE TRIGGER passages_ai AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, text) VALUES (new.rowid, new.text); END""",
    """CREATE TRIGGER passages_ad AFTER DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, text) VALUES('delete', old.rowid, old.text); END""",
    """CREATE TRIGGER passages_au AFTER UPDATE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, text) VALUES('delete', old.rowid, old.text);
    INSERT INTO passages_fts (rowid, text) VALUES (new.rowid, new.text); END""",
)
#: The tables of `ANALYZE`, which some tools execute by themselves.
_STATISTICS = (
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
)

#: All that the SQL of a table consists of, beside names.
_TABLE_WORDS = frozenset(
    (
        *("create", "table", "(", ")", ",", "integer", "text", "real", "blob", "not", "null"),
        *("primary", "key", "unique", "references", "without", "rowid"),
    )
)

#: Compiled when it is needed: a store of this version is known by its hash.
_TOKEN = r"""--[^\n]* | /\*.*?(?:\*/|\Z) | [ \t\n\f\r]+  # nothing to SQLite
    | (?P<string>'(?:[^']|'')*') | (?P<name>"[^"]*"|\[[^\]]*\]|`[^`]*`) | (?P<word>\w+) | (?P<other>.)"""
_KINDS = ("table", "view", "trigger", "index")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def objects(connection: sqlite3.Connection) -> list[Row]:
    """Return the objects of a store file."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()


def is_known(rows: Iterable[Row]) -> bool:
    """Return whether these are, to the letter, the objects of a new store of this version."""
    return fingerprint(rows) in KNOWN


def fingerprint(rows: Iterable[Row]) -> str:
    """Return a hash of objects in any order."""
    return hashlib.blake2b(repr(sorted(map(repr, rows))).encode("utf-8", "replace"), digest_size=16).hexdigest()


def check_objects(rows: Iterable[Row], path: str, views: Mapping[str, str]) -> None:
    """Refuse a store with objects that neither Tertulia nor LangGraph made.

    Args:
        views: The query of each view of this version.

    Raises:
        StorageError: It has one; nothing of it was executed.
    """
    for kind, name, _, sql in rows:
        if sql is None and kind == "index" and str(name).startswith("sqlite_autoindex_"):
            continue  # of a key; SQLite reads it from the table's SQL
        tokens = _tokens(sql) if isinstance(sql, str) else ()
        if not _is_ours(tokens, views):
            raise StorageError(_complaint(str(kind), str(name), tokens, path))


def _is_ours(tokens: Tokens, views: Mapping[str, str]) -> bool:
    # SQLite's use of a row follows from its SQL alone, so its other columns are not asked.
    if tokens in _expected():
        return True
    match tokens:
        case ("create", "table", name, "(", *rest):
            return name in TABLES and _table_words().issuperset(rest)
        case ("create", "index", _, "on", table, "(", *columns, ")"):
            return _is_index(table, False, columns)
        case ("create", "unique", "index", _, "on", table, "(", *columns, ")"):
            return _is_index(table, True, columns)
        case ("create", "view", name, "as", *query):
            return name in views and tuple(query) == _tokens(views[name])
    return False


def _is_index(table: str, is_unique: bool, columns: list[str]) -> bool:
    named = tuple(columns[::2])
    return (
        set(columns[1::2]) <= {","} and table in TABLES and (table, is_unique, named) in TABLES[table].index_structure
    )


@lru_cache(maxsize=256)
def _tokens(sql: str) -> Tokens:
    """Return the tokens of SQL: words in lower case, names without quotes, strings as they are."""
    found = []
    for match in re.finditer(_TOKEN, sql, re.VERBOSE | re.DOTALL | re.ASCII):
        text = match.group()
        if match.lastgroup == "name":
            found.append(text[1:-1].lower() if _PLAIN_NAME.fullmatch(text[1:-1]) else text)
        elif match.lastgroup is not None:
            found.append(text if match.lastgroup == "string" else text.lower())
    return tuple(found)


@cache
def _expected() -> frozenset[Tokens]:
    return frozenset(map(_tokens, (GENERATION, *FULL_TEXT_OBJECTS, *CHECKPOINT_TABLES, *_STATISTICS)))


@cache
def _table_words() -> frozenset[str]:
    columns = {column.name for table in TABLES.values() for column in table.columns}
    return _TABLE_WORDS | columns | frozenset(TABLES)


def _complaint(kind: str, name: str, tokens: Tokens, path: str) -> str:
    """Return a message on an object; it does not repeat a name that a shell or a terminal would obey."""
    if not (_PLAIN_NAME.fullmatch(name) and name.lower() in tokens[:5] and kind in _KINDS):
        return words_of_damage(path, "its schema holds what Tertulia did not make")
    if name in TABLES or name.startswith("passages_") or name in ("checkpoints", "writes", "generation"):
        return words_of_damage(path, f"{name} is not as it was made")
    return (
        f"{path} holds a {kind} {name}, which Tertulia did not make, so nothing in it was read; if it is yours, make "
        "it in a file of your own that attaches the store; to remove it: "
        f'sqlite3 {path_argument(path)} "DROP {kind.upper()} {name}"'
    )
