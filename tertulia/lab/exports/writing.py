"""Exports of runs, written: checked before anything is, and whole or not at all."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from tertulia.lab.exports.folder_file import FolderFile
from tertulia.runs.driving.stop_signals import held_signals
from tertulia.runs.files.exporting import FORMATS as LINES
from tertulia.runs.files.exporting import Format as LineFormat
from tertulia.runs.files.exporting import exported_lines, files_of, is_of_files
from tertulia.state.errors import UsageError
from tertulia.state.locked_folders import locked_folder
from tertulia.state.records import RunRecord
from tertulia.state.written_files import (
    STANDARD_OUTPUT,
    check_file,
    named,
    refuse_link,
    refuse_links_in,
    write_bytes,
    write_lines,
)
from tertulia.storage.addresses import StoreAddress, store_address
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.exports.recorded import RecordedRun

#: The formats of other tools, in which a folder or a file has any number of runs.
ToolFormat = Literal["inspect", "dataset", "mlflow", "otel"]
Format = Literal[LineFormat, ToolFormat]
FORMATS: tuple[Format, ...] = (*LINES, *get_args(ToolFormat))
_FOLDERS = ("dataset", "mlflow")
_LOGS = (".eval", ".json")


def chosen_runs(store: SqlStore, runs: Sequence[str], experiment: str | None) -> list[RunRecord]:
    """Return named runs and the conversations of named simulations, each once; or runs of an experiment with a line.

    Raises:
        NotFoundError: There is no such run or experiment.
        UsageError: Both are given, or none, or nobody speaks in any run of the experiment.
    """
    if bool(runs) == (experiment is not None):
        raise UsageError("which run? give a RUN (@last: the newest), or --experiment NAME, one of the two")
    if experiment is None:
        return list({record.run: record for name in runs for record in _runs_named(store, name)}.values())
    from tertulia.lab.exports.recorded import runs_of_experiment

    return runs_of_experiment(store, experiment)


def _runs_named(store: SqlStore, name: str) -> list[RunRecord]:
    """Return the run of that id, or the conversations of the simulation of that id."""
    if all(known.simulation != name for known in store.simulations.all()):
        return [store.run(name)]
    return [store.run(encounter.run) for encounter in store.simulations.encounters(name) if encounter.run]


class Export:
    """An export of runs into a file or a folder, checked, and not written yet."""

    def __init__(self, store: SqlStore, runs: Sequence[RunRecord], format: str, out: Path, force: bool = False) -> None:
        """Make all checks that are possible before anything is written.

        Args:
            runs: The runs, each once.
            format: One of `FORMATS`.
            out: The file or the folder; `-` for standard output.
            force: Whether files that exist are overwritten.

        Raises:
            UsageError: There is no such format, nobody speaks in one of the runs, or it can't be written there.
        """
        if format not in FORMATS:
            raise UsageError(f"--format {format}: unknown; give {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
        self.format, self.out = format, out
        self._store, self._runs, self._force = store, runs, force
        self._lines = files_of(format, runs, out) if format in LINES else {}
        self._recorded = [] if self._lines else _recorded(store, runs)
        address = store_address(store.path) if isinstance(store.path, str) else store.path
        self._is_folder = format in _FOLDERS or is_of_files(format, out)
        if self._is_folder:
            _check_folder(out, address)
        for file in [out] if not self._is_folder else [file for file in self._lines if out.is_dir()]:
            check_file(file, address, force)
        if format == "inspect" and out != STANDARD_OUTPUT and out.suffix not in _LOGS:
            raise UsageError(f"{out}: Inspect reads logs whose names end in .eval or .json; give such a name")

    @property
    def files(self) -> list[Path]:
        """The files, or the folder, that it will have written."""
        return list(self._lines or [self.out])

    def write(self) -> None:
        """Write it.

        Raises:
            UsageError: A file of the folder exists already, and `force` is off.
            OSError: It can't be written; nothing was changed, or files were moved into a former folder up to that one.
        """
        if not self._lines:
            _write(self.format, self._recorded, self.out, self._force)
        elif not self._is_folder:
            write_lines(self.out, self._lines_of(self.out))
        else:
            inside = (FolderFile(file.name, (f"{line}\n" for line in self._lines_of(file))) for file in self._lines)
            _write_folder(self.out, inside, self._force)

    def _lines_of(self, file: Path) -> Iterator[str]:
        return exported_lines(self._store, self._lines[file], self.format)  # type: ignore[arg-type]


def _recorded(store: SqlStore, runs: Sequence[RunRecord]) -> "list[RecordedRun]":
    from tertulia.lab.exports.recorded import recorded_runs  # figures need scipy, which is slow to import

    return recorded_runs(store, runs)


def _write(format: str, runs: "Sequence[RecordedRun]", out: Path, force: bool) -> None:
    from tertulia.lab.exports.dataset import dataset_files
    from tertulia.lab.exports.inspect_log import log_archive, log_document
    from tertulia.lab.exports.spans import span_lines
    from tertulia.lab.exports.tracking import tracking_files

    match format:
        case "inspect" if out.suffix == ".eval":
            write_bytes(out, [log_archive(runs)])
        case "inspect":
            write_lines(out, [json.dumps(log_document(runs), ensure_ascii=False)])
        case "otel":
            write_lines(out, span_lines(runs))
        case "dataset":
            _write_folder(out, dataset_files(runs), force)
        case _:
            _write_folder(out, tracking_files(runs, out.absolute()), force)


def _check_folder(folder: Path, store: StoreAddress) -> None:
    if folder == STANDARD_OUTPUT:
        raise UsageError("a folder can't go to standard output; give --out FOLDER")
    refuse_link(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give the name of a folder")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"{folder} can't be written: there is no folder {folder.parent}")
    if isinstance(store, Path) and store.resolve() == folder.resolve():
        raise UsageError(f"{folder} is the store; give another name")


def _write_folder(folder: Path, files: Iterable[FolderFile], force: bool) -> None:
    """Write files into a folder; those that it has besides stay. They are written beside it, and moved at the end.

    A new folder appears at once. In a former one each file and each new folder does; a stop signal waits for the last.
    """
    with named(folder), locked_folder(folder.absolute().parent) as unfinished:
        new = unfinished / "new"
        for file in files:
            refuse_links_in(folder, file.path)
            target = folder / file.path
            if target.exists() and file.is_shared:
                continue
            if target.exists() and not force:
                raise UsageError(f"{target} exists already; overwrite it with --force, or give another folder")
            (new / file.path).parent.mkdir(parents=True, exist_ok=True)
            with (new / file.path).open("x", encoding="utf-8", errors="replace", newline="\n") as opened:
                opened.writelines(file.text)
        with held_signals():
            _move(new, folder)


def _move(new: Path, place: Path) -> None:
    """Move a file or a folder; into a folder that is there, each of its own."""
    if not (new.is_dir() and place.is_dir()):
        os.replace(new, place)
        return
    for inside in sorted(new.iterdir()):
        _move(inside, place / inside.name)
