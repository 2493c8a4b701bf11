"""How a turn came about, for the viewer: prompt, scores, candidates, minds, states and cost."""

from tertulia.measuring.costs import calls_paid, cost_document
from tertulia.reading.documents import turn_document
from tertulia.reading.removal import retained
from tertulia.reading.traces import read_visits, visits_document
from tertulia.reading.turns import TurnDetails, read_turn
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.parameters import Parameters
from tertulia.state.records import TurnRecord
from tertulia.storage.store import SqlStore

#: Scorers of one prompt that stand side by side, the turn's own among them.
_SCORERS_AT_MOST = 5


def turn_page(store: SqlStore, run: str, turn: int) -> Document:
    """Return a turn as `show --turn --json` gives it, with what the page needs to move λ.

    That is, for the turn and for every part of it: the order and the walk by which λ removes units, λ as it was
    recorded, the threshold of the judge, and the scores that other runs gave to the same prompt by other scorers.
    """
    record = store.run(run)
    details = read_turn(store, record, store.start(record.run), turn)
    document = turn_document(store, details) | _removal(store, details, "")
    for part, of_part in details.parts.items():
        document["parts"][part] |= _removal(store, of_part, part)
    return document


def _removal(store: SqlStore, details: TurnDetails, part: str) -> Document:
    """Return how units are removed in an utterance of a turn, and who scored them."""
    parameters = Parameters.of_record(details.run.parameters)
    return {
        "prompt": details.record.prompt,
        "removal": {
            "order": parameters.removal_order,
            "walk": parameters.removal_walk,
            "factor": details.record.removal_factor,
            "retained": retained(details.run),
        },
        "threshold": parameters.inconsistency_threshold,
        "revision": parameters.revision,
        "scorers": _scorers(store, details, part),
    }


def _scorers(store: SqlStore, details: TurnDetails, part: str) -> list[Document]:
    """Return the scores of a prompt by scorer: first the turn's own, then those of other runs with the same prompt."""
    run, turn, record = details.run.run, details.record.turn.turn, details.record
    scorers: list[Document] = []
    if record.prompt is None:
        return scorers
    if record.scores is not None:
        scorers.append({"scored_by": record.scored_by, "run": run, "turn": turn, "scores": record.scores})
    for scored_by, scorer_run in store.scorings(record.prompt, turn, part).items():
        if scored_by == record.scored_by or len(scorers) == _SCORERS_AT_MOST:
            continue
        scored = _utterance(store, scorer_run, turn, part)
        scorers.append({"scored_by": scored_by, "run": scorer_run, "turn": turn, "scores": scored.scores})
    return scorers


def _utterance(store: SqlStore, run: str, turn: int, part: str) -> TurnRecord:
    return store.parts(run, turn)[part] if part else store.turn_record(run, turn)


def states_page(store: SqlStore, run: str, turn: int) -> Document:
    """Return the state before and after every node of a turn."""
    record = store.run(run)
    return visits_document(record, read_visits(store, record, turn))


def cost_page(store: SqlStore, run: str, turn: int | None = None) -> Document:
    """Return what the calls of a turn, or of a whole run, took."""
    record = store.run(run)
    costs = cost_document(calls_paid(store, record, turn), not record.rehearsed)
    return {"schema_version": SCHEMA_VERSION, "run": record.run, **costs}
