"""The state before and after every node of a turn."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from cli.output import plain
from state.cognition import Visit
from state.errors import NotFoundError, nearest_hint
from state.graph_state import updated
from state.records import RunRecord
from state.store import Store


def read_visits(
    store: Store, run: RunRecord, turn: int | None, node: str | None, agent: str | None
) -> list[tuple[int, Visit]]:
    """Return the executions of nodes in one turn, or in all, each with its turn.

    Args:
        store: The store.
        run: The run.
        turn: The turn; `None` for all of them.
        node: Only this node's.
        agent: Only those of this agent's cognition, and of the turns that they speak.

    Raises:
        NotFoundError: The run has no such node, or nothing is known of the turn.
    """
    turns = range(1, run.turns + 1) if turn is None else [turn]
    found: list[tuple[int, Visit]] = []
    for number in turns:
        trace = store.trace(run.run, number)
        if trace is None and turn is not None:
            raise NotFoundError(
                f"what was executed in turn {turn} of run {run.run} was not noted: an older Tertulia wrote it"
            )
        found += [(number, visit) for visit in trace.visits] if trace else []
    known = dict.fromkeys(visit.node for _, visit in found)
    if node is not None and node not in known:
        where = f"turn {turn} of run {run.run}" if turn is not None else f"run {run.run}"
        raise NotFoundError(f"no node {node!r} was executed in {where}{nearest_hint(node, known)}")
    return [
        (number, visit)
        for number, visit in found
        if node in (None, visit.node) and agent in (None, visit.agent or visit.before.get("speaker"))
    ]


def visits_json(visits: Iterable[tuple[int, Visit]]) -> list[dict[str, Any]]:
    """Return executions with the state before, the update, and the state after."""
    return [
        {"turn": turn, **visit.model_dump(), "after": updated(visit.before, visit.update or {})}
        for turn, visit in visits
    ]


def print_visits(console: Console, visits: Iterable[tuple[int, Visit]]) -> None:
    """Print executions: the state before, and what each changed."""
    for turn, visit in visits:
        whose = f" · {visit.agent}" if visit.agent else ""
        console.print(plain(f"turn {turn} · {visit.node}{whose}", "bold"))
        table = Table.grid(padding=(0, 2))
        for key, before, after in _changes(visit):
            table.add_row(plain(key, "dim"), plain(before, "dim"), plain("" if after is None else f"→ {after}"))
        console.print(Padding(table, (0, 0, 1, 2)))


def _changes(visit: Visit) -> Iterator[tuple[str, str, str | None]]:
    """Yield every key of the state with its value before, and after where the node wrote it."""
    update = visit.update or {}
    for key in dict.fromkeys([*visit.before, *update]):
        before = json.dumps(visit.before[key], ensure_ascii=False) if key in visit.before else ""
        yield key, before, json.dumps(update[key], ensure_ascii=False) if key in update else None
