"""A store in Python: its runs, filtered or by id, and its experiments."""

from collections.abc import Iterator, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tertulia.api.arguments import check_status
from tertulia.api.exporting import force_as_argument, write_export
from tertulia.api.store_handle import StoreHandle
from tertulia.api.stored_run import Run
from tertulia.api.tables import Records
from tertulia.state.errors import NotFoundError, SettingError
from tertulia.state.records import RunRecord, RunStatus
from tertulia.state.wrong_arguments import check_argument, path_of, whole_number, with_named_arguments
from tertulia.storage.addresses import StoreAddress, is_missing

if TYPE_CHECKING:
    from pandas import DataFrame

    from tertulia.api.experiment import Experiment
    from tertulia.lab.exports.writing import Format


class Store(StoreHandle):
    """A store with the runs in it."""

    @with_named_arguments
    def runs(
        self,
        *,
        scenario: str | None = None,
        status: RunStatus | None = None,
        label: str | None = None,
        limit: int | None = None,
    ) -> "StoredRuns":
        """Return the runs of the store, newest first.

        Args:
            scenario: Only runs of this scenario.
            status: Only runs of this status.
            label: Only runs with this label.
            limit: At most so many.

        Raises:
            SettingError: There is no such status, or the limit is below 1.
        """
        check_status(status)
        check_argument("scenario", scenario, str, "a scenario is named by a text")
        check_argument("label", label, str, "a label is a text")
        if limit is not None and whole_number("limit", limit, "a limit is an integer") < 1:
            raise SettingError("limit", limit, ": takes 1 or more")
        with self.opened() as store:
            records = store.runs(scenario=scenario, status=status, label=label, limit=limit)
        return StoredRuns(self, records)

    @with_named_arguments
    def run(self, run: str = "@last") -> Run:
        """Return a run.

        Args:
            run: Its id, a unique beginning of it, or `@last` for the newest.

        Raises:
            NotFoundError: There is none.
        """
        check_argument("run", run, str, "a run is named by its id", optional=False)
        with self.opened() as store:
            return Run(self, store.run(run).run)

    @with_named_arguments
    def experiment(self, name: str) -> "Experiment":
        """Return an experiment that a sweep, or `tertulia lab run`, has made.

        Args:
            name: Its name; `experiments()` has all.

        Raises:
            NotFoundError: There is none; the nearest name is given.
        """
        from tertulia.api.experiment import Experiment

        check_argument("name", name, str, "an experiment is named by a text", optional=False)
        with self.opened() as store:
            return Experiment(self, store.experiments.get(name).experiment)

    def experiments(self) -> "tuple[Experiment, ...]":
        """Return the experiments of the store, newest first."""
        from tertulia.api.experiment import Experiment

        with self.opened() as store:
            return tuple(Experiment(self, record.experiment) for record in store.experiments.all())

    def frame(self) -> "DataFrame":
        """Return a data frame with a row per run, and a column for each parameter."""
        from tertulia.storage import frames

        self.check_open()
        return frames.runs(self.path, parameters=True)

    @with_named_arguments
    def backup(self, path: str | PathLike[str], force: bool = False) -> Path:
        """Copy the store as it is at this moment, also while runs go on, to a file that needs no log; return its path.

        `tertulia restore FILE` puts it in the place of a store.

        Args:
            path: The copy; only its owner can read it.
            force: Whether an existing file is replaced.

        Raises:
            NotFoundError: There is no store.
            UsageError: The file exists or can't be written; or the store is on a server.
        """
        from tertulia.runs.files.backups import back_up

        self.check_open()
        check_argument("force", force, bool, "force is True or False", optional=False)
        with force_as_argument():
            back_up(self.path, file := Path(path_of("path", path)), force)
        return file

    def close(self) -> None:
        """Refuse further reading through this object and its runs."""
        self.is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store {self.path}{' (closed)' if self.is_closed else f', {len(self.runs())} runs'}>"


class StoredRuns(tuple[Run, ...]):
    """Runs of a store, newest first."""

    store: StoreHandle
    records: tuple[RunRecord, ...]

    def __new__(cls, store: StoreHandle, records: Sequence[RunRecord]) -> Self:
        """Make them from their records."""
        runs = super().__new__(cls, (Run(store, record.run) for record in records))
        runs.store, runs.records = store, tuple(records)
        return runs

    def __getnewargs__(self) -> tuple[StoreHandle, tuple[RunRecord, ...]]:
        return self.store, self.records

    def frame(self) -> "DataFrame":
        """Return a data frame with a row per run."""
        return Records(self.records).frame()

    @with_named_arguments
    def export(self, format: "Format", out: "PathLike[str] | str", *, force: bool = False) -> tuple[Path, ...]:
        """Write these runs to files or a folder for another tool (see `Run.export`).

        Args, Returns and Raises: As `Run.export`.
        """
        return write_export(
            self.store, lambda store: [store.run(record.run) for record in self.records], format, out, force
        )

    def __repr__(self) -> str:
        return "\n".join(self._lines()) or "no runs"

    def _repr_html_(self) -> str:
        return f'<pre style="line-height: 1.3">{escape(repr(self))}</pre>'

    def _lines(self) -> Iterator[str]:
        for record in self.records:
            label = f"  {record.label}" if record.label else ""
            factor = record.parameters.get("removal_factor", 0)
            yield (
                f"{record.run}  {record.status:<11}  {record.scenario}  λ = {factor:g}  seed {record.seed}  "
                f"{record.turns} turns  {record.model}{label}"
            )


@with_named_arguments
def open_store(path: StoreAddress | str) -> Store:
    """Return a store: a file, or a database of a server by its address, `postgresql://USER@HOST/DATABASE`.

    Raises:
        NotFoundError: There is no such file.
        StorageError: It can't be read, is damaged, not a store, or from a newer version.
    """
    store = Store(path)
    if is_missing(store.path):
        raise NotFoundError(f"there is no store {path}; name the file that a run was stored in")
    store.opened().close()
    return store
