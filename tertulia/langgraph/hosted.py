"""Tertulia's graphs as LangGraph compiles them, with two differences for a parent's checkpoints and its cache."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.channels import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import All
from langgraph.typing import InputT, OutputT, StateT

from tertulia.langgraph.messages import messages_of
from tertulia.state.errors import UsageError, nearest_hint

#: The configurable that holds a parent's messages; LangGraph stores none that begins with two underscores.
_BESIDE = "__tertulia_messages"

#: LangGraph's own: how a node reads the state of its graph, of which the second argument are the channels; the saver of
#: a subgraph; and the path of a node that its graph's state has triggered, and no `Send`.
_READ, _SAVER, _BY_STATE = "__pregel_read", "__pregel_checkpointer", "__pregel_pull"


@dataclass(frozen=True)
class Beside:
    """The messages that a parent has given to a subgraph, beside its state.

    Attributes:
        messages: All of them.
        are_merged: Whether the parent merges those that are returned with its own, so that the new ones suffice.
        task: Tells the parent's task from all others; "": its checkpoint namespace does.
    """

    messages: Any
    are_merged: bool
    task: str


def task_of(config: RunnableConfig) -> str:
    """Return the name of the parent's task in which a step runs; "" without a parent."""
    configurable = config.get("configurable", {})
    beside = configurable.get(_BESIDE)
    task = beside.task if isinstance(beside, Beside) else ""
    return task or str(configurable.get("checkpoint_ns", "")).rpartition("|")[0]


def with_messages(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
    """Return the state of a step, with the messages of the parent.

    Beside them `returned` are those that are returned before the new ones, and `said` those that the graph has said.
    """
    beside = config.get("configurable", {}).get(_BESIDE)
    held = messages_of(state) if "messages" in state else []
    if not isinstance(beside, Beside):
        return {**state, "returned": held, "said": held}
    messages = messages_of({"messages": beside.messages})
    return {**state, "messages": messages, "returned": [] if beside.are_merged else messages, "said": held}


class HostedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph.

    1. As a subgraph it passes the parent's messages beside its state: else LangGraph would store all of them with each
       of its steps, and a thread would grow with their square.
    2. LangGraph's cache tells nodes by module and name, and not by the values that they close over. This name has the
       settings in it, so that graphs with different settings share no entry.
    """

    @property
    def __name__(self) -> str:
        return f"{self.name}:{getattr(self.builder, 'settings', '')}"

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Stream the steps; as LangGraph's."""
        yield from super().stream(*_apart(input, config), **options)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Stream the steps; as LangGraph's."""
        async for part in super().astream(*_apart(input, config), **options):
            yield part


def compile_hosted(
    graph: StateGraph[StateT, None, InputT, OutputT], settings: Mapping[str, Any], **options: Any
) -> CompiledStateGraph[StateT, None, InputT, OutputT]:
    """Compile a graph; the settings are all that its results depend on, besides its state.

    Pauses at steps of its inner graphs are those of their own compilation.

    Raises:
        UsageError: The checkpointer is none, or there is no step of a name at which the graph is to pause.
    """
    inner = [node.runnable for node in graph.nodes.values() if isinstance(node.runnable, CompiledStateGraph)]
    steps = dict.fromkeys([*graph.nodes, *(name for within in inner for name in within.builder.nodes)])
    for option in ("interrupt_before", "interrupt_after"):
        _check_pauses(option, options[option], list(steps))
        options[option] = pauses_at(graph, options[option])
    saver = options.get("checkpointer")
    if saver is not None and not isinstance(saver, bool | BaseCheckpointSaver):
        raise UsageError(
            f"checkpointer={saver!r:.60}: an open saver is expected, such as that of "
            "with tertulia.langgraph.checkpointer('tertulia.db') as saver"
        )
    graph.settings = _fingerprint(settings)  # type: ignore[attr-defined]  # LangGraph's copies of the graph keep it
    compiled = graph.compile(**options)
    compiled.__class__ = HostedGraph
    return compiled


def pauses_at(graph: StateGraph[Any, Any, Any, Any], given: str | Sequence[str]) -> All | list[str]:
    """Return those of the pauses that are at steps of a graph itself."""
    return "*" if given == "*" else [name for name in _names(given) if name in graph.nodes]


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _check_pauses(option: str, given: str | Sequence[str], steps: list[str]) -> None:
    for name in [] if given == "*" else _names(given):
        if name not in steps:
            raise UsageError(
                f"{option}={name}: there is no such step{nearest_hint(name, steps, otherwise='')}; "
                f"there are {', '.join(steps)}"
            )


def _fingerprint(settings: Mapping[str, Any]) -> str:
    """Return a hash of plain settings; of functions nothing can be told, so they are like no other ones."""
    try:
        return blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()
    except (TypeError, ValueError):
        return uuid4().hex


def _apart(input: Any, config: RunnableConfig | None) -> tuple[Any, RunnableConfig | None]:
    """Return the input of a subgraph without its messages, and a config with them."""
    found = config if config is not None else var_child_runnable_config.get() or {}
    configurable = found.get("configurable", {})
    if _READ not in configurable or not (given := _fields(input)) or "messages" not in given:
        return input, config
    # A graph that a function of the user's invokes has no config given, and returns all messages.
    messages = given.pop("messages")
    is_node = config is not None
    beside = Beside(messages, is_node and _merges(configurable[_READ]), _task(found, messages) if is_node else "")
    return given, {**found, "configurable": {**configurable, _BESIDE: beside}}


def _task(config: RunnableConfig, messages: Any) -> str:
    """Return a name of a task that time travel keeps, as LangGraph's own does not; "" if it could be another's, too."""
    configurable = config.get("configurable", {})
    place = str(configurable.get("checkpoint_ns", ""))
    path = (config.get("metadata") or {}).get("langgraph_path") or ("",)
    if not configurable.get(_SAVER) or "|" in place or path[0] != _BY_STATE:
        return ""
    ids = [str(getattr(message, "id", None)) for message in (messages if isinstance(messages, list | tuple) else ())]
    return "\n".join((str(configurable.get("thread_id")), place.partition(":")[0], *ids))


def _fields(input: Any) -> dict[str, Any]:
    if isinstance(input, Mapping):
        return dict(input)
    if is_dataclass(input) and not isinstance(input, type):
        return {field.name: getattr(input, field.name) for field in fields(input)}
    return dict(input) if hasattr(input, "model_fields_set") else {}


def _merges(read: Any) -> bool:
    """Whether the field `messages` of a parent has a reducer."""
    channels = read.args[1] if len(getattr(read, "args", ())) > 1 else {}
    return not isinstance(cast(Mapping[str, Any], channels).get("messages"), LastValue)
