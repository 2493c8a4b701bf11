"""Files that an experiment's YAML or a store names.

A file that the user names, on the command line or as an argument in Python, is read. One that only a file names is read
if its path is relative and stays within that file's folder, or if the user trusts it (`trust`): its content goes into a
store, which may be sent back, and pictures go to a model that sees.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tertulia.runs.access.trust import KnownTrust, Trust, Trusted
from tertulia.state.errors import TrustError
from tertulia.state.parameters.album import NAME_FILES
from tertulia.state.text import shell_argument
from tertulia.storage.addresses import StoreAddress
from tertulia.views.measuring.dialogues import is_log


@dataclass(frozen=True)
class NamedFile:
    """A file or a folder that a file names.

    Attributes:
        field: The field that names it: `cases[0]`, `settings.a.pictures`.
        name: Its name as written there.
        path: Its path from the current folder.
    """

    field: str
    name: str
    path: Path

    @property
    def real_path(self) -> str:
        """Its absolute path without links."""
        try:
            return os.path.realpath(self.path)
        except ValueError:  # a NUL is in it, so that it names nothing
            return os.path.abspath(self.path)

    def stays_within(self, folder: Path) -> bool:
        """Return whether it is named by a relative path that leaves a folder neither by `..` nor by a link."""
        written = Path(os.path.expanduser(self.name.removeprefix("ga:")))
        return (
            not written.is_absolute()
            and ".." not in written.parts
            and Path(self.real_path).is_relative_to(os.path.realpath(folder))
        )


def files_named(
    cases: Iterable[str], settings: Mapping[str, Mapping[str, Any]], folder: Path = Path()
) -> Iterator[NamedFile]:
    """Yield the files that an experiment reads.

    Args:
        settings: Parameters by setting.
        folder: The base of relative paths.
    """
    from tertulia.worlds.catalog import file_of

    for number, case in enumerate(cases):
        if (file := file_of(case, folder)) is not None:
            yield NamedFile(f"cases[{number}]", case, file)
    for setting, parameters in settings.items():
        for parameter in NAME_FILES:
            if isinstance(name := parameters.get(parameter), str):
                yield NamedFile(f"settings.{setting}.{parameter}", name, folder / os.path.expanduser(name))
        for scenario in scenarios_in(parameters.get("items_from")):
            if (file := file_of(scenario, folder)) is not None:
                yield NamedFile(f"settings.{setting}.items_from", scenario, file)


def scenarios_in(items_from: object) -> list[str]:
    """Return the scenarios that a value of `items_from` names."""
    return [part.strip() for part in items_from.split(",") if part.strip()] if isinstance(items_from, str) else []


def require_files(files: Iterable[NamedFile], named_by: str, folder: Path | None, trust: Trust) -> None:
    """Refuse files that only a file names, unless the user trusts them or agrees when asked.

    Args:
        named_by: The naming file, for the message.
        folder: Its folder, in which relative paths must stay; `None` if it has none.

    Raises:
        TrustError: A file is not trusted, and the user declined or can't be asked.
    """
    for file in files:
        if (folder is not None and file.stays_within(folder)) or trust.read().covers(file.real_path):
            continue
        what = f"{named_by}: {file.field}: {file.name} is named by that alone"
        where = "" if folder is None else ", and not by a path that stays in its folder"
        read = f"{file.real_path} would be read into the store"
        if not trust.ask(f"{what}{where}: {read}; is that what you want?"):
            command = f"tertulia trust {shell_argument(file.real_path)}"
            raise TrustError(f"{what}, not by you{where}: {read}; if that is what you want: {command}")
        trust.remember(Trusted(files=(file.real_path,)))


def is_shipped(scenario: str) -> bool:
    """Return whether a scenario reads no file of the user."""
    return not [*files_named([scenario], {})]


def readable(cases: Iterable[str], store: StoreAddress | str, trust: Trust) -> tuple[Callable[[str], bool], list[str]]:
    """Return a predicate for the logs of a store's cases that may be read, and why others may not; nobody is asked."""
    known, allowed, refused = KnownTrust(trust.read()), set[str](), list[str]()
    for case in filter(is_log, cases):
        try:
            require_files(files_named([case], {}), str(store), folder_of_store(store), known)
        except TrustError as error:
            refused.append(str(error))
        else:
            allowed.add(case)
    return allowed.__contains__, refused


def remember_files(files: Iterable[NamedFile], trust: Trust) -> None:
    """Remember files that the user has named, so that they need not be named again."""
    trust.remember(Trusted(files=tuple(sorted({file.real_path for file in files}))))


def folder_of_store(store: StoreAddress | str) -> Path | None:
    """Return the folder in which relative paths of a store must stay; `None` if the store is no file."""
    return store.parent if isinstance(store, Path) else None
