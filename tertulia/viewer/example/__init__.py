"""The shipped example: a small store of the embedded model's conversations, for the first look at the page.

`make example` makes it anew: commands that any user can type (make.sh), and `packed`.
"""

import lzma
import os
import sqlite3
import tempfile
from importlib.resources import files
from pathlib import Path

from tertulia.state.errors import UsageError

#: The name of the example in the folder in which it is looked at.
EXAMPLE_STORE = "tertulia-example.db"


def example_store(folder: Path) -> Path:
    """Return the path of the example's store in this folder, written there if it is not there yet.

    It is a store like any other: forks that are made of its runs stay in it, and the next call leaves them alone.

    Raises:
        UsageError: It can't be written there.
    """
    path = folder / EXAMPLE_STORE
    if path.exists():
        return path
    content = lzma.decompress(files(__name__).joinpath("store.db.xz").read_bytes())
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{EXAMPLE_STORE}.", delete=False) as written:
            written.write(content)
        os.replace(written.name, path)
    except OSError as error:
        raise UsageError(
            f"the example can't be written to {path}: {error.strerror}; go to a folder of your own"
        ) from error
    return path


def packed(store: Path) -> bytes:
    """Return a store as it is shipped: one file without free pages or a log beside it, compressed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "store.db")
        connection = sqlite3.connect(store)
        connection.execute("VACUUM INTO ?", (str(copy),))
        connection.close()
        return lzma.compress(copy.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
