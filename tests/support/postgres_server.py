"""A Postgres server of the tests' own, on the loopback, with a user who has a password; gone when they end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from tertulia.storage.addresses import ServerAddress
from tertulia.storage.store import SqlStore

#: Opens an empty store, which is closed, or gone, when the context ends.
NewStore = Callable[[], AbstractContextManager[SqlStore]]

NO_POSTGRES = "Postgres is not installed; install it with: apt-get install postgresql"

USER, PASSWORD = "tertulia", "n0t-so_secret"

#: Postgres refuses to be run by root; these are the users as whom it is run then.
_UNPRIVILEGED = ("postgres", "nobody")

_SETTINGS = ("fsync=off", "unix_socket_directories=", "listen_addresses=127.0.0.1", "max_connections=60")


class Undone(Exception):
    """Undoes what a test has written."""


class PostgresServer:
    """A server in a temporary folder.

    Attributes:
        port: Where it listens on 127.0.0.1.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._data = programs, folder / "data"
        self._owner: dict[str, Any] = {}
        if os.getuid() == 0:
            self._owner = {"user": _unprivileged(), "group": "nogroup", "extra_groups": []}
        if self._owner:
            shutil.chown(folder, self._owner["user"])
        password = folder / "password"
        password.write_text(PASSWORD)
        self._run(
            *("initdb", "-D", self._data, "-U", USER, "--auth=scram-sha-256", f"--pwfile={password}"),
            *("--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"),
        )
        self.port = _free_port()
        self._schemas = count()
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port), *settings]
        log = open(self._data.parent / "log", "ab")  # noqa: SIM115
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._data, **self._owner)
        log.close()
        import psycopg

        deadline = time.monotonic() + 30
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self._data.parent / "log").read_text()) from None
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends all connections in order, SIGQUIT at once, as a crash does."""
        self._process.send_signal(how)
        self._process.wait(30)

    def url(self, schema: str | None = None, password: str = PASSWORD, database: str = "postgres") -> str:
        """Return the address of a schema, by default of a new one."""
        schema = schema or f"s{next(self._schemas)}"
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}?schema={schema}"

    def execute(self, sql: str, *values: Any) -> list[Any]:
        """Execute plain SQL, and return the rows if there are any."""
        import psycopg

        with psycopg.connect(self.url().partition("?")[0], autocommit=True) as connection:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments], capture_output=True, text=True, cwd="/", **self._owner
        )
        if done.returncode:
            raise RuntimeError(done.stderr)


@contextmanager
def running_server() -> Iterator[PostgresServer | None]:
    """Yield a running server; `None` where Postgres is not installed."""
    programs = _programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="tertulia-postgres-"))
    try:
        server = PostgresServer(programs, folder)
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def undone(store: SqlStore) -> Iterator[None]:
    """Undo what is written to a store inside."""
    with suppress(Undone), store.transaction():
        yield
        raise Undone


class ServerStores:
    """Empty stores on a server, one after another in the same schemas: making a schema takes longer than a test."""

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._idle = server, list[SqlStore]()

    @contextmanager
    def new(self) -> Iterator[SqlStore]:
        """Yield an empty store; what is written to it inside is undone."""
        store = self._idle.pop() if self._idle else SqlStore.open(ServerAddress(self._server.url()), create=True)
        with undone(store):
            yield store
        self._idle.append(store)

    def close(self) -> None:
        """Close the stores that nobody uses."""
        for store in self._idle:
            store.close()


def _programs() -> Path | None:
    """Return the folder of the server's programs; Debian has them beside the PATH."""
    found = shutil.which("initdb")
    folders = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        *([Path(found).parent] if found else []),
    ]
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def _unprivileged() -> str:
    import pwd

    known = {user.pw_name for user in pwd.getpwall()}
    return next(user for user in _UNPRIVILEGED if user in known)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
