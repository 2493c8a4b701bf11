"""Collect the executions of nodes in a turn from the events of the graph."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tertulia.state.cognition import Trace, Visit
from tertulia.state.graph_state import updated

#: The node of an album chat that is a turn by itself.
_EXCHANGE = "exchange"
#: The state of an album chat after an exchange; belongings follow from the exchanges themselves.
_KNOWN_AFTER = ("round", "turn", "sim_time_s")


class Tracer:
    """Collects the executions of nodes from the events of a turn, or of a round of exchanges."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Mapping[str, Any], str]] = {}  # by id: the task, and whose part it is
        self._updates: dict[str, dict[str, Any] | None] = {}

    def note(self, within: str, task: Mapping[str, Any]) -> None:
        """Take the event of a task that begins or has ended, and the id of the task whose inner graph holds it."""
        if "input" in task:
            self._tasks[task["id"]] = task, within
        else:
            self._updates[task["id"]] = task["result"]

    def traces(self) -> dict[int, Trace]:
        """Return the executions by turn, in order; a subgraph is replaced by its nodes, agent by agent.

        In an album chat each exchange is a turn; the nodes that pair and store belong to none.
        """
        within: dict[str, list[str]] = {}
        for id, (_, parent) in self._tasks.items():
            within.setdefault(parent, []).append(id)
        exchanges = [id for id in within[""] if self._tasks[id][0]["name"] == _EXCHANGE]
        traces = {}
        for exchange in exchanges:
            visits = tuple(self._visits(exchange, "", within))
            known = {key: visits[-1].before[key] for key in _KNOWN_AFTER}
            traces[known["turn"]] = Trace(visits=visits, after=known)
        if exchanges:
            return traces
        agents = {id: self._tasks[id][0]["input"].get("agent", "") for id in within[""]}
        visits = tuple(visit for id, agent in agents.items() for visit in self._visits(id, agent, within))
        after = updated(visits[-1].before, visits[-1].update or {})
        return {after["turn"]: Trace(visits=visits, after=after)}

    def _visits(self, id: str, agent: str, within: Mapping[str, Sequence[str]]) -> Iterator[Visit]:
        """Yield the execution of a node, or those of the nodes of a subgraph."""
        task, _ = self._tasks[id]
        if id in within:
            for inner in within[id]:
                yield from self._visits(inner, agent, within)
        else:
            yield Visit(node=task["name"], agent=agent, before=task["input"], update=self._updates.get(id))
