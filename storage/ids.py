"""How users name what is stored: by an id, a unique beginning of it, or `@last`."""

from collections.abc import Sequence
from pathlib import Path

from state.errors import UsageError

LATEST = "@last"

#: Ids that an error lists, at most.
LISTED = 20


def meant(given: str, known: Sequence[str], kind: str, path: Path | str) -> str | None:
    """Return the id that is meant; `None` if there is none.

    Args:
        given: What a user has written.
        known: All ids, newest first.
        kind: What they are ids of, for the message.
        path: The store, for the message.

    Raises:
        UsageError: Several begin like that.
    """
    if given == LATEST:
        return known[0] if known else None
    matching = [given] if given in known else [one for one in known if given and one.startswith(given)]
    if len(matching) > 1:
        listed = ", ".join(matching[:LISTED]) + (", …" if len(matching) > LISTED else "")
        raise UsageError(f"{kind} {given!r} is ambiguous in {path}; it may be {listed}")
    return matching[0] if matching else None
