"""The files of the package in this checkout, in which four rooms are links to folders at the top."""

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tertulia"

#: Of a checkout alone: the source of the viewer's page, of which the package has what is built.
_LEFT_OUT = {"page", "__pycache__"}


def package_files(ending: str = "") -> Iterator[Path]:
    """Yield the files whose names end so, by their places in the package."""
    for folder, folders, names in os.walk(PACKAGE, followlinks=True):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(ending))
