"""The right form for a wrong value: a sentence for each of pydantic's kinds of error, in one table.

A file, a parameter, an option and an argument all say it in these words; the caller puts the place before it.
"""

import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic_core import PydanticKnownError

from tertulia.state.errors import meant_number, nearest_hint

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 60
_shortened.maxlevel = 2

_NOWHERE = object()
_TEXT, _LIST, _FIELDS = "takes a text", "takes a list", "takes fields, each with its value"

#: The form that a value takes, by pydantic's type of error; names in braces are the error's other facts.
_TAKES = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "takes a whole number"),
    "int_parsing_size": "takes a whole number of fewer digits",
    **dict.fromkeys(("float_type", "float_parsing"), "takes a number"),
    "finite_number": "takes a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "takes true or false"),
    **dict.fromkeys(("string_type", "string_unicode", "bytes_type"), _TEXT),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), _LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), _FIELDS),
    "none_required": "takes nothing; leave it out",
    "greater_than": "takes more than {gt}",
    "greater_than_equal": "takes {ge} or more",
    "less_than": "takes less than {lt}",
    "less_than_equal": "takes {le} at most",
    "multiple_of": "takes multiples of {multiple_of}",
    "string_too_short": "takes {min_length} or more characters",
    "string_too_long": "takes {max_length} characters at most",
    "string_pattern_mismatch": "takes a text of the form {pattern}",
    "too_short": "needs {min_length} or more",
    "too_long": "takes {max_length} at most",
    **dict.fromkeys(("literal_error", "enum"), "takes {expected}"),
    "union_tag_invalid": "takes {expected_tags} as {discriminator}",
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), "takes a time (2024-05-14 09:30)"
    ),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), "takes a day (2024-05-14)"),
    **dict.fromkeys(("time_type", "time_parsing"), "takes a time of day (09:30)"),
    "missing": "is missing; add it",
    "extra_forbidden": "is not a field here",
}

#: Errors whose value is not shown: it is that of a record that lacks a field, or of a field that does not belong; or
#: the words of `worlds.yaml_file.complete_problem` have it if it helps.
_WITHOUT_VALUE = {"missing", "extra_forbidden", "complete"}


def shown(value: Any) -> str:
    """Return a value quoted and shortened, for a message."""
    return _shortened.repr(value)


def is_no_number(value: Any, annotation: Any) -> bool:
    """Whether a truth value stands for a number: pydantic would take `true` as 1."""
    return isinstance(value, bool) and not {int, float}.isdisjoint((annotation, *get_args(annotation)))


def number_checked(value: Any, annotation: Any) -> Any:
    """Return the value of a field; an error of pydantic's if a truth value stands for a number."""
    if is_no_number(value, annotation):
        is_whole = float not in (annotation, *get_args(annotation))
        raise PydanticKnownError("int_type" if is_whole else "float_type")
    return value


def value_problem(details: Mapping[str, Any]) -> str:
    """Return the form a value should have, and the value probably meant; the value is not named.

    Args:
        details: One of `ValidationError.errors()`.
    """
    return f"{_takes(details)}{_hint(details)}"


def wrong_value(details: Mapping[str, Any]) -> str:
    """Return the form a value should have, the value, and the one probably meant: `takes a number, not 'x'`."""
    kind, given = details["type"], details["input"]
    if kind in _WITHOUT_VALUE:
        return _takes(details)
    if kind in ("too_short", "string_too_short") and not given:
        return f"is empty; it {_takes(details)}"
    if kind in ("too_short", "too_long"):
        return f"{_takes(details)}, not {details['ctx']['actual_length']}"
    words = _takes(details)
    if isinstance(given, str) and shown(given) in words:  # those of a check of ours may have the value
        return words
    return f"{words}{', not ' if words.startswith('takes') else ': '}{shown(given)}{_hint(details)}"


def problems_of(errors: Iterable[Mapping[str, Any]], values: Any) -> dict[tuple[str | int, ...], Mapping[str, Any]]:
    """Return one of pydantic's errors by its path in the values; a value that may be of several types has one.

    Args:
        errors: `ValidationError.errors()`, with an error for each type of a union, named at the end of its path.
        values: The validated values.
    """
    found: dict[tuple[str | int, ...], Mapping[str, Any]] = {}
    for details in errors:
        place = details["loc"]
        while place and details["type"] not in _WITHOUT_VALUE and _at(values, place[:-1]) is details["input"]:
            place = place[:-1]
        known = found.get(place)
        both = details if known is None else {**known, "others": (*known.get("others", ()), details)}
        found[place] = both
    return found


def _at(values: Any, place: Iterable[str | int]) -> Any:
    """Return the value at a path; a marker of none if it leads nowhere."""
    for part in place:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return _NOWHERE
    return values


def _takes(details: Mapping[str, Any]) -> str:
    words = _TAKES.get(details["type"])
    if words is None:  # of a check of ours, in words of ours, or a kind that no field of ours has
        return str(details["msg"]).removeprefix("Value error, ").replace("Input should be", "takes")
    known = details.get("ctx", {}).items()
    words = words.format_map({name: f"{value:g}" if isinstance(value, float) else value for name, value in known})
    kinds = [words, *(_takes(other).removeprefix("takes ") for other in details.get("others", ()))]
    if "a number" in kinds:
        kinds = [kind for kind in kinds if not kind.endswith("a whole number")]
    *but_one, last = dict.fromkeys(kinds)
    return f"{', '.join(but_one)} or {last}" if but_one else last


def _hint(details: Mapping[str, Any]) -> str:
    """Return the probable meaning of a value: a point for a comma, quotes around a text, a name spelt like it."""
    given, words = details["input"], _TAKES.get(details["type"], "")
    if details["type"] in ("literal_error", "enum"):
        return nearest_hint(str(given)[:100], re.findall(r"'([^']*)'", details["ctx"]["expected"]), otherwise="")
    if words == _TEXT and isinstance(given, bool | int | float):
        return " (if this is one, put it in quotes)"
    if words == _LIST and isinstance(given, str | int | float):
        return f" (did you mean [{given}]?)" if len(str(given)) <= _shortened.maxstring else ""
    meant = meant_number(given) if words == "takes a number" else None
    return f" (did you mean {meant}?)" if meant else ""
