"""Modules that take long to import, imported when a test first uses them and not when it is collected."""

import importlib
from typing import Any


class _OnUse:
    """A module in name only, until an attribute is read."""

    __slots__ = ("_name",)  # so that none is set here: patch by the whole name, "package.module.attribute"

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "_mock_name" or attribute.startswith("__"):  # pytest asks, when it collects
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def on_use(name: str) -> Any:
    """Return a module that is imported at its first use."""
    return _OnUse(name)
