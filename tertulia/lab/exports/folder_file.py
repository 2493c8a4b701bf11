"""A file of an exported folder."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FolderFile:
    """A file of an exported folder.

    Attributes:
        path: Its path inside the folder, with `/` between parts.
        text: Its content, in pieces.
        is_shared: Whether other exports into the folder have it too, so that it is kept if it is there.
    """

    path: str
    text: Iterable[str]
    is_shared: bool = False
