"""Spoken lines for the page, which shows their actions as such."""

from tertulia.state.documents import Document
from tertulia.state.spoken import has_actions, parts_of

#: Signs of an action that are layout alone, and are not shown; brackets are.
_LAYOUT = ("*", "_")


def spoken(line: str) -> Document:
    """Return `{"spoken": …}`, the words and actions of a line in order; empty for a line without actions."""
    if not has_actions(line):
        return {}
    return {
        "spoken": [
            {"kind": part.kind, "text": part.inner if part.text.startswith(_LAYOUT) else part.text}
            for part in parts_of(line)
        ]
    }
