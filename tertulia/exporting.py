"""Everything that is recorded of a run, as records for JSON lines."""

from collections.abc import Iterable, Iterator

from state.cognition import Call
from state.meeting import Start
from state.records import RunRecord
from state.store import Store
from tertulia.documents import Document, run_document, start_document, turn_document
from tertulia.rounds import read_characters
from tertulia.turns import read_turn


def run_records(store: Store, run: RunRecord, start: Start) -> Iterator[Document]:
    """Yield everything that is recorded of a run, each record with its kind.

    The run, what it started from, and everybody as they entered; then turn by turn the prompts that are new, the calls
    of models, and the turn as `show --turn` gives it. Calls of a round that never ended in a turn come last.
    """
    yield {"kind": "run", **run_document(run, start), **_made_with(run)}
    yield {"kind": "start", **start_document(start)}
    for agent, character in read_characters(store, run.run).items():
        yield {"kind": "character", "agent": agent, **character.model_dump(mode="json")}
    calls: dict[int, list[Call]] = {}
    for call in store.calls(run.run):
        calls.setdefault(call.round, []).append(call)
    written: set[str] = set()
    yield from _call_records(store, calls.pop(0, []), written)
    for turn in store.turns(run.run):
        yield from _call_records(store, calls.pop(turn.turn, []), written)
        yield {"kind": "turn", **turn_document(store, read_turn(store, run, start, turn.turn))}
    for round in sorted(calls):
        yield from _call_records(store, calls[round], written)


def _made_with(run: RunRecord) -> Document:
    document = run.model_dump(mode="json", include={"participant_models", "extensions", "created"})
    return {"voices": document.pop("participant_models"), **document}


def _call_records(store: Store, calls: Iterable[Call], written: set[str]) -> Iterator[Document]:
    """Yield calls of models, each after its prompt; a prompt that was written already is only named."""
    for call in calls:
        if call.prompt is not None and call.prompt not in written:
            written.add(call.prompt)
            yield {"kind": "prompt", "prompt": call.prompt, **store.prompt(call.prompt).model_dump(mode="json")}
        document = call.model_dump(mode="json")
        yield {"kind": "call", "asked_for": document.pop("kind", "generate"), **document}
