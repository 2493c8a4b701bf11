"""The cost of a conversation that is not begun yet, for the viewer."""

from collections.abc import Mapping
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.storage.store import SqlStore

#: The newest runs of a model whose times are taken, and the turns of each.
_RUNS, _TURNS = 5, 20


def seconds_by_step(store: SqlStore, model: str) -> dict[str, float]:
    """Return the mean seconds of a call of a model by step, in its newest runs of a store; empty without any."""
    found: dict[str, list[float]] = {}
    runs = [run for run in store.runs() if run.model == model and not run.rehearsed and run.turns]
    for run in sorted(runs, key=lambda run: run.created)[-_RUNS:]:
        for call in store.calls_in_brief(run.run, 0, _TURNS):
            if call.seconds is not None:
                found.setdefault(call.node, []).append(call.seconds)
    return {node: sum(seconds) / len(seconds) for node, seconds in found.items()}


def dry_run_document(rehearsed: Mapping[str, Any], past: Mapping[str, float], seconds: float | None) -> Document:
    """Return the cost of a conversation in brief.

    Args:
        rehearsed: The JSON of `run --dry-run`.
        past: The seconds of a call by step; a step without any takes their mean.
        seconds: The time that is known already, as of a rehearsal.
    """
    total = rehearsed["total"]
    if seconds is None and past:
        mean = sum(past.values()) / len(past)
        seconds = sum(row["calls"] * past.get(row["node"], mean) for row in rehearsed["cost"])
    return {
        "schema_version": SCHEMA_VERSION,
        "turns": rehearsed["turns"],
        "calls": total["calls"],
        "tokens_read": total["prompt_tokens"],
        "tokens_written": total["reply_tokens"],
        "seconds": seconds,
    }
