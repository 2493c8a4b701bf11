"""Nodes, scorers and mechanisms out of plain functions: `@scorer`, `@node`, `@mechanism`.

Hand over their results: `tertulia.run(…, additions=tertulia.Additions(nodes={"score": my_scorer}, mechanisms=[…]))`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, overload

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.machinery.places import PLACES
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.state.cognition import Finding
from tertulia.state.errors import ExtensionError
from tertulia.state.records import Record
from tertulia.state.wrong_arguments import with_named_arguments
from tertulia.state.wrong_values import shown

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from tertulia.nodes.meeting.view import View
    from tertulia.state.context import Context

#: From the units of a prompt, and the runtime context if it takes two arguments, to a score of 0 or more for each: in
#: their order, or by unit id. It may be `async`.
ScoreFunction = Callable[..., Any]


@overload
def scorer(function: ScoreFunction, /) -> Node: ...
@overload
def scorer(
    *, name: str | None = None, description: str | None = None, timeout_s: float | None = None
) -> Callable[[ScoreFunction], Node]: ...
@with_named_arguments
def scorer(
    function: ScoreFunction | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_s: float | None = None,
) -> Node | Callable[[ScoreFunction], Node]:
    """Return a node that scores prompt units, from a function of the units; λ removes the highest scores first.

    ::

        @tertulia.scorer
        def longest(units):
            return [len(unit.text) for unit in units]

    Args:
        function: From the units of a prompt (`tertulia.state.records.Unit`), and the runtime context if it takes two
            arguments, to a score of 0 or more for each: in their order, or by unit id. It may be `async`.
        name: The node's name; the function's if it is not given.
        description: Its purpose, in a line; else the first line of the function's docstring.
        timeout_s: Seconds that it may take, its waiting for the model not counted.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    def declare(function: ScoreFunction) -> Node:
        called = _name_of(function, name)
        takes_context = not _takes(function, 1)
        if takes_context and not _takes(function, 2):
            _check_takes(function, 1, f"node {called!r}: a scorer takes the units, and may take the runtime context")

        @wraps(function)
        async def run(state: Any, runtime: "Runtime[Context]") -> dict[str, Any]:
            units = runtime.context.store.prompt(state["prompt"]).units
            result = function(units, runtime.context) if takes_context else function(units)
            scores = await result if inspect.isawaitable(result) else result
            if scores is None:
                raise ValueError(f"{called} returned None; it returns a score for each unit")
            if not isinstance(scores, Mapping):
                scores = list(scores)
                if len(scores) != len(units):
                    raise ValueError(f"{called} returned {len(scores)} scores for {len(units)} units")
                scores = dict(zip((unit.id for unit in units), scores, strict=True))
            return {"scores": {unit: float(score) for unit, score in scores.items()}, "scored_by": called}

        return Node(
            name=called,
            place="score",
            description=description or _first_line(function, called),
            run=_called_with(run, "state", "runtime"),
            reads=("prompt",),
            writes=("scores", "scored_by"),
            timeout_s=timeout_s,
        )

    return declare if function is None else declare(function)


@with_named_arguments
def node(
    place: str,
    *,
    reads: Sequence[str] = (),
    name: str | None = None,
    description: str | None = None,
    parameters: type[Record] | None = None,
    timeout_s: float | None = None,
) -> Callable[[Callable[..., Any]], Node]:
    """Return a decorator that makes a node for a place of the graphs from `function(state, runtime)`.

    Args:
        place: Its place in the graph (`tertulia nodes list` has them all).
        reads: State keys that it reads, besides those that tell the moment.
        name: The node's name; the function's if it is not given.
        description: Its purpose, in a line; else the first line of the function's docstring.
        parameters: The class of its parameters, each with a default.
        timeout_s: Seconds that it may take, its waiting for the model not counted.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    if not isinstance(place, str):
        raise ExtensionError(f"{place!r:.60}: a place is named by a text: @tertulia.node('decide_ending')")
    if isinstance(reads, str) or not isinstance(reads, Sequence):
        raise ExtensionError(f"a node of {place}: reads is a list of state keys: reads=[{reads!r}]")

    def declare(function: Callable[..., Any]) -> Node:
        known, called = PLACES.get(place), _name_of(function, name)
        _check_takes(function, 2, f"node {called!r}: its function takes the state and the runtime")
        return Node(
            name=called,
            place=place,
            description=description or _first_line(function, called),
            run=_as_async(function, "state", "runtime"),
            reads=tuple(reads),
            writes=(*known.writes, *known.may_write) if known else (),
            parameters=parameters,
            timeout_s=timeout_s,
        )

    return declare


@with_named_arguments
def mechanism(
    description: str,
    *,
    name: str | None = None,
    title: str | None = None,
    example: tuple[bool, str] = (False, "Nothing calls for it now."),
    condition: "Callable[[View], str | None] | None" = None,
    parameters: type[Record] | None = None,
    timeout_s: float | None = None,
) -> Callable[[Callable[..., Any]], Mechanism]:
    """Return a decorator that makes a mechanism from `function(view)`, which returns the agent's finding.

    A finding is a text, several, or a `Finding`; `None` and an empty text are none.

    ::

        @tertulia.mechanism("look for a question that nobody has answered yet")
        def open_question(view):
            asked = [line for line in view.lines() if line.text.endswith("?")]
            return f"{asked[-1].speaker} asked: {asked[-1].text}" if asked else None

    Args:
        description: Its purpose, in a sentence to the agent that chooses.
        name: The mechanism's name; the function's if it is not given.
        title: Its name in tables.
        example: Whether it is on in a made-up moment, and why, for models that learn from examples.
        condition: If given, the agent is not asked: the mechanism is on when this returns a reason.
        parameters: The class of its parameters, each with a default.
        timeout_s: Seconds that it may take, its waiting for the model not counted.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    if not isinstance(description, str):
        raise ExtensionError(f"{description!r:.60}: its description is a text: @tertulia.mechanism('what for')")

    def declare(function: Callable[..., Any]) -> Mechanism:
        called = _name_of(function, name)
        _check_takes(function, 1, f"mechanism {called!r}: its function takes the view")

        @wraps(function)
        async def run(view: "View") -> Finding:
            result = function(view)
            found = await result if inspect.isawaitable(result) else result
            if isinstance(found, Finding):
                return found
            is_list = isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping)
            lines = tuple(found) if is_list else (found,) if found else ()
            if not all(isinstance(line, str) for line in lines):
                returned = shown(lines if is_list else found)
                raise ValueError(f"{called} returned {returned}; it returns a text, a list of texts, or None")
            return Finding(lines=tuple(line for line in lines if line.strip()))

        return Mechanism(
            name=called,
            title=title or called.replace("_", " ").title(),
            description=description,
            example=example,
            run=_called_with(run, "view"),
            condition=condition,
            parameters=parameters,
            timeout_s=timeout_s,
        )

    return declare


def _as_async(function: Callable[..., Any], *arguments: str) -> Any:
    """Return a function as a coroutine function; `inspect` still finds its source."""
    if inspect.iscoroutinefunction(function):
        return function

    @wraps(function)
    async def run(*given: Any) -> Any:
        result = function(*given)
        return await result if inspect.isawaitable(result) else result

    return _called_with(run, *arguments)


def _called_with(function: Any, *arguments: str) -> Any:
    """Return a wrapper that tells its own arguments, and not those of the function that it wraps."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature([inspect.Parameter(argument, kind) for argument in arguments])
    return function


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError as error:
        raise ExtensionError(f"{function!r}: its arguments can't be read; write it as a plain function") from error
    return True


def _name_of(function: Any, name: str | None) -> str:
    """Return the name that is given, else that of the function.

    Raises:
        ExtensionError: It is no function, or one without a name.
    """
    if not callable(function):
        raise ExtensionError(f"{function!r:.60}: a function is expected")
    called = name or getattr(function, "__name__", None)
    if called is None:
        raise ExtensionError(f"{function!r:.60}: an object has no name as a function has; give one with name=")
    return called


def _check_takes(function: Callable[..., Any], count: int, problem: str) -> None:
    if not _takes(function, count):
        raise ExtensionError(f"{problem}, not {inspect.signature(function)}")


def _first_line(function: Callable[..., Any], name: str) -> str:
    """Return the first line of a function's docstring; if there is none, its name in words."""
    while isinstance(function, partial):
        function = function.func
    text = inspect.getdoc(function) or str(name).replace("_", " ")
    return text.strip().splitlines()[0].rstrip(".")
