"""Wrong arguments of public functions, told in a sentence that names the right call."""

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, signature
from operator import index
from typing import Any, ParamSpec, TypeVar

from tertulia.state.errors import SettingError, UsageError
from tertulia.state.parameters import ALIASES, Parameters
from tertulia.state.text import shortened

P = ParamSpec("P")
Result = TypeVar("Result")
Made = TypeVar("Made")

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

#: What a seed is, for messages.
SEED = "a seed is an integer"

#: How settings are given, for a message.
BY_NAME = "parameters are given by name: settings={'temperature': 1.0}"

#: The first argument of a method, which no caller gives.
_OWN = ("self", "cls")

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


def texts_of(name: str, values: object) -> list[str]:
    """Return the texts of a list or another collection, or raise `SettingError` for anything else, as for one text."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise refusal(name, values, f"a list of texts is expected: {name}=['Anna Berg']", of_kind=False)
    texts = list(values)
    for text in texts:
        check_argument(name, text, str, "each is a text", optional=False)
    return texts


def whole_number(name: str, value: Any, expected: str) -> int:
    """Return an integer, also one of numpy's, or raise `SettingError` for anything else."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)
    except TypeError:
        raise refusal(name, value, expected, of_kind=False) from None


def check_texts(name: str, values: object, expected: str) -> None:
    """Raise `SettingError` for an argument that is not a mapping with texts as keys."""
    check_argument(name, values, Mapping, expected)
    if isinstance(values, Mapping):
        for key in values:
            if not isinstance(key, str):
                raise refusal(name, values, expected)


def with_named_arguments(function: Callable[P, Result]) -> Callable[P, Result]:
    """Return the function so that it refuses arguments that it does not have with a `UsageError` that names a remedy.

    A parameter of runs (`temperature=1`) is a setting; a name that is misspelt gets the nearest one. Fields that a
    function takes as `**fields` are refused by it. An `__init__` has the name of its class.
    """
    known = signature(function)
    takes_fields = any(each.kind is Parameter.VAR_KEYWORD for each in known.parameters.values())

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            known.bind(*args, **kwargs)
        except TypeError as error:
            problem = str(error)
        else:
            return function(*args, **kwargs)
        called_by = type(args[0]).__name__ if function.__name__ == "__init__" and args else function.__name__
        for name in () if takes_fields else kwargs:
            if name not in known.parameters:
                raise UsageError(_unknown(called_by, known, name, kwargs[name]))
            if known.parameters[name].kind is Parameter.VAR_POSITIONAL:
                raise UsageError(f"{called_by} takes {name} by place: {called_by}('dist2', 'sim')")
        raise UsageError(_misplaced(called_by, known, args, problem))

    return called


def with_named_fields(kind: type[Made]) -> type[Made]:
    """Return a dataclass that refuses fields that it does not have, as `with_named_arguments` does."""
    kind.__init__ = with_named_arguments(kind.__init__)  # type: ignore[method-assign]
    return kind


def _unknown(function: str, known: Signature, name: str, value: object) -> str:
    """Return a message on a keyword that a function does not have, with the keyword to write instead."""
    arguments = [argument for argument in known.parameters if argument not in _OWN]
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
    method = by_place[:1] in ([own] for own in _OWN)
    if len([*args]) > len(by_place) and named:
        first = ", ".join(by_place[method:]) or "none"
        return f"{function} takes {first} by place, and the others by their names, such as {named[0]}=…"
    return f"{function}: {problem}; help({function}) has the arguments"
