"""The platforms on which a run was computed."""

from tertulia.state.documents import Document
from tertulia.state.records import Platform
from tertulia.state.store import Store

#: The step under which a platform is stored.
STEP = "platform"

#: The precision of weights that any machine computes with.
_EVERYWHERE = "float32"


def precision_to_keep(store: Store, run: str) -> str | None:
    """Return the precision in which a run goes on, whichever suits this machine; `None` if the machine decides.

    A run computed last in float32 stays in it: no machine lacks it, and the digits stay near.
    """
    last = [*store.steps(run, STEP, Platform).values()][-1:]
    # Without versions of libraries it is that of an embedder beside a model of a server.
    return next(
        (platform.precision for platform in last if platform.versions and platform.precision == _EVERYWHERE), None
    )


def platforms_document(store: Store, run: str) -> list[Document]:
    """Return the platforms of a run, each with its first round."""
    found = store.steps(run, STEP, Platform)
    return [{"round": round, **platform.model_dump(mode="json")} for (round, _), platform in found.items()]
