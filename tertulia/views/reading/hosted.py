"""Runs that a LangGraph graph of the user's own holds, and goes on with."""

from tertulia.state.cognition import ENTERED, Entered
from tertulia.state.store import Store


def is_of_own_graph(store: Store, run: str) -> bool:
    """Return whether only a graph of the user's own can go on with a run: a fork of one is Tertulia's again."""
    return bool(store.steps(run, ENTERED, Entered))
