"""Lorebooks, in a card and of their own: entries that come to mind when one of their keys is said.

Keys are words. Regular expressions of a file are never run: they are listed, and their entry is remembered as any
other. Entries come in the order of the book.
"""

import re
from collections.abc import Mapping
from typing import Any

from tertulia.state.text import one_line
from tertulia.worlds.characters.draft import EMPTY, OF_FILE, OF_PROGRAM, Draft, in_words
from tertulia.worlds.characters.examples import is_conversation
from tertulia.worlds.characters.facts import facts_of, in_a_line
from tertulia.worlds.characters.rules import Rule, facts, known, listed, take

_DECORATOR = re.compile(r"^\s*@@@?[a-z_]+[^\n]*$", re.MULTILINE)
_PATTERN = re.compile(r"/.+/[a-z]*", re.DOTALL)

#: Fields of an entry by their names in lorebooks of several programs.
_NAMES = {
    **{"key": "keys", "keysecondary": "secondary_keys", "order": "insertion_order"},
    **{"text": "content", "entry": "content", "keywords": "keys", "forceActivation": "constant"},
}

#: Fields of an entry; its order is kept, and `_entry` takes the others that are known.
_ENTRY: dict[str, Rule] = {
    **dict.fromkeys(("insertion_order", "content", "keys", "enabled", "disable", "constant"), known),
    **dict.fromkeys(("comment", "name"), listed(OF_FILE)),
}


def is_lorebook(value: Any) -> bool:
    """Return whether a JSON value is a lorebook of its own."""
    if not isinstance(value, Mapping):
        return False
    if value.get("spec") == "lorebook_v3":
        return isinstance(value.get("data"), Mapping)
    entries = value.get("entries")
    entries = list(entries.values()) if isinstance(entries, Mapping) else entries
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping) and {"content", "keys"} <= {_NAMES.get(key, key) for key in entry}
        for entry in entries
    )


def read_lorebook(book: Mapping[str, Any]) -> Draft:
    """Return the entries of a lorebook of its own, for the people of other files."""
    data = book["data"] if isinstance(book.get("data"), Mapping) else book
    draft = Draft("")
    lorebook(draft, data, "")
    if data is not book:
        take(draft, book, {"spec": known, "data": known}, listed(OF_PROGRAM))
    return draft


def lorebook(draft: Draft, value: Any, place: str) -> None:
    """Take a lorebook: constant entries as facts, others as memories with their keys."""
    if not isinstance(value, Mapping):
        draft.leave(place, value, OF_PROGRAM)
        return
    at = f"{place}." if place else ""
    about: dict[str, Rule] = {"entries": known, "name": listed(OF_FILE), "description": listed(OF_FILE)}
    take(draft, value, about, listed(OF_PROGRAM), at)
    entries = value.get("entries") or []
    found = list(entries.values()) if isinstance(entries, Mapping) else entries
    if not isinstance(found, list):
        draft.leave(f"{at}entries", found, OF_PROGRAM)
        return
    named: list[dict[str, Any]] = []
    for entry in found:
        if isinstance(entry, Mapping):
            named.append({_NAMES.get(str(key), str(key)): part for key, part in entry.items()})
        else:
            draft.leave(f"{at}entries.*", entry, OF_PROGRAM)
    for entry in sorted(named, key=_order):
        _entry(draft, entry, f"{at}entries.*.")


def _order(entry: Mapping[str, Any]) -> float:
    order = entry.get("insertion_order")
    return order if isinstance(order, int | float) else 100


def _entry(draft: Draft, entry: Mapping[str, Any], place: str) -> None:
    content = in_words(entry.get("content") or "")
    take(draft, entry, _ENTRY, listed(OF_PROGRAM), place)
    keys = _keys(entry.get("keys"))
    if entry.get("enabled") is False or entry.get("disable") is True:
        draft.leave(f"{place}content", content, "an entry that is switched off")
        draft.leave(f"{place}keys", keys, "an entry that is switched off")
        return
    for decorator in _DECORATOR.findall(content):
        draft.leave(f"{place}content", decorator.strip(), "a decorator")
    content = _DECORATOR.sub("", content)
    patterns = [key for key in keys if entry.get("use_regex") is True or _PATTERN.fullmatch(key)]
    draft.leave(f"{place}keys", patterns, "a regular expression, which is not run")
    words = [key for key in (one_line(draft.words(key, f"{place}keys")) for key in keys if key not in patterns) if key]
    if entry.get("constant") is True:
        facts(draft, content, f"{place}content")
        draft.leave(f"{place}keys", keys, "keys of an entry that always holds")
        return
    told = draft.words(content, f"{place}content")
    text = one_line(told) if is_conversation(content) else in_a_line(facts_of(told, draft.name))
    if not text:
        draft.leave(f"{place}keys", keys, "keys of an entry without a text")
        return
    memories = draft.values.setdefault("memories", [])
    memory = {"text": text, "keys": list(dict.fromkeys(words))} if words else {"text": text}
    if memory not in memories[-50:]:
        memories.append(memory)


def _keys(value: Any) -> list[str]:
    """Return keys: a list, or a text with commas."""
    if isinstance(value, str):
        return [key.strip() for key in value.split(",") if key.strip()]
    return [in_words(key) for key in value if key not in EMPTY] if isinstance(value, list) else []
