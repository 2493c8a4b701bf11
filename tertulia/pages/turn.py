"""How a turn came about, for the viewer: prompt, scores, candidates, minds, states and cost."""

from state.parameters import Parameters
from storage.store import SqliteStore
from tertulia.costs import calls_paid, cost_document
from tertulia.documents import SCHEMA_VERSION, Document, turn_document
from tertulia.traces import read_visits, visits_document
from tertulia.turns import read_turn


def turn_page(store: SqliteStore, run: str, turn: int) -> Document:
    """Return a turn as `show --turn --json` gives it, with the order and the walk by which λ removes its units."""
    record = store.run(run)
    parameters = Parameters.of_record(record.parameters)
    document = turn_document(store, read_turn(store, record, store.start(record.run), turn))
    return document | {"removal": {"order": parameters.removal_order, "walk": parameters.removal_walk}}


def states_page(store: SqliteStore, run: str, turn: int) -> Document:
    """Return the state before and after every node of a turn."""
    record = store.run(run)
    return visits_document(record, read_visits(store, record, turn))


def cost_page(store: SqliteStore, run: str, turn: int | None = None) -> Document:
    """Return what the calls of a turn, or of a whole run, took."""
    record = store.run(run)
    costs = cost_document(calls_paid(store, record, turn), not record.rehearsed)
    return {"schema_version": SCHEMA_VERSION, "run": record.run, **costs}
