"""The cost of a conversation that is not begun yet, for the viewer."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tertulia.state.documents import SCHEMA_VERSION, Document

if TYPE_CHECKING:
    from tertulia.lab.experiments.call_times import CallTimes


def dry_run_document(rehearsed: Mapping[str, Any], times: "CallTimes | None", seconds: float | None) -> Document:
    """Return the cost of a conversation in brief.

    Args:
        rehearsed: The JSON of `run --dry-run`.
        times: The seconds of the model's calls; `None`: not known.
        seconds: The time that is known already, as of a rehearsal.
    """
    total = rehearsed["total"]
    if seconds is None and times is not None:
        calls: Counter[str] = Counter()
        for row in rehearsed["cost"]:
            calls[row["node"]] += row["calls"]
        seconds = times.of_one_run(calls)
    return {
        "schema_version": SCHEMA_VERSION,
        "turns": rehearsed["turns"],
        "calls": total["calls"],
        "tokens_read": total["prompt_tokens"],
        "tokens_written": total["reply_tokens"],
        "seconds": seconds,
    }
