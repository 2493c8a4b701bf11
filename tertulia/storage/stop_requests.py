"""Requests to stop the work of another process: made and found in the store, so any machine that has it can ask.

A run or a simulation holds the request in the column of its error; it is gone as soon as it ends, or begins again.
An experiment has no row with its status, as its trials may lie elsewhere: its request is a row of `steps`,
under the key of its lock, which the command that drives it deletes.
"""

import hashlib
from collections.abc import Hashable
from contextlib import suppress

from tertulia.state.errors import StorageError
from tertulia.state.records import Record
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table

#: The step under which an experiment holds a request; how that of a run or a simulation begins, as users read it.
_STEP, _ASKED = "stop_requested", "asked to stop by "

_RUNNING = "status = 'running' AND error IS NOT NULL"
_BY_KIND = {
    "run": f"SELECT error AS who FROM runs WHERE run = ? AND {_RUNNING}",
    "simulation": f"""SELECT error AS who FROM simulations WHERE simulation = ? AND {_RUNNING}
        UNION ALL SELECT error AS who FROM runs WHERE {_RUNNING}
        AND run IN (SELECT run FROM encounters WHERE simulation = ?)""",
    "experiment": f"SELECT error AS who FROM runs WHERE experiment = ? AND {_RUNNING}",
}


class _Request(Record):
    who: str


def experiment_key(experiment: str) -> str:
    """Return the name under which an experiment is locked, and asked to stop."""
    return f"experiment{digest_of(experiment)}"


def digest_of(*names: str) -> str:
    """Return a short digest of names, which can be part of the name of a file."""
    return hashlib.blake2b("\0".join(names).encode(errors="surrogateescape"), digest_size=6).hexdigest()


def ask_run(store: SqlStore, run: str, who: str) -> bool:
    """Ask for the stop of a run; return whether it was still running."""
    with store.file.transaction():
        if is_running := store.run(run).status == "running":
            store.set_status(run, "running", f"{_ASKED}{who}")
    return is_running


def ask_simulation(store: SqlStore, simulation: str, who: str) -> bool:
    """Ask for the stop of a simulation; return whether it was still running."""
    with store.file.transaction():
        if is_running := store.simulations.get(simulation).status == "running":
            store.simulations.set_status(simulation, "running", f"{_ASKED}{who}")
    return is_running


def ask_experiment(store: SqlStore, key: str, who: str) -> None:
    """Ask for the stop of an experiment, by the key of its lock."""
    store.save_step(key, 0, "", _STEP, _Request(who=who))


def forget_experiment(store: SqlStore, key: str) -> None:
    """Delete a request for an experiment, if there is one: it was heard, or is one of before."""
    if _asks_for_experiment(store, key) is not None:
        store.file.write("DELETE FROM steps WHERE run = ? AND node = ?", key, _STEP)


def _asks_for_experiment(store: SqlStore, key: str) -> str | None:
    rows = Table(store.file, "steps").select("WHERE run = ? AND node = ?", key, _STEP)
    return _Request.model_validate_json(rows[0]["record"]).who if rows else None


class StopRequests:
    """A repeated look at an open store for a request to stop the work of this process."""

    def __init__(self, store: SqlStore, kind: str, name: str, key: str | None = None) -> None:
        """Take the work: a `run`, a `simulation` or an `experiment`, this one also by the key of its lock."""
        self._store, self._name, self._key = store, name, key
        self._sql = _BY_KIND[kind]
        self._version: Hashable = None

    def look(self) -> str | None:
        """Return the author of a request to stop, if any; the database says at little cost if anything changed."""
        version = self._store.file.data_version()
        if version == self._version:
            return None
        rows = self._store.file.rows(self._sql, *[self._name] * self._sql.count("?"))
        asked = _asks_for_experiment(self._store, self._key) if self._key is not None and not rows else None
        self._version = version
        return str(rows[0]["who"]).removeprefix(_ASKED) if rows else asked

    def look_if_possible(self) -> str | None:
        """Look, if the store can be read at the moment: the work itself meets a fault that lasts."""
        with suppress(StorageError):
            return self.look()
        return None
