"""Wrong arguments of public functions, told in a sentence that names the right call."""

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import ParamSpec, TypeVar

from tertulia.state.errors import SettingError, UsageError
from tertulia.state.parameters import ALIASES, Parameters
from tertulia.state.text import shortened

P = ParamSpec("P")
Result = TypeVar("Result")

#: Characters of a value that a message shows.
_SHOWN = 60

#: The names of arguments on the command line and in the settings, which users may try.
_MEANT = {
    **dict.fromkeys(("lambda", "lambda_", "lam", "λ"), "removal_factor"),
    **dict.fromkeys(("max_turns", "max_rounds", "turns"), "rounds"),
    "scenarios": "cases",
    **dict.fromkeys(("participants", "persons"), "people"),
}

#: The arguments that are parts of an object.
_OBJECTS = {
    **dict.fromkeys(("max_calls", "max_tokens", "max_cost", "prices"), ("budget", "Budget")),
    **dict.fromkeys(("nodes", "mechanisms", "extensions", "accept_changed"), ("additions", "Additions")),
}

#: How settings are given, for a message.
BY_NAME = "parameters are given by name: settings={'temperature': 1.0}"

#: Whom no function takes but as a part of a scenario.
_PEOPLE = ("people", "persons", "participants", "person")


def shown_value(value: object) -> str:
    """Return a value as Python has it, shortened for a message."""
    return shortened(repr(value), _SHOWN)


def refusal(name: str, value: object, expected: str, of_kind: bool = True) -> SettingError:
    """Return the error of an argument with a value that it can't have; `expected` names the right kind.

    Args:
        of_kind: Whether a text is of the right kind; else it has quotation marks, which tell `"3"` from 3.
    """
    shown = value if isinstance(value, str) and of_kind else repr(value)
    return SettingError(name, shortened(shown, _SHOWN), f": {expected}")


def check_argument(
    name: str, value: object, kind: type | tuple[type, ...], expected: str, optional: bool = True
) -> None:
    """Raise `SettingError` for an argument of another kind; `expected` is the message, such as `a label is a text`."""
    if not isinstance(value, kind) and not (optional and value is None):
        raise refusal(name, value, expected, of_kind=False)


def path_of(name: str, value: os.PathLike[str] | str) -> str:
    """Return a path or a text as text, or raise `SettingError` for anything else."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    try:
        if isinstance(path, str) and b"\0" not in os.fsencode(path):
            return path
    except UnicodeEncodeError:  # half a character
        pass
    raise refusal(name, value, "a path is a text, or a pathlib.Path")


def check_texts(name: str, values: object, expected: str) -> None:
    """Raise `SettingError` for an argument that is not a mapping with texts as keys."""
    check_argument(name, values, Mapping, expected)
    if isinstance(values, Mapping):
        for key in values:
            if not isinstance(key, str):
                raise refusal(name, values, expected)


def with_named_arguments(function: Callable[P, Result]) -> Callable[P, Result]:
    """Return the function so that it refuses arguments that it does not have with a `UsageError` that names a remedy.

    A parameter of runs (`temperature=1`) is a setting; a name that is misspelt gets the nearest one.
    """
    known = signature(function)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Result:
        for name in kwargs:
            if name not in known.parameters:
                raise UsageError(_unknown(function.__name__, known, name, kwargs[name]))
            if known.parameters[name].kind is Parameter.VAR_POSITIONAL:
                raise UsageError(f"{function.__name__} takes {name} by place: {function.__name__}('dist2', 'sim')")
        try:
            known.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(_misplaced(function.__name__, known, args, str(error))) from None
        return function(*args, **kwargs)

    return called


def _unknown(function: str, known: Signature, name: str, value: object) -> str:
    """Return a message on a keyword that a function does not have, with the keyword to write instead."""
    arguments = [argument for argument in known.parameters if argument != "self"]
    settings = [*Parameters.model_fields, *ALIASES] if "settings" in arguments else []
    if (meant := _MEANT.get(name)) in arguments:
        return f"{function} has no argument {name!r}; write {meant}={shown_value(value)}"
    if name in _OBJECTS and _OBJECTS[name][0] in arguments:
        argument, kind = _OBJECTS[name]
        return f"{function} has no argument {name!r}; write {argument}=tertulia.{kind}({name}={shown_value(value)})"
    if name in _PEOPLE and {"scenario", "cases"} & {*arguments}:
        return (
            f"{function} has no argument {name!r}; people make a scenario: {function}(tertulia.Meeting(…, people, …))"
        )
    if name in settings:
        return f"{name} is a setting: settings={{{name!r}: {shown_value(value)}}}"
    by_place = [each.name for each in known.parameters.values() if each.kind is Parameter.VAR_POSITIONAL]
    if by_place and get_close_matches(name, by_place, n=1):
        return f"{function} takes {by_place[0]} by place: {function}({shown_value(value)})"
    nearest = next(iter(get_close_matches(name, [*arguments, *settings], n=1, cutoff=0.6)), None)
    if nearest in arguments:
        hint = f" (did you mean {nearest!r}?)"
    elif nearest is not None:
        hint = f" (did you mean the setting {nearest!r}? settings={{{nearest!r}: {shown_value(value)}}})"
    else:
        hint = f" (known: {', '.join(arguments)})"
    return f"{function} has no argument {name!r}{hint}"


def _misplaced(function: str, known: Signature, args: Iterable[object], problem: str) -> str:
    """Return a message on arguments that are missing, or are given by their place and have none."""
    by_place = [name for name, each in known.parameters.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    named = [name for name, each in known.parameters.items() if each.kind is Parameter.KEYWORD_ONLY]
    method = by_place[:1] == ["self"]
    if len([*args]) > len(by_place) and named:
        first = ", ".join(by_place[method:]) or "none"
        return f"{function} takes {first} by place, and the others by their names, such as {named[0]}=…"
    return f"{function}: {problem}; help({function}) has the arguments"
