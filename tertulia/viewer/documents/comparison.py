"""Two runs aligned, for the viewer."""

from collections.abc import Sequence

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, order_of
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.titles import title_of
from tertulia.views.reading.comparing import comparison_document, minds_that_differ
from tertulia.views.reading.differences import TurnComparison
from tertulia.views.reading.documents import parent_document
from tertulia.views.reading.long_comparisons import compare_to_parting, compare_turns
from tertulia.views.reading.run_lines import run_lines
from tertulia.views.reading.turn_documents import Document as TurnDocument
from tertulia.views.wording.comparison_phrases import parting_line, sameness, what_differs

#: The most units that a turn lists, those with the largest differences of scores.
_SCORES_SHOWN = 5
#: Characters of a setting that are shown: a start may hold thousands of memories.
_MOST_CHARACTERS = 2000


def comparison_page(store: SqlStore, a: str, b: str) -> Document:
    """Return how two runs differ up to their parting, and which turns differ from there on.

    It is the document of `diff --json` without its turns, which `turns_page` has, and with the words of `diff`.
    """
    compared, differing = compare_to_parting(store, a, b)
    document = comparison_document(compared, {})
    parting = compared.first_divergence
    del document["turns"]
    lines = run_lines(store, [run.run for run in compared.runs])
    for name, run in zip("ab", compared.runs, strict=True):
        line, start = lines.get(run.run), store.start(run.run)
        document[name] |= _run_document(run) | {
            "title": title_of(store, run, start),
            "people": list(start.names),
            "speaker": None if line is None else line.speaker,
            "first_line": None if line is None else line.text,
        }
    return document | {
        "settings": [setting | {name: _cut(setting[name]) for name in "ab"} for setting in document["settings"]],
        "summary": sameness(compared) if compared.is_same else None,
        "parting": parting_line(parting) if parting else None,
        "differing": differing,
    }


def turns_page(store: SqlStore, a: str, b: str, numbers: Sequence[int]) -> Document:
    """Return how turns of two runs differ: of `diff --json`, with the words of `diff`.

    The differences of a turn by their paths are replaced by the scores and minds that differ. Turns that are the same
    are named in `same`.
    """
    compared = compare_turns(store, a, b, numbers)
    turns = {turn.turn: turn for turn in compared.comparison.differing}
    rows = comparison_document(compared, {})["turns"]
    return {
        "schema_version": SCHEMA_VERSION,
        "turns": [_turn_page(row, turns[row["turn"]]) for row in rows],
        "same": [turn.turn for turn in compared.comparison.turns if turn.is_same],
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
        "error": run.error,
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
