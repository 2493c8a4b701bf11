"""Prompt texts are files with declared variables; a variable that is not declared, or not given, is an error."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from string import Template
from typing import Any

import yaml

from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import Wording


def read_yaml(text: str) -> Any:
    """Return the value of a shipped YAML file; read by libyaml if PyYAML has it, which takes a tenth of the time."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class PromptTemplate:
    """The entries of a template file, by `section.entry` or by `entry`.

    Raises:
        ValueError: On reading, if an entry uses a variable that the file does not declare, or holds a stray `$`.
    """

    def __init__(
        self, name: str, text: str, original: "PromptTemplate | None" = None, section: str | None = None
    ) -> None:
        """Read a template file.

        Args:
            original: The English template that has the entries that this one lacks.
            section: The part of the file that is read; `None`: the whole.
        """
        document = read_yaml(text)
        self._original = original
        declared = set(document.pop("variables"))
        document = document if section is None else document.get(section, {})
        self.name, self._entries = name, _flatten(document)
        for key, entry in self._entries.items():
            if not entry.is_valid():
                raise ValueError(f"{name}: entry {key!r} holds a $ that begins no variable; write $$ for the sign")
            if unknown := set(entry.get_identifiers()) - declared:
                raise ValueError(f"{name}: entry {key!r} uses variables that are not declared: {sorted(unknown)}")

    def __contains__(self, entry: str) -> bool:
        return entry in self._entries or (self._original is not None and entry in self._original)

    @property
    def entries(self) -> frozenset[str]:
        """The entries of the file itself."""
        return frozenset(self._entries)

    def fill(self, entry: str, variables: Mapping[str, object]) -> str:
        """Return an entry with its variables put in; `KeyError` for a missing entry or variable."""
        if self._original is not None and entry not in self._entries:
            return self._original.fill(entry, variables)
        return self._entries[entry].substitute({name: str(value) for name, value in variables.items()})


@lru_cache
def template(name: str, language: str = DEFAULT, wording: Wording = "own") -> PromptTemplate:
    """Return the template of that name, `prompts/templates/<name>.yaml`.

    In another language it is `prompts/templates/<language>/<name>.yaml`; missing entries are English. In another
    wording it is the section of that name of `prompts/templates/<wording>.yaml`; missing entries are in the project's
    words.

    Raises:
        ValueError: The wording is in English only.
    """
    folder = resources.files("tertulia.prompts").joinpath("templates")
    if wording != "own":
        if language != DEFAULT:
            raise ValueError(f"wording={wording} is in English only, and not in {language}")
        text = (folder / f"{wording}.yaml").read_text(encoding="utf-8")
        return PromptTemplate(f"{wording}: {name}", text, template(name), name)
    original = None if language == DEFAULT else template(name)
    file = (folder if original is None else folder / language) / f"{name}.yaml"
    if original is not None and not file.is_file():
        return original
    return PromptTemplate(name, file.read_text(encoding="utf-8"), original)


def is_translated(name: str, language: str) -> bool:
    """Whether a template has all its entries in a language."""
    return template(name).entries <= template(name, language).entries and (
        language == DEFAULT or template(name, language) is not template(name)
    )


def has_templates(language: str) -> bool:
    """Whether there are any templates in a language."""
    return language == DEFAULT or (resources.files("tertulia.prompts") / "templates" / language).is_dir()


def _flatten(document: Mapping[str, object], prefix: str = "") -> dict[str, Template]:
    entries: dict[str, Template] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            entries |= _flatten(value, f"{prefix}{key}.")
        else:
            entries[f"{prefix}{key}"] = Template(str(value))
    return entries
