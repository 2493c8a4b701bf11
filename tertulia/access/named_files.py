"""Files that a file names: what an experiment's YAML, or a store, would have read of the user's own files.

What a user names, on the command line or as an argument in Python, is read. What only a file names is read where its
path is relative and stays within the folder of that file, or where the user trusts it (`trust`): what is read
goes into a store, which may be sent back, and pictures go to a model that sees.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tertulia.access.trust import KnownTrust, Trust, Trusted
from tertulia.measuring.dialogues import is_log
from tertulia.state.errors import TrustError
from tertulia.state.parameters.album import NAME_FILES
from tertulia.state.text import shell_argument
from tertulia.storage.addresses import StoreAddress


@dataclass(frozen=True)
class NamedFile:
    """A file or a folder that is named.

    Attributes:
        field: Where it is named: `cases[0]`, `settings.a.pictures`.
        name: As it is written there.
        path: Where it lies, seen from the current folder.
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
        """Return whether it is named by a relative path that leads out of a folder neither by `..` nor by a link."""
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
        settings: Its settings: parameters by the setting's name.
        folder: The folder that relative paths start from.
    """
    from tertulia.worlds.catalog import file_of

    for number, case in enumerate(cases):
        if (file := file_of(case, folder)) is not None:
            yield NamedFile(f"cases[{number}]", case, file)
    for setting, parameters in settings.items():
        for parameter in NAME_FILES:
            if isinstance(name := parameters.get(parameter), str):
                yield NamedFile(f"settings.{setting}.{parameter}", name, folder / os.path.expanduser(name))


def require_files(files: Iterable[NamedFile], named_by: str, folder: Path | None, trust: Trust) -> None:
    """Refuse files that only a file names, and the user does not; asks the user, if they can be asked.

    Args:
        named_by: What names it, for the message.
        folder: The folder of what names it, in which relative paths may lead; `None` where it has none.

    Raises:
        TrustError: One is not trusted, and the user, if they can be asked, said no.
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
    """Return whether nothing of the user's is read for a scenario."""
    return not [*files_named([scenario], {})]


def readable(cases: Iterable[str], store: StoreAddress | str, trust: Trust) -> tuple[Callable[[str], bool], list[str]]:
    """Return whether a log that a store names may be read, and why others may not; nobody is asked.

    Args:
        cases: What the store names.
    """
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
    """Remember files that the user has named, so that what reads them again goes on without naming them."""
    trust.remember(Trusted(files=tuple(sorted({file.real_path for file in files}))))


def folder_of_store(store: StoreAddress | str) -> Path | None:
    """Return the folder in which relative paths of a store may lead; `None` where it is no file."""
    return store.parent if isinstance(store, Path) else None
