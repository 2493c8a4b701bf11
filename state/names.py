"""Names of people: when two are the same, and as keys.

Values that follow from thousands of names are computed once, and looked up in each line.
"""

import unicodedata
from collections.abc import Iterable
from functools import cached_property


def composed(name: str) -> str:
    """Return a name as scenarios have it: of the two ways to write `é`, which look alike, that with a single sign."""
    return unicodedata.normalize("NFC", name)


def is_same_name(name: str, typed: str) -> bool:
    """Return whether a typed name is this one, in small letters or capitals."""
    return composed(name).casefold() == composed(typed).casefold()


class Names(tuple[str, ...]):
    """Names that are hashed once. They equal the tuple of them."""

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Return names as they are, or as names of this kind."""
        return names if isinstance(names, Names) else cls(names)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()
