"""Output files: checked before anything is written, and written whole or not at all."""

import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

from tertulia.state.errors import UsageError
from tertulia.storage.addresses import StoreAddress

#: The name of standard output in place of a file.
STANDARD_OUTPUT = Path("-")


def check_file(file: Path, store: StoreAddress, force: bool = False) -> None:
    """Refuse a file that can't be written (`-`, standard output, always can).

    Args:
        store: The store, which must not be overwritten.
        force: Whether an existing file is overwritten.

    Raises:
        UsageError: It is a folder or the store, it is in no folder, or it exists already.
    """
    if file == STANDARD_OUTPUT:
        return
    if file.is_dir():
        raise UsageError(f"{file} is a folder; give the name of a file in it")
    if isinstance(store, Path) and file.resolve() == store.resolve():
        raise UsageError(f"{file} is the store; give another name")
    if not file.resolve().parent.is_dir():
        raise UsageError(f"{file} can't be written: there is no folder {file.parent}")
    if file.is_file() and not force:
        raise UsageError(f"{file} exists already; overwrite it with --force, or give another name")


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, all or none: a file beside it takes its name at the end.

    Raises:
        OSError: It can't be written; a former file is unchanged.
    """
    if file == STANDARD_OUTPUT:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for line in lines:
            print(line)
        return
    write_bytes(file, (f"{line}\n".encode("utf-8", "replace") for line in lines))


def write_bytes(file: Path, pieces: Iterable[bytes]) -> None:
    """Write pieces one after another to a file, all or none, as `write_lines` does."""
    target = file.resolve()
    is_special = target.exists() and not target.is_file()  # such as /dev/null, which must not be replaced
    # An unforeseeable name and a new file: nothing is followed or overwritten.
    beside = target if is_special else target.with_name(f".tertulia-{secrets.token_hex(8)}.part")
    try:
        with beside.open("wb" if is_special else "xb") as opened:
            opened.writelines(pieces)
        if not is_special:
            beside.replace(target)
    except BaseException as error:
        if not is_special:
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(file)
        raise
