"""Checks of the declarations of nodes and mechanisms; a wrong declaration is refused when it is made."""

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from tertulia.state.errors import ExtensionError
from tertulia.state.parameters import NodeSetting
from tertulia.state.records import Record

_NAME = re.compile(r"[a-z][a-z0-9_]*")

#: Names that can't be used: `--set` has another meaning for the first, and the others name steps in the store.
_TAKEN = ("nodes", "prepare", "bid", "floor")


def check_name(subject: str, name: Any) -> None:
    """Check a name for scenarios, settings, prompts and records."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ExtensionError(f"{subject} {name!r}: a name is of small letters, digits and _, and begins with a letter")
    if name in _TAKEN:
        raise ExtensionError(f"{subject} {name!r}: the name is taken; choose another")


def check_line(subject: str, field: str, text: Any) -> None:
    """Check that a text for prompts and tables is a line."""
    if not isinstance(text, str) or not text.strip() or len(text.splitlines()) != 1:
        raise ExtensionError(f"{subject}: {field} is one line of text, not {text!r:.60}")


def check_async(subject: str, function: Any, *arguments: str) -> None:
    """Check that a function is asynchronous and takes these positional arguments."""
    called = f"async def run({', '.join(arguments)})"
    if not callable(function):
        raise ExtensionError(f"{subject}: run is a function, `{called}`, not {function!r:.60}")
    inner = function if inspect.isfunction(function) or inspect.ismethod(function) else type(function).__call__
    if not (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner)):
        raise ExtensionError(f"{subject}: run is not async; write `{called}`")
    check_call(subject, "run", function, *arguments)


def check_call(subject: str, field: str, function: Callable[..., Any], *arguments: str) -> None:
    """Check that a function takes these positional arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise ExtensionError(
            f"{subject}: {field} is called with ({', '.join(arguments)}), which it does not take"
        ) from None


def check_parameters(subject: str, parameters: Any) -> None:
    """Check a class of parameters: each has a default, and takes a single value."""
    if parameters is None:
        return
    if not (isinstance(parameters, type) and issubclass(parameters, Record)):
        raise ExtensionError(
            f"{subject}: parameters is a class derived from tertulia.state.records.Record, not {parameters!r:.60}"
        )
    try:
        values = parameters().model_dump()
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ExtensionError(f"{subject}: the parameter {field!r} has no default that it takes; give it one") from None
    for name, value in values.items():
        if not isinstance(value, NodeSetting | None):
            raise ExtensionError(f"{subject}: the parameter {name!r} takes one value, not a {type(value).__name__}")


def check_limit(subject: str, timeout_s: Any) -> None:
    """Check a time limit in seconds; `None` for no limit."""
    if timeout_s is None:
        return
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s < math.inf:
        raise ExtensionError(f"{subject}: timeout_s is a number of seconds above 0, or None, not {timeout_s!r:.60}")
