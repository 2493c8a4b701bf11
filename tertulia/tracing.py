"""What was executed in a turn, collected from the events of the graph."""

from collections.abc import Mapping
from typing import Any

from state.cognition import Trace, Visit
from state.graph_state import updated


class Tracer:
    """Collects the executions of nodes from the events of a turn."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Mapping[str, Any], str]] = {}  # by id: the task, and whose part it is
        self._updates: dict[str, dict[str, Any] | None] = {}

    def note(self, namespace: tuple[str, ...], task: Mapping[str, Any]) -> None:
        """Take an event: a task that begins, or that has ended."""
        if "input" in task:
            self._tasks[task["id"]] = task, namespace[-1].rpartition(":")[2] if namespace else ""
        else:
            self._updates[task["id"]] = task["result"]

    def trace(self) -> Trace:
        """Return the executions in order; the nodes of a subgraph stand in its place, agent by agent."""
        graphs = {parent for _, parent in self._tasks.values()}
        visits: list[Visit] = []
        for id, (task, parent) in self._tasks.items():
            if parent:
                continue
            within = [inner for inner, (_, outer) in self._tasks.items() if outer == id] if id in graphs else [id]
            agent = task["input"].get("agent", "")
            visits += [
                Visit(
                    node=self._tasks[visited][0]["name"],
                    agent=agent,
                    before=self._tasks[visited][0]["input"],
                    update=self._updates.get(visited),
                )
                for visited in within
            ]
        last = visits[-1]
        return Trace(visits=tuple(visits), after=updated(last.before, last.update or {}))
