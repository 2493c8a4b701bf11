"""Regular expressions that are compiled when they are first used: a command imports hundreds, and most use few."""

import re
from typing import Any, cast


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of `re.compile` for the same arguments, compiled when it is first used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> Any:  # of attributes not in the instance yet
        vars(self)[name] = found = getattr(re.compile(*self._arguments), name)
        return found
