"""Two runs aligned, for the viewer."""

from tertulia.reading.comparing import compare, comparison_document, minds_that_differ
from tertulia.reading.differences import Document as TurnDocument
from tertulia.reading.differences import TurnComparison
from tertulia.reading.documents import parent_document
from tertulia.state.documents import Document
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, order_of
from tertulia.storage.store import SqlStore
from tertulia.wording.comparison_phrases import parting_line, sameness, what_differs

#: Units whose scores differ most that a turn lists.
_SCORES_SHOWN = 5
#: Characters of a setting that are shown: a start may hold thousands of memories.
_MOST_CHARACTERS = 2000


def comparison_page(store: SqlStore, a: str, b: str) -> Document:
    """Return how two runs differ: the document of `diff --json`, with the words of `diff`, turn by turn.

    The differences of a turn by their paths are replaced by the scores and minds that differ.
    """
    compared = compare(store, a, b)
    document = comparison_document(compared, {})
    parting = compared.first_divergence
    turns = {turn.turn: turn for turn in compared.comparison.differing}
    for name, run in zip("ab", compared.runs, strict=True):
        document[name] |= _run_document(run)
    return document | {
        "settings": [setting | {name: _cut(setting[name]) for name in "ab"} for setting in document["settings"]],
        "summary": sameness(compared) if compared.is_same else None,
        "parting": parting_line(parting) if parting else None,
        "turns": [_turn_page(row, turns[row["turn"]]) for row in document["turns"]],
        "same": [turn.turn for turn in compared.comparison.turns if turn.is_same and turn.turn],
    }


def _run_document(run: RunRecord) -> Document:
    return {
        "kind": run.kind,
        "scenario": run.scenario,
        "order": order_of(run),
        "status": run.status,
        "model": run.model,
        "seed": run.seed,
        "removal_factor": run.parameters.get("removal_factor"),
        "label": run.label,
        "parent": parent_document(run),
        "silence_s": Parameters.model_validate(run.parameters).silence_s,
    }


def _cut(value: object) -> object:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, dict | list) else ""
    return f"{text[:_MOST_CHARACTERS]}…" if len(text) > _MOST_CHARACTERS else value


def _turn_page(row: Document, turn: TurnComparison) -> Document:
    """Return a turn that differs, without its differences path by path."""
    document = {name: value for name, value in row.items() if name != "differences"}
    if turn.a is None or turn.b is None:
        return document | {"what": [], "scores": [], "minds": []}
    return document | {
        "what": [list(words) for words in what_differs(turn.a, turn.b, turn.aspects)],
        "scores": _scores(turn.a, turn.b),
        "minds": list(minds_that_differ(turn.a, turn.b)),
    }


def _scores(a: TurnDocument, b: TurnDocument) -> list[Document]:
    """Return the units with the largest differences of scores between two turns, the largest first."""
    of_a, of_b = (document.get("scores", {}).get("units") or {} for document in (a, b))
    differing = [unit for unit in of_a if unit in of_b and of_a[unit] != of_b[unit]]
    differing.sort(key=lambda unit: -abs(of_a[unit] - of_b[unit]))
    return [{"unit": unit, "a": of_a[unit], "b": of_b[unit]} for unit in differing[:_SCORES_SHOWN]]
