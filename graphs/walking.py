"""Inner graphs: the nodes of an agent within a step of a conversation, as a graph of LangGraph's, and as a walk.

LangGraph plans every step of a subgraph anew, with channels, versions and a message to its loop; a call of a served
model takes 1.4 times the processor time with it (docs/graphs.md). But an inner graph of a driven run has no checkpoints
of its own, and no two of its nodes run side by side. So Tertulia's own driver, and it alone, walks through its nodes
one after the other, with the same inputs, updates, events and errors (tests/graphs/test_walking.py).
"""

import inspect
import itertools
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from tertulia.graphs.routing import answered_in_loop
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.state.context import Context


@dataclass(frozen=True)
class _Step:
    """A node, with the keys of the state that it is given."""

    node: "NodeFunction | InnerGraph"
    given: tuple[str, ...]


@dataclass(frozen=True)
class _Decision:
    """A question about the state, and by its answer the next node."""

    question: Callable[..., Any]
    paths: Mapping[Hashable, str]
    asks_runtime: bool

    def next(self, state: Mapping[str, Any], runtime: Runtime[Context]) -> str:
        return self.paths[self.question(state, runtime) if self.asks_runtime else self.question(state)]


#: Names of nodes before which a graph pauses, and after which.
Pauses = tuple[Sequence[str], Sequence[str]]


class InnerGraph:
    """A graph whose nodes run one after the other, each followed by one other, or by the end."""

    def __init__(self, state: type, given: type, returned: type) -> None:
        """Take the state of its nodes, its input, and its output: `TypedDict`s."""
        self._graph: StateGraph[Any, Context, Any, Any] = StateGraph(
            state, context_schema=Context, input_schema=given, output_schema=returned
        )
        self._types = get_type_hints(state, include_extras=True)
        self._given, self._returned = tuple(get_type_hints(given)), tuple(get_type_hints(returned))
        #: By key, how updates are merged; such a key is there from the beginning, and empty.
        self._merged = {
            key: metadata[-1] for key, kind in self._types.items() if (metadata := getattr(kind, "__metadata__", ()))
        }
        self._steps: dict[str, _Step] = {}
        self._next: dict[str, str | _Decision] = {}

    def add_node(self, name: str, node: "NodeFunction | InnerGraph", pauses: "Pauses" = ((), ())) -> None:
        """Add a node, or a graph in the place of one, with those of the pauses that are at its nodes."""
        self._graph.add_node(name, node.pausing(pauses) if isinstance(node, InnerGraph) else node)
        self._steps[name] = _Step(node, tuple(_state_of(node) or self._types))

    def add_edge(self, before: str, after: str) -> None:
        """Set the next node after a node."""
        self._graph.add_edge(before, after)
        self._next[before] = after

    def add_conditional_edges(self, before: str, question: Callable[..., Any], paths: dict[Hashable, str]) -> None:
        """Set the next nodes after a node, by the answer to a question about the state and, if it asks, the runtime."""
        self._graph.add_conditional_edges(before, answered_in_loop(question), paths)
        self._next[before] = _Decision(question, paths, len(inspect.signature(question).parameters) > 1)

    @cached_property
    def compiled(self) -> CompiledStateGraph[Any, Context, Any, Any]:
        """The graph as LangGraph runs and draws it."""
        return self._graph.compile()

    def pausing(self, pauses: "Pauses") -> CompiledStateGraph[Any, Context, Any, Any]:
        """Return the graph as LangGraph runs it, with those of the pauses that are at its nodes."""
        before, after = ([name for name in names if name in self._steps] for names in pauses)
        if not before and not after:
            return self.compiled
        return self._graph.compile(interrupt_before=before, interrupt_after=after)

    def has(self, name: str) -> bool:
        """Return whether a node has this name, here or in an inner graph."""
        inner = (step.node for step in self._steps.values() if isinstance(step.node, InnerGraph))
        return name in self._steps or any(graph.has(name) for graph in inner)

    @property
    def walked(self) -> Callable[..., Awaitable[dict[str, Any]]]:
        """The graph as a node that walks through its nodes, in the graph of a conversation that is driven."""

        async def walk(state: Any, runtime: Runtime[Context]) -> dict[str, Any]:
            assert runtime.execution_info is not None
            return await self._walk(state, runtime, runtime.execution_info.task_id, itertools.count())

        return walk

    async def _walk(
        self, given: Mapping[str, Any], runtime: Runtime[Context], within: str, numbers: Iterator[int]
    ) -> dict[str, Any]:
        """Run the nodes; tell the watcher of each as it begins and ends.

        Args:
            within: The id of the task of the graph.
            numbers: The ends of the ids of its tasks.
        """
        watch = runtime.context.watch
        state: dict[str, Any] = {key: {} for key in self._merged} | {k: given[k] for k in self._given if k in given}
        at = self._after(START, state, runtime)
        # LangGraph writes the input, too: with a key of the output in it, there is an output.
        is_written = any(key in given for key in self._given if key in self._returned)
        while at != END:
            step, task = self._steps[at], {"id": f"{within}/{next(numbers)}", "name": at}
            shown = {key: state[key] for key in step.given if key in state}
            if watch is not None:
                watch(within, task | {"input": shown})
            if isinstance(step.node, InnerGraph):
                update = await step.node._walk(shown, runtime, task["id"], numbers)
            else:
                update = await step.node(shown, runtime) or {}
            update = {key: value for key, value in update.items() if key in self._types}
            if watch is not None:
                watch(within, task | {"result": update})
            is_written |= any(key in self._returned for key in update)
            for key, value in update.items():
                state[key] = self._merged[key](state[key], value) if key in self._merged else value
            at = self._after(at, state, runtime)
        return {key: state[key] for key in self._returned if key in state} if is_written else {}

    def _after(self, node: str, state: dict[str, Any], runtime: Runtime[Context]) -> str:
        following = self._next[node]
        return following if isinstance(following, str) else following.next(state, runtime)


def compiled_outside(
    graph: StateGraph[Any, Any, Any, Any],
    inner: Sequence[InnerGraph],
    pauses: Pauses,
    last: Sequence[str],
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of a conversation, compiled with those of the pauses that are at no node of its inner graphs.

    Args:
        last: The nodes after which it pauses with a checkpointer.
    """
    before, after = ([name for name in names if not any(of.has(name) for of in inner)] for names in pauses)
    after = [*dict.fromkeys([*after, *(last if checkpointer else ())])]
    return graph.compile(checkpointer=checkpointer, interrupt_before=before, interrupt_after=after)


def _state_of(node: "NodeFunction | InnerGraph") -> Mapping[str, Any] | None:
    """Return the keys of the state that a node asks for by its annotation; `None` if it asks for all, as LangGraph.

    An annotation with names that only its author's module has, or had, asks for all.
    """
    if isinstance(node, InnerGraph):
        return None
    with suppress(NameError, TypeError):
        kind = get_type_hints(node).get("state")
        if isinstance(kind, type) and hasattr(kind, "__total__"):
            return get_type_hints(kind)
    return None
