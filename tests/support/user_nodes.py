"""A node and a mechanism as a user may write them, with changes that a test makes, and ids for such tests."""

import re
from typing import Any

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding


def without_addresses(value: object) -> str:
    """Return a test id that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


async def ends(state: Any, runtime: Any) -> dict[str, Any]:
    """A node in the place of decide_ending, which says that nothing ends."""
    return {"ended": False}


def a_node(run: Any = ends, **changes: Any) -> Node:
    known = {"name": "mine", "place": "decide_ending", "description": "says no", "run": run, "writes": ("ended",)}
    return Node(**{**known, **changes})


async def recalls(view: View) -> Finding:
    return Finding(lines=(f"{view.name} has heard something.",))


def a_mechanism(run: Any = recalls, **changes: Any) -> Mechanism:
    known = {"name": "gossip", "title": "Gossip", "description": "think of what is said", "example": (True, "I do.")}
    return Mechanism(**{**known, "run": run, **changes})
