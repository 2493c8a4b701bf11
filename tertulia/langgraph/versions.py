"""Warn, once, where LangGraph has another version than those that were tested."""

import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from tertulia.langgraph.errors import UntestedVersionWarning

_PACKAGE = "langgraph"


@cache
def warn_if_untested() -> None:
    """Warn where the installed LangGraph is outside of the range that this distribution was tested with."""
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
    for requirement in map(Requirement, declared):
        if requirement.name == _PACKAGE and requirement.marker is None:
            is_tested = requirement.specifier.contains(installed, prereleases=True)
            return None if is_tested else str(requirement.specifier)
    return None
