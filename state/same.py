"""A key by which what was computed of a large record is kept."""

from typing import Generic, TypeVar

Held = TypeVar("Held")


class Same(Generic[Held]):
    """What is equal only to itself, for `functools.lru_cache`: hashing a case takes longer than what is made of it.

    What is held must never change.
    """

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held
