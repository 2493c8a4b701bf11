"""Guarding: a user's node sees the keys that it declares, and an update that its place can't take stops the run.

It stops with one line that names the node, before anything is checkpointed. Tests hold shipped nodes to the same.
"""

import copy
import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from tertulia.nodes.machinery.node import Node, NodeFunction
from tertulia.nodes.machinery.places import PLACES, TEXTS, Place
from tertulia.nodes.machinery.time_limit import time_limit
from tertulia.nodes.meeting.observed import observed, store_texts
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, NodeError, StorageError
from tertulia.state.text import first_line
from tertulia.state.wrong_values import wrong_value

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


@lru_cache(maxsize=64)  # graphs are kept by the functions of their nodes
def guarded(node: Node) -> NodeFunction:
    """Return a user's node as a graph runs it: held to its declaration, and to its place.

    The function raises `NodeError` if the node does not keep to it; failures of the model and the store are theirs.
    """
    place = PLACES[node.place]

    async def run(state: Mapping[str, Any], runtime: "Runtime[Context]") -> dict[str, Any]:
        shown = {key: copy.deepcopy(state[key]) for key in (*place.given, *node.reads) if key in state}
        shown |= observed(node.reads, state, runtime.context)
        before = copy.deepcopy(shown)
        update = await _within_limit(node, shown, runtime)
        if shown != before:
            raise _complaint(node, state, "changed the state that it was given; return what is new instead")
        try:
            checked = _checked(node, update, state, runtime.context)
        except ValueError as problem:
            raise _complaint(node, state, str(problem)) from None
        if texts := {key: checked.pop(key) for key in TEXTS if key in checked}:
            store_texts(node.place, node.name, texts, {**state, **checked}, runtime.context)
        return checked

    run.__name__ = node.place
    return run


async def _within_limit(node: Node, state: dict[str, Any], runtime: "Runtime[Context]") -> Any:
    try:
        async with time_limit(node.timeout_s, runtime.context) as context:
            return await node.run(state, replace(runtime, context=context))
    except (ModelError, StorageError, NodeError):
        raise
    except TimeoutError as error:
        limit = node.timeout_s
        words = failure(error, node.run) if limit is None else f"took longer than its limit of {limit:g} s"
        raise _complaint(node, state, words) from error
    except KeyError as error:
        key = error.args[0] if error.args else None
        if isinstance(key, str) and key in PLACES[node.place].types and key not in state:
            why = "nothing has written it at this point" if key in node.reads else f"add it to its reads=[{key!r}]"
            raise _complaint(node, state, f"reads {key!r}: {why}") from error
        raise _complaint(node, state, failure(error, node.run)) from error
    except Exception as error:
        raise _complaint(node, state, failure(error, node.run)) from error


def _checked(node: Node, update: Any, state: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return an update as it is checkpointed; `ValueError` says why its place can't take it."""
    place = PLACES[node.place]
    if not isinstance(update, dict):
        raise ValueError(f"returned {_kind(update)}, not a dict of state keys")
    for key in update:
        if key not in node.writes:
            raise ValueError(f"returned {key!r:.60}; it may return {', '.join(node.writes) or 'nothing'}")
    if missing := [key for key in place.writes if key not in update]:
        raise ValueError(f"did not return {', '.join(missing)}, which {node.place} has to")
    checked = {key: _typed(place, key, value) for key, value in update.items()}
    if (misfit := place.fits(checked, state, context)) is not None:
        raise ValueError(misfit)
    return checked


def _typed(place: Place, key: str, value: Any) -> Any:
    """Return a value as the state has it; `ValueError` says why it can't be."""
    plain = _plain(value, key)
    try:
        typed = _adapter(place.name, key).validate_python(plain, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        location = "".join(f"[{part!r}]" for part in first["loc"])
        raise ValueError(f"{key}{location} {wrong_value(first)}") from None
    if typed != plain:
        raise ValueError(f"{key} has more in it than the state keeps")
    return typed


@lru_cache
def _adapter(place: str, key: str) -> TypeAdapter[Any]:
    return TypeAdapter(PLACES[place].types[key])


def _plain(value: Any, location: str) -> Any:
    """Return a value as plain JSON gives it back, tuples as lists; `ValueError` names a value that JSON can't hold."""
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise ValueError(f"{location} has the key {key!r:.60}, {_kind(key)}; keys are str")
        return {key: _plain(item, f"{location}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{location}[{index}]") for index, item in enumerate(value)]
    if value is not None and type(value) not in (str, bool, int, float):
        raise ValueError(
            f"{location} is {_kind(value)}, which can't be checkpointed; make it plain JSON, as float(x) does"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{location} is {value}; numbers are finite")
    return value


def _kind(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__name__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__name__}"


def failure(error: BaseException, function: Callable[..., Any]) -> str:
    """Return on one line the error of a user's function, and the line of their file."""
    message = first_line(error)
    if isinstance(error, ValidationError):
        message = wrong_value(error.errors()[0])
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)  # an object may be one
    stack = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in stack if code and frame.filename == code.co_filename]
    place = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return f"failed: {type(error).__name__}{f': {message}' if message else ''}{place}"


def _complaint(node: Node, state: Mapping[str, Any], words: str) -> NodeError:
    return NodeError(
        f"round {state['round']}: the node {node.name!r}, in the place {node.place}, {words} "
        "(`tertulia nodes check` tries it out)"
    )
