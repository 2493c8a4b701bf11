"""The address of a run or a simulation on the page."""

from tertulia.state.errors import NotFoundError, UsageError
from tertulia.storage.ids import LATEST
from tertulia.storage.store import SqlStore


def place_of(store: SqlStore, name: str) -> str:
    """Return the fragment of the page's address: `#/runs/k3f9`, or `#/towns/` and a simulation's id.

    Args:
        name: The id of a run or a simulation, a unique beginning of it, or `@last` for the newest run.

    Raises:
        NotFoundError: There is no such run or simulation.
        UsageError: Several begin like that.
    """
    simulations = [simulation.simulation for simulation in store.simulations.all()]
    if name in simulations:
        return f"#/towns/{name}"
    try:
        return f"#/runs/{store.run(name).run}"
    except (NotFoundError, UsageError):
        matching = [simulation for simulation in simulations if name != LATEST and simulation.startswith(name)]
        if len(matching) != 1 or not name:
            raise
        return f"#/towns/{matching[0]}"
