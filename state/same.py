"""A key for results computed of a large record."""

from typing import Generic, TypeVar

Held = TypeVar("Held")


class Same(Generic[Held]):
    """A key equal only to itself, for `functools.lru_cache`: hashing a case takes longer than the cached computation.

    The object held must never change.
    """

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held
