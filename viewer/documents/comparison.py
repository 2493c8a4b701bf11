"""Two runs aligned, for the viewer."""

from collections.abc import Iterator

from tertulia.metrics.comparison import Document as TurnDocument
from tertulia.metrics.comparison import TurnComparison, switched_on
from tertulia.reading.comparing import RunComparison, compare, comparison_document, without
from tertulia.reading.documents import parent_document
from tertulia.reading.listing import label_of
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
    """Return how two runs differ: as `diff --json` tells it, and in the words of `diff`, turn by turn.

    In the place of every difference of a turn by its path stand the units, scores and minds that differ.
    """
    compared = compare(store, a, b)
    document = comparison_document(compared, {})
    parting = compared.first_divergence
    turns = {turn.turn: turn for turn in compared.comparison.differing}
    for name, run in zip("ab", compared.runs, strict=True):
        document[name] |= _run_document(run)
    return document | {
        "settings": [_shortened(setting) for setting in document["settings"]],
        "summary": _summary(compared),
        "parting": parting_line(parting) if parting else None,
        "turns": [_turn_page(row, turns[row["turn"]]) for row in document["turns"]],
        "same": [turn.turn for turn in compared.comparison.turns if turn.is_same and turn.turn],
    }


def _summary(compared: RunComparison) -> str | None:
    """Return that two runs are identical, in words; `None` where they are not."""
    return sameness(compared) if compared.is_same else None


def _run_document(run: RunRecord) -> Document:
    return {
        "kind": run.kind,
        "scenario": run.scenario,
        "order": order_of(run),
        "status": run.status,
        "model": run.model,
        "seed": run.seed,
        "removal_factor": run.parameters.get("removal_factor"),
        "label": label_of(run),
        "parent": parent_document(run),
        "silence_s": Parameters.model_validate(run.parameters).silence_s,
    }


def _shortened(setting: Document) -> Document:
    """Return a setting with long values cut."""
    return setting | {name: _cut(setting[name]) for name in "ab"}


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
        "minds": list(_minds(turn.a, turn.b)),
    }


def _scores(a: TurnDocument, b: TurnDocument) -> list[Document]:
    """Return the units that both turns scored whose scores differ most, the largest difference first."""
    of_a, of_b = (document.get("scores", {}).get("units") or {} for document in (a, b))
    differing = [unit for unit in of_a if unit in of_b and of_a[unit] != of_b[unit]]
    differing.sort(key=lambda unit: -abs(of_a[unit] - of_b[unit]))
    return [{"unit": unit, "a": of_a[unit], "b": of_b[unit]} for unit in differing[:_SCORES_SHOWN]]


def _minds(a: TurnDocument, b: TurnDocument) -> Iterator[Document]:
    """Yield who differs in mechanisms, willingness or latency, as `diff` does, with both figures."""
    for agent in dict.fromkeys([*a["willingness"], *b["willingness"]]):
        on_a, on_b = switched_on(a, agent), switched_on(b, agent)
        willingness, latency_s = (
            [document[aspect].get(agent, {}).get(figure) for document in (a, b)]
            for aspect, figure in (("willingness", "willingness"), ("latency", "latency_s"))
        )
        only_in_a, only_in_b = without(on_a, on_b), without(on_b, on_a)
        if only_in_a or only_in_b or willingness[0] != willingness[1] or latency_s[0] != latency_s[1]:
            yield {
                "agent": agent,
                "only_in_a": only_in_a,
                "only_in_b": only_in_b,
                "willingness": willingness,
                "latency_s": latency_s,
            }
