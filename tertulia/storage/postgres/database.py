"""The database of a store on a Postgres server, through psycopg; imported when an address asks for it.

1. Writers take turns, as over a file: a transaction takes one lock of the schema first. So there are no deadlocks,
   and ids rise in the order in which rows became visible. Readers wait for no other process.
2. Within a transaction statements are sent one behind the other (libpq's pipeline mode), and waited for when a row is
   asked for, at the end of a nested transaction, and with COMMIT. So a transaction that asks for nothing is one round
   trip, and an error may come with a later statement of the same transaction.
3. A second connection, made when it is needed, holds the locks of runs that are driven and writes LangGraph's
   checkpoints. Its locks die with it, however its process ends.
"""

import itertools
import json
import os
import re
import socket
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.numeric import Int8Dumper
from typing_extensions import override

from tertulia.state.errors import StorageError
from tertulia.state.words import has_unspaced
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.contract import Database
from tertulia.storage.dialects import POSTGRES
from tertulia.storage.faults import BUSY_TIMEOUT_S
from tertulia.storage.postgres.drivers import HOLDERS, ServerDrivers, halves, lock_key
from tertulia.storage.postgres.faults import connection_faults, server_faults
from tertulia.storage.postgres.schema import HAS_UNSPACED, is_made, make
from tertulia.storage.postgres.statements import bound, named, numbered, read, words_query
from tertulia.storage.terms import Term, holds_terms, marked_terms
from tertulia.storage.values import Query, Value, compared, identifier, read_rows

#: The schema in which a store is, unless the address ends with `?schema=NAME`.
DEFAULT_SCHEMA = "tertulia"

_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,47}")

#: A connection's settings unless the address has others: they give up a server that can't be reached.
_SETTINGS = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5, "tcp_user_timeout": 30000}

#: LangGraph's tables, and how the size of their rows is counted; a run is a thread of its.
_CHECKPOINTS = {
    "checkpoints": "octet_length(CAST(checkpoint AS text)) + octet_length(CAST(metadata AS text))",
    "checkpoint_blobs": "coalesce(octet_length(blob), 0)",
    "checkpoint_writes": "octet_length(blob)",
}

#: Rows that one statement inserts; it may have 65,535 parameters.
_INSERTED_AT_ONCE = 1000

Connection = psycopg.Connection[Any]


def open_server(address: ServerAddress, create: bool) -> "ServerDatabase | None":
    """Return the open store at an address; `None` if there is none and `create` is false.

    Args:
        address: The database, and with `?schema=NAME` the schema in it.

    Raises:
        StorageError: The server, the database or the store can't be opened, or the schema holds something else.
    """
    conninfo, schema = _conninfo(address)
    database = ServerDatabase(address, conninfo, schema)
    try:
        if database.is_made(create):
            return database
    except BaseException:
        database.close()
        raise
    database.close()
    return None


def _conninfo(address: ServerAddress) -> tuple[dict[str, Any], str]:
    parts = urlsplit(address.url)
    if "@" in parts.netloc.rpartition("@")[0] or ("@" in address.url and "@" not in parts.netloc + parts.query):
        with connection_faults(address):  # a password with such a sign: the rest of it would pass for a host
            raise psycopg.ProgrammingError
    query = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(query).get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        raise StorageError(f"schema={schema!a:.60} can't be the name of a schema: use small letters, digits and _")
    others = urlencode([(name, value) for name, value in query if name != "schema"])
    with connection_faults(address):
        given = conninfo_to_dict(parts._replace(query=others).geturl())
    return {**_SETTINGS, **given, "client_encoding": "utf8", "application_name": _program()}, schema


def _program() -> str:
    """Return the name of this process for others at the server: its id, and its machine."""
    return f"tertulia {os.getpid()} {socket.gethostname()}"[:63]


class ServerWritten:
    """The result of a statement, which may not have been waited for yet."""

    def __init__(self, database: "ServerDatabase", cursor: psycopg.Cursor[Any]) -> None:
        self._database, self._cursor = database, cursor

    @property
    def rowcount(self) -> int:
        """How many rows it inserted, changed or deleted."""
        if self._cursor.rowcount < 0:
            self._database.wait()
        return self._cursor.rowcount


class ServerDatabase(Database):
    """The connection of one user of a store on a Postgres server."""

    dialect = POSTGRES
    #: The server checks rows when it reads them, and all of them would have to come over the network.
    is_checked = False

    def __init__(self, address: ServerAddress, conninfo: Mapping[str, Any], schema: str) -> None:
        self.path, self._conninfo, self._schema = address, conninfo, schema
        self._writers, self.undone = lock_key(schema), 0
        self._driven: set[str] = set()
        self._second: Connection | None = None
        self._pipeline: psycopg.Pipeline | None = None
        self._connection = self._connected()

    def _connected(self) -> Connection:
        """Return a new connection, which finds tables in the store's schema alone."""
        with connection_faults(self.path):
            connection = psycopg.connect(**self._conninfo, autocommit=True)
        with server_faults(self.path):
            if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
                connection.close()
                raise StorageError(f"{self.path} holds text as {encoding}; take a database that holds it as UTF8")
            connection.adapters.register_dumper(int, Int8Dumper)
            connection.execute(f"SET search_path = {self._schema}; SET lock_timeout = '{BUSY_TIMEOUT_S}s'")
        return connection

    def is_made(self, create: bool) -> bool:
        """Return whether the store is there, made if asked; `StorageError` if the schema holds something else."""
        with server_faults(self.path):
            if not is_made(self._connection, self._schema, self.path) and create:
                with self._outermost():  # another process may have made it meanwhile
                    if not is_made(self._connection, self._schema, self.path):
                        make(self._connection, self._schema)
                return True
            return is_made(self._connection, self._schema, self.path)

    @property
    def connection(self) -> Connection:
        """The connection of rows and transactions."""
        return self._connection

    @property
    def second(self) -> Connection:
        """The connection of the driver of runs: for locks, and for LangGraph's checkpoints."""
        if self._second is None:
            self._second = self._connected()
            self._second.row_factory = dict_row
        return self._second

    # --- rows -------------------------------------------------------------------------------------------------------

    @override
    def rows(self, sql: str, *values: Value, of: str | None = None) -> list[dict[str, Any]]:
        return self._fetched(numbered(sql), [bound(compared(value)) for value in values], of)

    @override
    def named_rows(self, sql: str, values: Mapping[str, Value]) -> list[dict[str, Any]]:
        return self._fetched(named(sql), {name: bound(compared(value)) for name, value in values.items()})

    def _fetched(self, sql: str, values: Any, of: str | None = None) -> list[dict[str, Any]]:
        with server_faults(self.path):
            cursor = self._connection.execute(sql, values, binary=True)
            rows = cursor.fetchall()  # and so the columns are known
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in read_rows(Query(sql, names, of), rows, read, str)]

    @override
    def tuples(self, sql: str, *values: Value, of: str | None = None) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.rows(sql, *values, of=of)]

    @override
    def write(self, sql: str, *values: Value) -> "ServerWritten":
        return ServerWritten(self, self._written(sql, *values))

    def _written(self, sql: str, *values: Value) -> psycopg.Cursor[Any]:
        with self._writing():
            return self._connection.execute(numbered(sql), [bound(value) for value in values])

    def wait(self) -> None:
        """Wait until all that was sent is executed."""
        if self._pipeline is not None:
            with server_faults(self.path):
                self._pipeline.sync()

    @override
    def write_all(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        records = [[bound(value) for value in row] for row in rows]
        with self._writing(), self._connection.cursor() as cursor:
            if len(records) == 1:  # one message; several take a few, however many there are
                cursor.execute(numbered(sql), records[0])
            elif records:
                cursor.executemany(numbered(sql), records)

    @override
    def insert_rows(self, sql: str, rows: Sequence[Sequence[Value]]) -> list[int]:
        into, values, marks = sql.rpartition("VALUES")
        ids: list[int] = []
        for some in (rows[at : at + _INSERTED_AT_ONCE] for at in range(0, len(rows), _INSERTED_AT_ONCE)):
            every = f"{into}{values}{', '.join([marks] * len(some))} RETURNING id"
            found = self._written(every, *itertools.chain.from_iterable(some)).fetchall()
            ids += sorted(int(row[0]) for row in found)  # they are given out row by row
        return ids

    @override
    def beside(self, other: Database) -> AbstractContextManager[None]:
        return nullcontext()

    # --- transactions -----------------------------------------------------------------------------------------------

    @override
    @contextmanager
    def transaction(self) -> Iterator[None]:
        with server_faults(self.path), self._nested() if self._is_in_transaction else self._outermost():
            yield

    @override
    def joined(self) -> AbstractContextManager[None]:
        return nullcontext() if self._is_in_transaction else self.transaction()

    @override
    def reading(self) -> AbstractContextManager[None]:
        is_idle = self._connection.info.transaction_status is TransactionStatus.IDLE
        return self._moment() if is_idle and not self._is_in_transaction else nullcontext()

    @contextmanager
    def _moment(self) -> Iterator[None]:
        with server_faults(self.path):
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        try:
            yield
        finally:
            with suppress(psycopg.Error):  # as after the server went away, which was said
                self._connection.rollback()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Execute statements inside the transaction that is open, or in one of their own."""
        with server_faults(self.path), nullcontext() if self._is_in_transaction else self._outermost():
            yield

    @property
    def _is_in_transaction(self) -> bool:
        return self._pipeline is not None

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        try:
            with self._connection.pipeline() as self._pipeline:
                try:
                    self._connection.execute("BEGIN")
                    self._connection.execute(f"SELECT pg_advisory_xact_lock({self._writers})")
                    yield
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._pass_over_the_rest()
                    raise
        except BaseException:
            self.undone += 1
            self._pipeline = None
            with suppress(psycopg.Error):  # as after the server went away
                self._connection.rollback()
            raise
        finally:
            self._pipeline = None

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._connection.execute("SAVEPOINT nested")
        try:
            yield
            self._connection.execute("RELEASE nested")
            self.wait()
        except BaseException:
            self.undone += 1
            self._pass_over_the_rest()
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK TO nested")
                self._connection.execute("RELEASE nested")
                self.wait()
            raise

    def _pass_over_the_rest(self) -> None:
        """Wait for the statements sent behind a failed one: they are not executed."""
        with suppress(psycopg.Error, StorageError):
            self.wait()

    # --- search -----------------------------------------------------------------------------------------------------

    @override
    def check_full_text(self) -> None:
        """Check nothing: the server makes the words of a passage of its text."""

    @override
    def passages(self, terms: Sequence[Term]) -> tuple[str, dict[str, Value]]:
        held = self._holding(terms, HAS_UNSPACED)
        looked_through = f"passages.id IN {POSTGRES.given_counts.replace('?', ':held')}"
        if any(has_unspaced(term.text) for term in terms):  # the index has no word of them
            return looked_through, {"held": json.dumps(held)}
        # Terms without a letter or a digit are passed over, as SQLite does.
        worded = {f"term{number}": term for number, term in enumerate(terms) if any(map(str.isalnum, term.text))}
        query = " && ".join(words_query(name, term) for name, term in worded.items())
        indexed = f"passages.words @@ ({query})" if worded else "FALSE"
        values = {name: term.text for name, term in worded.items()}
        if marked := marked_terms(terms):
            held += self._holding(marked, indexed, values)
            return looked_through, {"held": json.dumps(held)}
        return f"{indexed} OR {looked_through}", {"held": json.dumps(held), **values}

    def _holding(self, terms: Sequence[Term], found: str, values: Mapping[str, Value] | None = None) -> list[int]:
        rows = self.named_rows(f"SELECT id, text FROM passages WHERE {found}", values or {})
        return [row["id"] for row in rows if holds_terms(row["text"], terms)]

    # --- drivers ----------------------------------------------------------------------------------------------------

    @override
    @contextmanager
    def drive_lock(self, run: str) -> Iterator[None]:
        identifier(run)
        if run in self._driven:
            raise StorageError(_driven_message(run, f"thread of this process (pid {os.getpid()})"))
        key = lock_key(self._schema, run)
        with server_faults(self.path):
            found = self.second.execute("SELECT pg_try_advisory_lock(%s) AS is_ours", (key,)).fetchone()
            if found is None or not found["is_ours"]:
                raise StorageError(_driven_message(run, self._driver(key)))
        self._driven.add(run)
        try:
            yield
        finally:
            self._driven.discard(run)
            with suppress(psycopg.Error):  # without a connection there is no lock
                self.second.execute("SELECT pg_advisory_unlock(%s)", (key,))

    def _driver(self, key: int) -> str:
        rows = self.rows(
            f"SELECT application_name AS name FROM {HOLDERS} JOIN pg_stat_activity USING (pid)", *halves(key)
        )
        match rows[0]["name"].split() if rows else []:
            case ["tertulia", pid, machine]:
                return f"process (pid {pid} on {machine})"
        return "process"

    @override
    def clear_locks(self) -> None:
        """Do nothing: a lock dies with the connection that holds it."""

    @override
    def drivers(self) -> ServerDrivers:
        return ServerDrivers(self, self._schema)

    @override
    def data_version(self) -> Hashable:
        # Differs whenever a connection has begun or ended to write, to any table of the server's.
        return str(self.rows("SELECT CAST(pg_current_snapshot() AS text) AS snapshot")[0]["snapshot"])

    # --- LangGraph's checkpoints ------------------------------------------------------------------------------------

    @override
    def checkpoint_sizes(self) -> dict[str, int]:
        tables = " UNION ALL ".join(
            f"SELECT thread_id, {size} AS bytes FROM {table}" for table, size in _CHECKPOINTS.items()
        )
        rows = self.rows(
            f"SELECT thread_id, CAST(sum(bytes) AS bigint) AS size FROM ({tables}) AS rows GROUP BY thread_id"
        )
        return {row["thread_id"]: row["size"] for row in rows}

    @override
    def delete_checkpoints(self, threads: Collection[str]) -> None:
        for table in _CHECKPOINTS:
            self.write(f"DELETE FROM {table} WHERE thread_id IN {POSTGRES.given_texts}", json.dumps([*threads]))

    @override
    def superseded_sizes(self) -> dict[str, int]:
        return {}  # graphs of a user's own have their checkpoints in files

    @override
    def delete_superseded(self, threads: Collection[str]) -> None:
        pass

    # --- the server -------------------------------------------------------------------------------------------------

    @override
    def check_writable(self) -> None:
        (found,) = self.rows(
            """SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
            has_table_privilege('runs', 'INSERT') AS may_insert"""
        )
        if found["is_read_only"] or not found["may_insert"]:
            raise StorageError(f"{self.path} can't be written by this user; have it granted, or name another user")

    @override
    def save_log(self) -> None:
        """Do nothing: the server writes its log."""

    @override
    def unused_bytes(self) -> int:
        """Return 0: the server uses the space again by itself (autovacuum)."""
        return 0

    @override
    def compact(self) -> int:
        """Do nothing, as `unused_bytes` says."""
        return 0

    @override
    def reopen(self) -> None:
        self.undone += 1
        self._connection.close()
        self._connection = self._connected()

    @override
    def close(self) -> None:
        self._connection.close()
        if self._second is not None:
            self._second.close()


def _driven_message(run: str, who: str) -> str:
    return f"{run} is being driven by another {who}; wait for it, or stop it, then resume"
