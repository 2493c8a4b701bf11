"""Messages of one line for failures of a server; the only place that knows Postgres's error codes."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from tertulia.state.errors import StorageError
from tertulia.state.text import first_line
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.faults import BUSY_TIMEOUT_S, damaged, storage_faults

#: Parts of the messages, which have no codes, of a server or the library when no connection can be made; the remedies.
_CONNECTING = {
    "password": "give the password in ~/.pgpass, in PGPASSWORD, or in the address",
    "no pg_hba.conf entry": "the server does not let this user in from here; see its pg_hba.conf",
    "database": "create it (createdb), or name another at the end of the address",
    "role": "name another user in the address, or create it (createuser)",
    "too many": "close other programs, or raise max_connections of the server",
    "": "see that the server runs and can be reached at this address",
}

_ADVICE: dict[type[psycopg.Error], str] = {
    errors.DiskFull: "the server of {address} has no space left; free some, then try again",
    errors.InsufficientPrivilege: "{address} can't be read or written by this user ({cause}); have it granted",
    errors.ReadOnlySqlTransaction: "{address} can't be written: the server only lets it be read",
    errors.LockNotAvailable: f"another program has kept {{address}} locked for {BUSY_TIMEOUT_S} s; close it, then try "
    "again",
    errors.TooManyConnections: "the server of {address} has no connection left; close other programs",
    errors.ProgramLimitExceeded: "{address} can't hold a value of this size ({cause})",
}

#: The store's statements never change: an error in one means that the tables, or the JSON, were altered.
_ALTERED = (psycopg.ProgrammingError, psycopg.DataError)

#: How the codes begin of errors after which there is no connection.
_GONE = ("08", "57P")


@contextmanager
def server_faults(address: ServerAddress) -> Iterator[None]:
    """Re-raise an error of Postgres, or of a stored record that is invalid, as a `StorageError`.

    Errors that only a bug can cause, such as a broken constraint, pass through with their traceback.

    Raises:
        StorageError: One line with the address and a remedy.
    """
    try:
        with storage_faults(address):
            yield
    except psycopg.Error as error:
        cause = first_line(error)
        for kind, advice in _ADVICE.items():
            if isinstance(error, kind):
                raise StorageError(advice.format(address=address, cause=cause)) from error
        if isinstance(error, _ALTERED) and error.sqlstate:
            raise damaged(address, cause) from error
        if not isinstance(error, psycopg.OperationalError):
            raise
        if error.sqlstate and not error.sqlstate.startswith(_GONE):
            raise StorageError(f"{address} could not be read or written ({cause}); see the server's log") from error
        raise StorageError(
            f"the server of {address} went away ({cause}); what was stored is kept: see that it runs, then resume"
        ) from error


@contextmanager
def connection_faults(address: ServerAddress) -> Iterator[None]:
    """Re-raise a failure to connect as a one-line `StorageError` with the address and a remedy."""
    try:
        yield
    except psycopg.ProgrammingError as error:  # most of them repeat a part of the address, which may be the password
        cause = first_line(error)
        known = f" ({cause})" if cause.startswith("invalid URI query parameter") and "@" not in cause else ""
        raise StorageError(
            f"{address} is no address of a Postgres database{known}; it is postgresql://USER@HOST:PORT/DATABASE, and "
            "signs such as @ : / ? # % and spaces in a password are written as %40 and so on"
        ) from None
    except psycopg.OperationalError as error:
        cause = first_line(error).removeprefix("connection failed: ")
        reason = cause.rpartition(": ")[2]
        advice = next(advice for part, advice in _CONNECTING.items() if part in reason)
        raise StorageError(f"{address} can't be opened ({cause}); {advice}") from None
