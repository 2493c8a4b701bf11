"""The state before and after every node of a turn."""

import json
from collections.abc import Iterable, Iterator

from tertulia.state.cognition import Visit
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.graph_state import updated
from tertulia.state.records import RunRecord
from tertulia.state.store import Store


def read_visits(
    store: Store, run: RunRecord, turn: int | None = None, node: str | None = None, agent: str | None = None
) -> list[tuple[int, Visit]]:
    """Return the executions of nodes, each with its turn: of all, or of one turn, node or agent.

    The executions of an agent are those of their cognition, and of the turns in which they speak.

    Raises:
        NotFoundError: The run has no such node, or nothing is known of the turn.
    """
    turns = range(1, run.turns + 1) if turn is None else [turn]
    visits: list[tuple[int, Visit]] = []
    for number in turns:
        trace = store.trace(run.run, number)
        if trace is None:
            raise NotFoundError(
                f"what was executed in turn {number} of run {run.run} is not in the store: it was removed; --turn N "
                "shows another"
            )
        visits += [(number, visit) for visit in trace.visits]
    known = dict.fromkeys(visit.node for _, visit in visits)
    if node is not None and node not in known:
        where = f"turn {turn} of run {run.run}" if turn is not None else f"run {run.run}"
        raise NotFoundError(f"no node {node!r} was executed in {where}{nearest_hint(node, known)}")
    return [
        (number, visit)
        for number, visit in visits
        if node in (None, visit.node) and agent in (None, visit.agent or visit.before.get("speaker"))
    ]


def changes_of(visit: Visit) -> Iterator[tuple[str, str, str | None]]:
    """Yield every key of the state with its value before and, if the node wrote it, after."""
    update = visit.update or {}
    for key in dict.fromkeys([*visit.before, *update]):
        before = json.dumps(visit.before[key], ensure_ascii=False) if key in visit.before else ""
        yield key, before, json.dumps(update[key], ensure_ascii=False) if key in update else None


def visits_document(run: RunRecord, visits: Iterable[tuple[int, Visit]]) -> Document:
    """Return executions as JSON, with the state before, the update, and the state after."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "visits": [
            {"turn": turn, **visit.model_dump(), "after": updated(visit.before, visit.update or {})}
            for turn, visit in visits
        ],
    }
