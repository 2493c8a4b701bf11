"""Output files: checked before anything is written, written whole or not at all, and never through a link."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tertulia.state.errors import UsageError
from tertulia.state.locked_folders import locked_folder

#: The name of standard output in place of a file.
STANDARD_OUTPUT = Path("-")


def refuse_link(path: Path) -> None:
    """Raise `UsageError` if a file or folder that is to be written is a link, wherever it leads."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and nothing is written through one; give the name of what it leads to")


def refuse_links_in(folder: Path, inside: str) -> None:
    """Raise `UsageError` if a folder, or a path in it, is a link or lies behind one."""
    for part in (Path(), *reversed(Path(inside).parents), Path(inside)):
        refuse_link(folder / part)


def check_file(file: Path, store: object, force: bool = False) -> None:
    """Refuse a file that can't be written (`-`, standard output, always can).

    Args:
        store: The path of the store, which must not be overwritten, or its address on a server.
        force: Whether an existing file is overwritten.

    Raises:
        UsageError: It is a link, a folder or the store, it is in no folder, or it exists already.
    """
    if file == STANDARD_OUTPUT:
        return
    refuse_link(file)
    if file.is_dir():
        raise UsageError(f"{file} is a folder; give the name of a file in it")
    if isinstance(store, Path) and file.resolve() == store.resolve():
        raise UsageError(f"{file} is the store; give another name")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file} can't be written: there is no folder {file.parent}")
    if file.is_file() and not force:
        raise UsageError(f"{file} exists already; overwrite it with --force, or give another name")


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, all or none (see `replacing`).

    Raises:
        UsageError: It is a link.
        OSError: It can't be written; a former file is unchanged.
    """
    if file == STANDARD_OUTPUT:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for line in lines:
            print(line)
        return
    write_bytes(file, (f"{line}\n".encode("utf-8", "replace") for line in lines))


def write_text(file: Path, text: str) -> None:
    """Write a text to a file, as `write_lines` does."""
    write_bytes(file, [text.encode("utf-8", "replace")])


def write_bytes(file: Path, pieces: Iterable[bytes]) -> None:
    """Write pieces one after another to a file, all or none, as `write_lines` does."""
    if file.exists() and not file.is_file():  # such as /dev/null, which must not be replaced
        refuse_link(file)
        with named(file), open(os.open(file, os.O_WRONLY | os.O_NOFOLLOW), "wb") as opened:
            opened.writelines(pieces)
        return
    with replacing(file) as beside, beside.open("xb") as opened:
        opened.writelines(pieces)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield the path of a new file, in a folder beside one whose name it takes at the end, if there is no error.

    The name is unforeseeable, and a name is replaced, not its link: a link that appears meanwhile is not followed.

    Raises:
        UsageError: The file is a link.
        OSError: It can't be written; a former file is unchanged.
    """
    refuse_link(file)
    with named(file), locked_folder(file.absolute().parent) as folder:
        yield folder / "new"
        (folder / "new").replace(file)


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Give errors of the system the name of a file."""
    try:
        yield
    except OSError as error:
        error.filename = str(file)
        raise
