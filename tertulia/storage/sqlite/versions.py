"""The version of a store: a SQLite file of another program, or of another version, is refused."""

import sqlite3

from tertulia.state.errors import StorageError
from tertulia.storage.schema import APPLICATION_ID, SCHEMA_VERSION


def schema_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a store, 0 for an empty file; `StorageError` for no store or one of another version."""
    # One statement sees one moment: another process may be making the tables.
    tables, application, version = connection.execute(
        """SELECT (SELECT count(*) FROM sqlite_master), application_id, user_version
        FROM pragma_application_id, pragma_user_version"""
    ).fetchone()
    check_version(path, bool(tables), application, version)
    return int(version)


def check_version(path: str, has_tables: bool, application: int, version: int) -> None:
    """Raise `StorageError` for a SQLite file that is no store, or one of another version."""
    if has_tables and application != APPLICATION_ID:
        raise StorageError(f"{path} is a SQLite file of something else; name another file")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer Tertulia (schema version {version}, this one knows up to "
            f"{SCHEMA_VERSION}); upgrade Tertulia, or name another file"
        )
    if version < SCHEMA_VERSION and (has_tables or version):
        raise StorageError(
            f"{path} was written by an older Tertulia (schema version {version}, this one reads {SCHEMA_VERSION}); "
            "open it with the version that wrote it, or begin a new store"
        )
