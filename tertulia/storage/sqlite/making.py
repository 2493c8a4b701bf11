"""Making the tables of a store in a new file, straight from tertulia/storage/schema.py.

Only a process that makes a store imports this module: it brings sqlite-utils.
"""

import sqlite3

from tertulia.storage.schema import APPLICATION_ID, FULL_TEXT, SCHEMA_VERSION, TABLES
from tertulia.storage.sql_views import QUERIES
from tertulia.storage.sqlite.generation import make_generation
from tertulia.storage.sqlite.library import Database
from tertulia.storage.sqlite.versions import schema_version


def make_tables(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new store, whole or not at all; `StorageError` if the file became something else."""
    # Not `Database.atomic`, which begins DEFERRED: two processes that open one store at once would not wait for each
    # other.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(connection, path) == 0:  # another process may have made them meanwhile
            _make(Database(connection, recursive_triggers=False, execute_plugins=False))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _make(db: Database) -> None:
    """Make the tables, the full-text index and the views."""
    make_generation(db.conn)
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
    texts, columns = FULL_TEXT
    db.table(texts).enable_fts(columns, create_triggers=True)
    for name, query in QUERIES.items():
        db.create_view(name, query)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
