"""What a node is that can stand in a place of the graphs, and what a place asks of it.

A shipped node is held to this by tests. One of the user's own is *guarded*: it sees the keys that it declares, and an
update that its place can't take stops the run with words, before anything is checkpointed.
"""

import copy
import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_type_hints

from pydantic import TypeAdapter, ValidationError

from nodes.machinery.declared import check_async, check_limit, check_line, check_name, check_parameters
from nodes.machinery.time_limit import time_limit
from state.context import Context
from state.errors import ExtensionError, ModelError, NodeError, StorageError, nearest_hint
from state.graph_state import CognitionInput, CognitionState, GroupState, UtteranceInput, UtteranceState
from state.records import Record

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


class NodeFunction(Protocol):
    """A node as a graph runs it."""

    async def __call__(self, state: Any, runtime: "Runtime[Context]") -> Any:
        """Return the update of the state."""


GraphName = Literal["utterance", "cognition", "group_chat"]

#: By graph: the state, and the keys of it that tell every node the moment.
_STATES: Mapping[GraphName, tuple[type, tuple[str, ...]]] = {
    "utterance": (UtteranceState, tuple(UtteranceInput.__annotations__)),
    "cognition": (CognitionState, tuple(CognitionInput.__annotations__)),
    "group_chat": (GroupState, ("round", "turn", "present", "sim_time_s", "silence_s")),
}


@dataclass(frozen=True)
class Place:
    """A place in a graph: what a node there has to write.

    Attributes:
        name: The name of the graph's node; `after_…` is empty unless a node of the user's own stands there.
        graph: In which graph.
        writes: State keys that a node here always writes.
        may_write: State keys that it may write besides.
        fits: From the update, the state and the context to what is wrong with the values, if anything is.
    """

    name: str
    graph: GraphName
    writes: tuple[str, ...]
    may_write: tuple[str, ...] = ()
    fits: Callable[[Mapping[str, Any], Mapping[str, Any], Context], str | None] = lambda update, state, context: None

    @property
    def given(self) -> tuple[str, ...]:
        """The state keys that every node here is given, declared or not: those that tell the moment."""
        return _STATES[self.graph][1]

    @property
    def types(self) -> Mapping[str, Any]:
        """The type of every key of the state."""
        return _types_of(self.graph)


@lru_cache
def _types_of(graph: GraphName) -> Mapping[str, Any]:
    return get_type_hints(_STATES[graph][0])


@lru_cache
def _adapter(graph: GraphName, key: str) -> TypeAdapter[Any]:
    return TypeAdapter(_types_of(graph)[key])


def _scores_fit(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    scores, units = update["scores"], [unit.id for unit in context.store.prompt(state["prompt"]).units]
    if scores is None or update["scored_by"] is None:
        return "scores and scored_by say what was scored and by whom; None stands for neither here"
    if missing := [unit for unit in units if unit not in scores]:
        return f"scores has none for {len(missing)} of {len(units)} units, the first of them {missing[0]!r}"
    if unknown := next((unit for unit in scores if unit not in units), None):
        return f"scores has one for {unknown!r}, which is no unit of the prompt"
    below = next((unit for unit, score in scores.items() if score < 0), None)
    return None if below is None else f"scores[{below!r}] is {scores[below]}; a score is 0 or more"


def _removed_fit(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    units = {unit.id: unit for unit in context.store.prompt(state["prompt"]).units}
    for removed in update["removed"]:
        if removed not in units:
            return f"removed has {removed!r}, which is no unit of the prompt"
        if units[removed].kind == "item" and not units[removed].removable:
            return f"removed has {removed!r}, which can't be removed"
    return None


def _judgement_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    judged, before = update["inconsistency"], state["inconsistency"]
    if judged[:-1] != before or len(judged) != len(before) + 1:
        return "inconsistency is what it was, with the figure of the candidate at hand after it"
    if update["conflict"] and len(before) >= context.of(state["speaker"]).parameters.revisions_max:
        return "conflict is True where no backup is left, and nothing may be rewritten (revision, max_rollbacks)"
    return None


def _floor_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    if update["speaker"] and update["speaker"] not in state["present"]:
        return f"speaker is {update['speaker']!r}, who is not there"
    if update["sim_time_s"] < state["sim_time_s"]:
        return "sim_time_s runs backwards"
    return None


def _bid_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    name = state["agent"]
    wrong = next((key for key in ("minds", "bids") if list(update[key]) != [name]), None)
    return None if wrong is None else f"{wrong} has one entry, the agent's own, {name!r}"


#: The places, in the order in which the graphs go through them. What is not here keeps the books.
PLACES: Mapping[str, Place] = {
    place.name: place
    for place in (
        Place("perceive", "cognition", ("mind",)),
        Place("after_perceive", "cognition", (), ("mind",)),
        Place("choose_mechanisms", "cognition", ("active",), ("mind",)),
        Place("run_mechanisms", "cognition", ("mind",)),
        Place("assess", "cognition", ("mind",)),
        Place("after_assess", "cognition", (), ("mind",)),
        Place("decide", "cognition", ("minds", "bids"), fits=_bid_fits),
        Place("race", "group_chat", ("speaker", "sim_time_s", "minds"), fits=_floor_fits),
        Place("retrieve_memory", "utterance", ("prompt", "scores", "scored_by", "removed", "scoring_wanted")),
        Place("vary_prompt", "utterance", ("prompt",)),
        Place("score", "utterance", ("scores", "scored_by"), fits=_scores_fit),
        Place("prune", "utterance", ("removed",), fits=_removed_fit),
        Place(
            "generate",
            "utterance",
            ("attempt", "inconsistency", "conflict", "judged_by", "judging_wanted"),
            ("set_aside",),
        ),
        Place("judge", "utterance", ("inconsistency", "conflict", "judged_by"), fits=_judgement_fits),
        Place("choose_revision", "utterance", ("rewritable",)),
        Place("rewrite", "utterance", ("attempt", "set_aside")),
        Place("roll_back", "utterance", ("attempt",), ("set_aside",)),
        Place("select_candidate", "utterance", ("chosen", "rollbacks")),
        Place("decide_ending", "utterance", ("ended",)),
    )
}


@dataclass(frozen=True)
class Node:
    """A step of a graph that can be chosen by name.

    Attributes:
        name: Its key in scenarios and settings.
        place: Where it stands, one of `PLACES`: in the place of a shipped node, or after one.
        description: What it does, in a line.
        run: From the state and the runtime to the update: `async def run(state, runtime)`. It must not change the
            state, nor block: what computes for long belongs in a thread.
        reads: State keys that it reads, besides those that tell the moment (`Place.given`).
        writes: State keys that it may write; those that its place asks for are always in the update.
        parameters: The class of its parameters, each with a default; `Context.settings` gives them.
        timeout_s: Seconds that it may take, its waiting for the model not counted; `None`: as long as it takes.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    name: str
    place: str
    description: str
    run: NodeFunction
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    parameters: type[Record] | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        check_name("node", self.name)
        what = f"node {self.name!r}"
        if self.place not in PLACES:
            raise ExtensionError(f"{what}: there is no place {self.place!r:.60}{nearest_hint(str(self.place), PLACES)}")
        check_line(what, "description", self.description)
        check_async(what, self.run, "state", "runtime")
        check_parameters(what, self.parameters)
        check_limit(what, self.timeout_s)
        place = PLACES[self.place]
        for field, keys, known in (
            ("reads", self.reads, tuple(place.types)),
            ("writes", self.writes, (*place.writes, *place.may_write)),
        ):
            if not isinstance(keys, tuple):
                raise ExtensionError(f"{what}: {field} is a tuple of state keys, not {keys!r:.60}")
            for key in keys:
                if key not in known:
                    raise ExtensionError(
                        f"{what}: {field} has {key!r}, which {self.place} does not have{nearest_hint(str(key), known)}"
                    )
        if missing := [key for key in place.writes if key not in self.writes]:
            raise ExtensionError(f"{what}: a node in the place of {self.place} writes {', '.join(missing)} as well")


# --- guarding -------------------------------------------------------------------------------------------------------


def guarded(node: Node) -> NodeFunction:
    """Return a node of the user's own as a graph runs it: held to what it declares, and to its place.

    The function raises `NodeError` where the node does not keep to it; failures of the model and the store are theirs.
    """
    place = PLACES[node.place]

    async def run(state: Mapping[str, Any], runtime: "Runtime[Context]") -> dict[str, Any]:
        shown = {key: copy.deepcopy(state[key]) for key in (*place.given, *node.reads) if key in state}
        before = copy.deepcopy(shown)
        if node.place == "perceive":  # the duties of these two places, lest others wait for calls that never come
            runtime.context.broker.seat(state["round"], state["present"])
        update = await _within_limit(node, shown, runtime)
        if node.place == "decide":
            runtime.context.broker.leave(state["agent"])
        if shown != before:
            raise _complaint(node, state, "changed the state that it was given; return what is new instead")
        try:
            return _taken(node, update, state, runtime.context)
        except ValueError as problem:
            raise _complaint(node, state, str(problem)) from None

    run.__name__ = node.place
    return run


async def _within_limit(node: Node, state: dict[str, Any], runtime: "Runtime[Context]") -> Any:
    try:
        async with time_limit(node.timeout_s, runtime.context) as context:
            return await node.run(state, replace(runtime, context=context))
    except (ModelError, StorageError, NodeError):
        raise
    except TimeoutError as error:
        words = (
            failure(error, node.run)
            if node.timeout_s is None
            else f"took longer than its limit of {node.timeout_s:g} s"
        )
        raise _complaint(node, state, words) from error
    except KeyError as error:
        key = error.args[0] if error.args else None
        if isinstance(key, str) and key in PLACES[node.place].types and key not in state:
            why = "nothing has written it at this point" if key in node.reads else "declare it in reads"
            raise _complaint(node, state, f"reads {key!r}: {why}") from error
        raise _complaint(node, state, failure(error, node.run)) from error
    except Exception as error:
        raise _complaint(node, state, failure(error, node.run)) from error


def _taken(node: Node, update: Any, state: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return an update as it is checkpointed; `ValueError` says why its place can't take it."""
    place = PLACES[node.place]
    if not isinstance(update, dict):
        raise ValueError(f"returned {_kind(update)}, not a dict of state keys")
    for key in update:
        if key not in node.writes:
            raise ValueError(f"wrote {key!r:.60}, which it does not declare in writes")
    if missing := [key for key in place.writes if key not in update]:
        raise ValueError(f"did not write {', '.join(missing)}, which {node.place} has to")
    taken = {key: _plain(value, key) for key, value in update.items()}
    for key, value in taken.items():
        try:
            fitting = _adapter(place.graph, key).validate_python(value, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            at, shown = "".join(f"[{part!r}]" for part in first["loc"]), f"{first['input']!r:.60}"
            raise ValueError(f"{key}{at} is {shown}: {first['msg']}") from None
        if fitting != value:
            raise ValueError(f"{key} has more in it than the state keeps")
        taken[key] = fitting
    if (misfit := place.fits(taken, state, context)) is not None:
        raise ValueError(misfit)
    return taken


def _plain(value: Any, at: str) -> Any:
    """Return a value as plain JSON gives it back, tuples as lists; `ValueError` names what JSON can't hold."""
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise ValueError(f"{at} has the key {key!r:.60}, {_kind(key)}; keys are str")
        return {key: _plain(item, f"{at}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{at}[{index}]") for index, item in enumerate(value)]
    if value is not None and type(value) not in (str, bool, int, float):
        raise ValueError(f"{at} is {_kind(value)}, which can't be checkpointed; make it plain JSON, as float(x) does")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{at} is {value}; numbers are finite")
    return value


def _kind(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__name__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__name__}"


def failure(error: BaseException, function: Callable[..., Any]) -> str:
    """Return what a function of the user's own raised, and the line of their file, on one line."""
    first_line = next(iter(str(error).splitlines()), "")
    if isinstance(error, ValidationError):
        first_line = error.errors()[0]["msg"].removeprefix("Value error, ")
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)  # an object may be one
    frames = [one for one in traceback.extract_tb(error.__traceback__) if code and one.filename == code.co_filename]
    place = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return f"failed: {type(error).__name__}{f': {first_line}' if first_line else ''}{place}"


def _complaint(node: Node, state: Mapping[str, Any], words: str) -> NodeError:
    return NodeError(
        f"round {state['round']}: the node {node.name!r}, in the place {node.place}, {words} "
        "(`tertulia nodes check` tries it out)"
    )
