"""Names that users give to stored runs and simulations: an id, a unique beginning of it, or `@last`."""

from collections.abc import Sequence

from tertulia.state.errors import UsageError
from tertulia.storage.addresses import StoreAddress

LATEST = "@last"

#: Ids that an error lists, at most.
LISTED = 20


def resolve_id(given: str, known: Sequence[str], kind: str, path: StoreAddress | str) -> str | None:
    """Return the id that a user names; `None` if there is none.

    Args:
        known: All ids, newest first.

    Raises:
        UsageError: Several begin like that.
    """
    if given == LATEST:
        return known[0] if known else None
    matching = [given] if given in known else [id for id in known if given and id.startswith(given)]
    if len(matching) > 1:
        raise UsageError(f"{kind} {given!r} is ambiguous in {path}; it may be {listed(matching)}")
    return matching[0] if matching else None


def listed(ids: Sequence[str]) -> str:
    """Return ids for a message, the first of them if they are many."""
    return ", ".join(ids[:LISTED]) + (", …" if len(ids) > LISTED else "")
