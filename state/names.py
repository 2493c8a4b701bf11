"""Names of people as keys: values that follow from thousands of them are computed once, and looked up in each line."""

from collections.abc import Iterable
from functools import cached_property


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
