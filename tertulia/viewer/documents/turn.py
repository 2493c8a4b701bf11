"""The making of a turn for the viewer: prompt, scores, candidates, minds, states and cost."""

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.words import words
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.spoken import spoken
from tertulia.views.measuring.costs import calls_in_brief, cost_document
from tertulia.views.reading.actions import with_actions
from tertulia.views.reading.documents import turn_document
from tertulia.views.reading.removal import retained, whole_of_share
from tertulia.views.reading.shared_turns import as_it_was
from tertulia.views.reading.traces import read_visits, visits_document
from tertulia.views.reading.turns import LineDetails, TurnDetails, parameters_of, parameters_of_speaker, read_turn
from tertulia.views.reading.what_if import placebo_of

#: The most scorers of one prompt side by side, with the turn's own.
_SCORERS_AT_MOST = 5
#: The parameters that minds are shown with.
_OF_MINDS = {
    "order",
    "willingness_threshold",
    "perception_threshold",
    "latency_form",
    "reevaluation_s",
    "silence_s",
    "seat_clock",
}


def turn_page(store: SqlStore, run: str, turn: int) -> Document:
    """Return the document of `show --turn --json` with the data that the page needs to move λ.

    That is for the turn and each of its parts: the order and the walk of removal, the recorded λ, the threshold of the
    judge, and the scores of the same prompt by other scorers in other runs. `made_with` says whether a stand-in spoke
    there, and has the parameters that its minds are shown with: a fork shares turns that were made with others.
    """
    record = store.run(run)
    details = read_turn(store, record, store.start(record.run), turn)
    document = turn_document(store, details)
    document |= {"made_with": _made_with(details)} | _removal(store, details, "") | _spoken(store, details, document)
    for part, of_part in details.parts.items():
        making = document["parts"][part]
        making |= _removal(store, of_part, part) | _spoken(store, of_part, making)
    return document


def _made_with(details: TurnDetails) -> Document:
    parameters = parameters_of(details.run, "").model_dump(mode="json", include=_OF_MINDS)
    return {"rehearsed": details.run.rehearsed, "parameters": {} if details.round is None else parameters}


def _spoken(store: SqlStore, details: LineDetails, making: Document) -> Document:
    """Return the words and actions of a line, and note those of its candidates beside them."""
    line = making["text"]
    for candidate, document in zip(details.candidates, making["candidates"], strict=True):
        written = with_actions(store, details.run, candidate) or candidate.text
        document |= spoken(written)
        line = written if document["chosen"] else line
    return spoken(line)


def _removal(store: SqlStore, details: LineDetails, part: str) -> Document:
    """Return the removal of units in an utterance of a turn, and their scorers."""
    parameters = parameters_of_speaker(details)
    return {
        "prompt": details.record.prompt,
        "removal": {
            "order": parameters.removal_order,
            "walk": parameters.removal_walk,
            "drawn": _drawn(details, part),
            "factor": details.record.removal_factor,
            "retained": retained(details.run),
            "whole": whole_of_share(details),
        },
        "judge": parameters.judge,
        "threshold": parameters.inconsistency_threshold,
        "revision": parameters.revision,
        "context_strength": parameters.context_strength,
        "scorers": _scorers(store, details, part),
    }


def _drawn(details: LineDetails, part: str) -> list[Document]:
    """Return the removable units of a prompt in the order in which its placebo visits them, each with its words."""
    from tertulia.nodes.utterance.walks.placebo import drawn_order

    if details.prompt is None:
        return []
    drawn = drawn_order(details.prompt.units, placebo_of(details.run, details.record, part))
    return [{"id": unit.id, "words": len(words(unit.text))} for unit in drawn]


def _scorers(store: SqlStore, details: LineDetails, part: str) -> list[Document]:
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
        scored = store.parts(scorer_run, turn)[part] if part else store.turn_record(scorer_run, turn)
        scorers.append({"scored_by": scored_by, "run": scorer_run, "turn": turn, "scores": scored.scores})
    return scorers


def states_page(store: SqlStore, run: str, turn: int) -> Document:
    """Return the state before and after every node of a turn."""
    record = store.run(run)
    return visits_document(record, read_visits(store, record, turn))


def cost_page(store: SqlStore, run: str, turn: int | None = None) -> Document:
    """Return the cost of the calls of a turn, or of a whole run."""
    record = store.run(run)
    rehearsed = record.is_rehearsal if turn is None else as_it_was(store, record, turn).rehearsed
    costs = cost_document(calls_in_brief(store, record, turn), not rehearsed)
    return {"schema_version": SCHEMA_VERSION, "run": record.run, **costs}
