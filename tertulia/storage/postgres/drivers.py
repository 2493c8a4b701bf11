"""Which runs of a store on a server are driven: advisory locks, which die with their connection."""

from hashlib import blake2b

from tertulia.storage.contract import Database

#: The process that holds the advisory lock of a key, whose two halves are its parameters.
HOLDERS = """(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND CAST(classid AS bigint) = ? AND CAST(objid AS bigint) = ?) AS holders"""


def halves(key: int) -> tuple[int, int]:
    """Return the two parameters of `HOLDERS`."""
    return (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF


def lock_key(schema: str, run: str = "") -> int:
    """Return the key of the advisory lock of a run, or without a run that of the writers to the schema."""
    return int.from_bytes(blake2b(f"{schema}\0{run}".encode(), digest_size=8).digest(), "big", signed=True)


class ServerDrivers:
    """The runs of a store that are driven now: their locks are held."""

    def __init__(self, database: Database, schema: str) -> None:
        self._database, self._schema = database, schema

    def is_driven(self, run: str) -> bool:
        """Return whether a process drives a run."""
        return bool(self._database.rows(f"SELECT 1 FROM {HOLDERS}", *halves(lock_key(self._schema, run))))
