"""Where a run was computed, as it is stored."""

from typing import Any

from tertulia.state.records import Platform
from tertulia.state.store import Store

#: The step under which it is stored.
STEP = "platform"


def platforms_document(store: Store, run: str) -> list[dict[str, Any]]:
    """Return where a run was computed, by the round from which on it was."""
    found = store.steps(run, STEP, Platform)
    return [{"round": round, **platform.model_dump(mode="json")} for (round, _), platform in found.items()]
