"""The platforms on which a run was computed."""

from tertulia.state.documents import Document
from tertulia.state.records import Platform
from tertulia.state.store import Store

#: The step under which a platform is stored.
STEP = "platform"


def platforms_document(store: Store, run: str) -> list[Document]:
    """Return the platforms of a run, each with its first round."""
    found = store.steps(run, STEP, Platform)
    return [{"round": round, **platform.model_dump(mode="json")} for (round, _), platform in found.items()]
