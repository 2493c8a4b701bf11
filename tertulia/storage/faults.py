"""Messages of one line for failures of a file; the only place that knows SQLite's error codes."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from tertulia.state.errors import StorageError, UsageError
from tertulia.state.text import first_line, one_line, path_argument
from tertulia.storage.addresses import ServerAddress, StoreAddress
from tertulia.storage.values import LARGEST_BYTES, DamagedValueError

#: How long a writer waits for another program's write, in seconds: 5 s (SQLite's default) were measured to be too few.
BUSY_TIMEOUT_S = 30

_DAMAGED = (
    "{path} is damaged or was altered ({cause}); go back to a backup, "
    "or save what is left with `sqlite3 {argument} .recover`"
)

_ALTERED_SERVER = (
    "{path} is damaged or was altered ({cause}); go back to a backup of the database, or save the runs that are whole: "
    "tertulia merge {argument} --into FILE"
)

NO_STORE = "{path} is not a Tertulia store, or damaged at its beginning; name another file"

UNWRITABLE = "{path} can't be written; make the file and its folder writable, or copy it elsewhere"

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full, {path} could not be written; free some space, then try again",
    sqlite3.SQLITE_READONLY: UNWRITABLE,
    sqlite3.SQLITE_PERM: "{path} can't be read; give yourself the permission, or name another file",
    sqlite3.SQLITE_BUSY: f"another program has kept {{path}} locked for {BUSY_TIMEOUT_S} s; close it, then try again",
    sqlite3.SQLITE_CANTOPEN: "{path} can't be opened; see that its folder exists, is writable, and that it is a file",
    sqlite3.SQLITE_IOERR: "{path} could not be read or written ({cause}); check the disk, then try again",
    sqlite3.SQLITE_NOTADB: NO_STORE,
    sqlite3.SQLITE_TOOBIG: f"{{path}} holds, or was to hold, a value of more than {LARGEST_BYTES >> 20} MB",
}

#: Errors that pass or can be mended, and say nothing of the file's contents.
_OF_THE_MOMENT = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR),
)

#: The store's statements never change: an error in one means that the tables, or the JSON, were altered.
_ALTERED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)

#: The errors of the file; others, such as a broken constraint, are bugs.
_OF_THE_FILE = (sqlite3.OperationalError, sqlite3.DatabaseError, sqlite3.DataError)


class UnavailableError(StorageError):
    """A file can't be read or written now; its contents are sound."""


#: SQLite's message for any exception within a function that it has called.
_RAISED = "user-defined function raised exception"

#: Whether a function that SQLite has called failed; if SQLite says so and none did, it was interrupted.
_failures: dict[str, bool] = {}


def hearing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that SQLite may call: an interrupt within it goes through `storage_faults` as one."""

    def called(*values: Any) -> Any:
        try:
            return function(*values)
        except Exception:
            _failures["was"] = True
            raise

    return called


def damaged(path: StoreAddress | str, cause: str) -> StorageError:
    """Return the error of a store that differs from the written one."""
    return StorageError(words_of_damage(path, cause))


def words_of_damage(path: StoreAddress | str, cause: str) -> str:
    """Return a message on a store that differs from the written one, and a way to save the rest of it."""
    message = _ALTERED_SERVER if isinstance(path, ServerAddress) else _DAMAGED
    return message.format(path=path, argument=path_argument(str(path)), cause=cause)


@contextmanager
def storage_faults(path: StoreAddress | str) -> Iterator[None]:
    """Re-raise an error of SQLite, or of a stored record that is invalid, as a `StorageError`.

    Errors that only a bug can cause, such as a broken constraint, pass through with their traceback.

    Raises:
        StorageError: One line with the file and a remedy.
    """
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        # Python's complaint that a text is not UTF-8 has no error code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        is_interrupted = str(error) == _RAISED and not _failures.pop("was", False)
        if is_interrupted or code == sqlite3.SQLITE_INTERRUPT:  # by a signal
            raise KeyboardInterrupt from None
        if type(error) in _OF_THE_FILE and code in _ALTERED:
            raise damaged(path, one_line(error)) from error
        if type(error) not in _OF_THE_FILE or code not in _ADVICE:
            raise
        kind = UnavailableError if code in _OF_THE_MOMENT else StorageError
        raise kind(_ADVICE[code].format(path=path, cause=one_line(error))) from error
    except RecursionError as error:
        raise damaged(path, "a record is nested too deeply") from error
    except (json.JSONDecodeError, UnicodeDecodeError, ValidationError, DamagedValueError) as error:
        raise damaged(path, f"a record does not read: {first_line(error)}") from error


@contextmanager
def record_faults(path: StoreAddress | str) -> Iterator[None]:
    """Re-raise any error in building a record from a row as a `StorageError`.

    Values of the right type and checksum may still be a stranger's forgery. Inside, there
    is nothing but building the record; a bug in anything else keeps its traceback.

    Raises:
        StorageError: One line with the file and a remedy.
    """
    with storage_faults(path):
        try:
            yield
        except (ValidationError, DamagedValueError):
            raise
        except (UsageError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise damaged(path, f"a record does not read: {first_line(error)}") from error
