"""Scenario objects of an experiment as files beside its store, for other processes and `tertulia lab resume`."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel

from tertulia.api.store_handle import StoreHandle
from tertulia.runs.access.engines import named_models
from tertulia.state.errors import TertuliaError, UsageError
from tertulia.state.written_files import refuse_links_in, write_text
from tertulia.state.wrong_arguments import path_of, refusal
from tertulia.storage.addresses import DEFAULT_STORE
from tertulia.worlds.catalog import path_from_here
from tertulia.worlds.population_object import Population
from tertulia.worlds.scenario_object import ScenarioObject
from tertulia.worlds.scenario_objects import FileObject

Cases = Path | str | FileObject | Sequence[Path | str | FileObject]

#: The end of the name of a store's folder of cases.
_FOLDER = ".cases"


def named_cases(cases: object, store: StoreHandle) -> tuple[list[str], list[FileObject]]:
    """Return the names of cases, and those that are objects; an object that is in no file is written to one.

    Such a file lies in the folder `STORE.cases` under its name and a hash of its content, so that the same object has
    the same name.

    Raises:
        SettingError: They are no scenarios.
        UsageError: A file can't be written, or it is a population.
    """
    given = [cases] if isinstance(cases, str | os.PathLike | ScenarioObject | BaseModel) else cases
    listed = list(given) if isinstance(given, Iterable) else []
    if any(isinstance(case, Population) for case in listed):
        by_file = "sweep('villagers', settings={'villagers': FILE})"
        raise UsageError(f"an experiment reads a population from its file: population.write(FILE), then {by_file}")
    if not listed:
        raise refusal("cases", cases, "scenarios are expected: 'tidewell:all', or a list of several")
    if wrong := [case for case in listed if not isinstance(case, str | os.PathLike | FileObject)]:
        raise refusal("cases", wrong[0], "a scenario is a name, a file, or a tertulia.Case or tertulia.Meeting")
    objects = [case for case in listed if isinstance(case, FileObject)]
    names = [_kept(case, store) if isinstance(case, FileObject) else path_of("cases", case) for case in listed]
    return names, objects


def named_by(objects: Iterable[FileObject]) -> tuple[list[str], list[str]]:
    """Return the extensions and the models that the user names by objects of their program."""
    files: list[str] = []
    models: list[str] = []
    for case in objects:
        models += case.named
        if case.is_users:
            files += case.extensions()
            models += named_models(case.settings())
    return list(dict.fromkeys(files)), models


def _kept(case: FileObject, store: StoreHandle) -> str:
    """Return the file of a case: its own, while that holds the same, or one beside the store."""
    if case.file is not None and _holds(case.file, case):
        return case.file
    beside = store.path if isinstance(store.path, Path) else Path(DEFAULT_STORE)
    folder = beside.with_name(f"{beside.name}{_FOLDER}")
    file = folder / case.kept_name()
    text = case.text_in(folder.absolute())
    refuse_links_in(folder, file.name)
    try:
        folder.mkdir(exist_ok=True)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            write_text(file, text)
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}") from None
    return path_from_here(str(file), Path())


def _holds(file: str, case: FileObject) -> bool:
    try:
        return type(case).read(file) == case
    except TertuliaError:
        return False
