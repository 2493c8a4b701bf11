"""Spoken lines for the page, which shows their actions as such."""

from tertulia.state.documents import Document
from tertulia.state.spoken import has_actions, parts_of


def spoken(line: str) -> Document:
    """Return `{"spoken": …}`, the words and actions of a line in order, without signs; empty without actions."""
    if not has_actions(line):
        return {}
    return {"spoken": [{"kind": part.kind, "text": part.inner} for part in parts_of(line)]}
