"""Prompt texts are files with declared variables; a variable that is not declared, or not given, is an error."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from string import Template

import yaml


class PromptTemplate:
    """The entries of a template file, by `section.entry` or by `entry`.

    Raises:
        ValueError: On reading, if an entry uses a variable that the file does not declare, or holds a stray `$`.
    """

    def __init__(self, name: str, text: str) -> None:
        document = yaml.safe_load(text)
        declared = set(document.pop("variables"))
        self.name, self._entries = name, _flatten(document)
        for key, entry in self._entries.items():
            if not entry.is_valid():
                raise ValueError(f"{name}: entry {key!r} holds a $ that begins no variable; write $$ for the sign")
            if unknown := set(entry.get_identifiers()) - declared:
                raise ValueError(f"{name}: entry {key!r} uses variables that are not declared: {sorted(unknown)}")

    def __contains__(self, entry: str) -> bool:
        return entry in self._entries

    def fill(self, entry: str, variables: Mapping[str, object]) -> str:
        """Return an entry with its variables put in; `KeyError` for a missing entry or variable."""
        return self._entries[entry].substitute({name: str(value) for name, value in variables.items()})


@lru_cache
def template(name: str) -> PromptTemplate:
    """Return the template of that name, `prompts/templates/<name>.yaml`."""
    file = resources.files("prompts").joinpath("templates", f"{name}.yaml")
    return PromptTemplate(name, file.read_text(encoding="utf-8"))


def _flatten(document: Mapping[str, object], prefix: str = "") -> dict[str, Template]:
    entries: dict[str, Template] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            entries |= _flatten(value, f"{prefix}{key}.")
        else:
            entries[f"{prefix}{key}"] = Template(str(value))
    return entries
