"""SQLite's description of the tables and indexes of a store, compared with their declarations in storage/schema.py."""

import sqlite3
from collections.abc import Collection, Iterable

from tertulia.storage.faults import damaged
from tertulia.storage.schema import TABLES

#: The table of the generation, and the objects that sqlite-utils makes beside the table whose texts are indexed in full
#: (`Table.enable_fts`).
_FURTHER = ("generation", "passages_fts", "passages_ai", "passages_ad", "passages_au")


def check_tables(connection: sqlite3.Connection, path: str, made: Collection[str], views: Collection[str]) -> None:
    """Compare a store with the declarations, by SQLite's description of its tables and indexes.

    By that, as other versions of sqlite-utils spell them otherwise. Views and triggers are compared by their text
    (storage/sqlite/objects.py); a search checks the contents of the full-text index.

    Raises:
        StorageError: A table, an index, a view or a trigger is missing or was changed.
    """
    columns, indexes = _found_columns(connection), _found_indexes(connection)
    changed = [table.name for table in TABLES.values() if columns.get(table.name) != table.structure]
    changed += [table.name for table in TABLES.values() if not table.index_structure <= indexes]
    changed += [name for name in (*views, *_FURTHER) if name not in made]
    if changed:
        raise damaged(path, f"{changed[0]} is not as it was made")


def _found_columns(connection: sqlite3.Connection) -> dict[str, frozenset[tuple[str, str, str, bool, int]]]:
    rows = connection.execute(
        f"""SELECT tables.column1, columns.name, columns.type, columns."notnull", columns.pk
        FROM (VALUES {_names(TABLES)}) AS tables JOIN pragma_table_info(tables.column1) AS columns"""
    ).fetchall()
    return {table: frozenset(row for row in rows if row[0] == table) for table in TABLES}


def _found_indexes(connection: sqlite3.Connection) -> set[tuple[str, bool, tuple[str, ...]]]:
    found: dict[tuple[str, str, bool], list[str]] = {}
    for table, index, unique, column in connection.execute(
        f"""SELECT tables.column1, indexes.name, indexes."unique", columns.name
        FROM (VALUES {_names(TABLES)}) AS tables JOIN pragma_index_list(tables.column1) AS indexes
        JOIN pragma_index_info(indexes.name) AS columns ORDER BY columns.seqno"""
    ):
        found.setdefault((table, index, unique), []).append(column)
    return {(table, bool(unique), tuple(columns)) for (table, _, unique), columns in found.items()}


def _names(tables: Iterable[str]) -> str:
    return ", ".join(f"('{name}')" for name in tables)
