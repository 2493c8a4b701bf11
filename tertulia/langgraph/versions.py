"""Warn, once, if LangGraph has another version than those that were tested."""

import operator
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version

from tertulia.langgraph.errors import UntestedVersionWarning

_PACKAGE = "langgraph"

_Release = tuple[int, ...]
_COMPARISONS: Mapping[str, Callable[[_Release, _Release], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@cache
def warn_if_untested() -> None:
    """Warn if the installed LangGraph is outside of the range that this distribution was tested with."""
    try:
        installed, declared = version(_PACKAGE), requires("tertulia") or ()
    except PackageNotFoundError:
        return
    if (tested := untested(installed, tuple(declared))) is not None:
        warnings.warn(
            f"langgraph {installed} is installed, and Tertulia was tested with {tested}; it may work, or not: where it "
            f"does not, pip install 'langgraph{tested}'",
            UntestedVersionWarning,
            stacklevel=3,
        )


def untested(installed: str, declared: tuple[str, ...]) -> str | None:
    """Return the tested versions that a distribution declares, if the installed version is none of them.

    Args:
        declared: The requirements of the distribution, as its metadata has them.
    """
    for requirement in declared:
        if (found := re.fullmatch(rf"{_PACKAGE}(?![\w.-])\s*\(?([^;()]*)\)?\s*", requirement)) is not None:
            bounds = [bound.strip() for bound in found[1].split(",") if bound.strip()]
            return None if all(_keeps(installed, bound) for bound in bounds) else ",".join(bounds)
    return None


def _keeps(installed: str, bound: str) -> bool:
    """Return whether a version keeps to a bound such as `>=1.1`; an unreadable bound does not count."""
    if (found := re.fullmatch(r"(==|!=|>=|<=|>|<)\s*([0-9.]+)(\.\*)?", bound)) is None:
        return True
    has, asked = _release(installed), _release(found[2])
    if found[3]:
        has = has[: len(asked)]
    return _COMPARISONS[found[1]](has, asked)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without zeros at their end, which mean nothing."""
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[^0-9.]", version)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
