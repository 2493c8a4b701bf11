"""Role-play cards, versions 1 to 3: the fields of the card, and its lorebook.

Source: the public specifications of version 2 and version 3. Of version 3, `{{char}}` is the nickname.
"""

import re
from collections.abc import Mapping
from typing import Any

from tertulia.state.text import one_line
from tertulia.worlds.characters.draft import OF_FILE, OF_PROGRAM, PICTURE, SHOWN, Draft, full_name, in_words
from tertulia.worlds.characters.examples import examples_of, parted
from tertulia.worlds.characters.lorebooks import lorebook
from tertulia.worlds.characters.rules import Rule, facts, known, labelled_facts, listed, nested, several, take, text
from tertulia.worlds.characters.tables import read_rows
from tertulia.worlds.characters.writing import OURS, card_fields

#: Names of fields that writers of version 1 use for those of the specification.
_OLD_NAMES = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
    "creatorcomment": "creator_notes",
}

#: Fields of a flat card.
_FLAT = ("description", "personality", "first_mes", "mes_example", "scenario")


def is_card(value: Any) -> bool:
    """Return whether a JSON value is a card of any version."""
    if not isinstance(value, Mapping):
        return False
    if str(value.get("spec", "")).startswith("chara_card"):
        return isinstance(value.get("data"), Mapping)
    named = {_OLD_NAMES.get(key, key) for key in value}
    return "name" in named and len(named.intersection(_FLAT)) >= 2 and "first_mes" in named


def kind_of(card: Mapping[str, Any]) -> str:
    """Return the version of a card in words."""
    version = re.search(r"v([0-9])", str(card.get("spec", "")))
    return f"a card, version {version[1] if version else 1}"


def read_card(card: Mapping[str, Any]) -> Draft:
    """Return the person of a card; the name is empty if the card has none."""
    data = card["data"] if isinstance(card.get("data"), Mapping) else card
    fields = {key if _OLD_NAMES.get(key) in data else _OLD_NAMES.get(key, key): value for key, value in data.items()}
    name, nickname = full_name({"name": fields.get("name")}), in_words(fields.get("nickname") or "")
    draft = _of_ours(fields)
    if draft is None:
        draft = Draft(name, nickname)
        take(draft, fields, _CARD, listed(OF_PROGRAM))
    if data is not card:
        outside = {key: value for key, value in card.items() if key not in ("spec", "spec_version", "data")}
        _leave_differences(draft, outside, data)
    return draft


def _of_ours(fields: Mapping[str, Any]) -> Draft | None:
    """Return the person of a card that Tertulia wrote, if no field has changed since; `None` for any other."""
    extensions = fields.get("extensions")
    ours = extensions.get(OURS) if isinstance(extensions, Mapping) else None
    if not isinstance(ours, Mapping) or not ours.get("name"):
        return None
    [(_, draft)] = read_rows([("", ours)], {}, "the card")
    situation = in_words(fields.get("scenario") or "") or None
    shown = card_fields(draft.values, situation)
    if any(fields.get(field) != value for field, value in shown.items()):
        return None
    draft.situation = situation
    rest = {key: value for key, value in fields.items() if key not in shown and key != "extensions"}
    others = {key: value for key, value in extensions.items() if key != OURS} if extensions else {}
    take(draft, {**rest, "extensions": others}, _CARD, listed(OF_PROGRAM))
    return draft


def _leave_differences(draft: Draft, outside: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """List the values outside `data` that are not those inside it: for readers of version 1, writers repeat them."""
    extensions = data.get("extensions")
    inside = {**(extensions if isinstance(extensions, Mapping) else {}), **data}
    for key, value in outside.items():
        name = _OLD_NAMES.get(key, key)
        if name not in inside:
            draft.leave(f"{key} (outside data)", value, OF_PROGRAM)
        elif inside[name] != value:
            draft.leave(f"{key} (outside data)", value, "repeated for older programs, with another value")


def _description(draft: Draft, value: Any, place: str) -> None:
    """Take a description as facts, and conversations in it as examples."""
    prose, spoken = parted(in_words(value))
    facts(draft, prose, place)
    if spoken:
        _examples(draft, spoken, place)


def _examples(draft: Draft, value: Any, place: str) -> None:
    names = tuple(filter(None, dict.fromkeys((draft.char, draft.name, *draft.name.split()[:1]))))
    found, unanswered = examples_of(draft.words(value, place), names)
    draft.add("examples", (example for example in found if example["text"]))
    for line in unanswered:
        draft.leave(place, line, "a line of the other without an answer")


def _greetings(draft: Draft, value: Any, place: str) -> None:
    """Take lines that the person would begin with, as examples of how they speak."""
    lines = value if isinstance(value, list) else [value]
    draft.add("examples", ({"text": text} for line in lines if line and (text := draft.words(line, place))))


def _situation(draft: Draft, value: Any, place: str) -> None:
    draft.situation = one_line(draft.words(value, place)) or None


_EXTENSIONS: dict[str, Rule] = {
    OURS: listed("Tertulia's own fields; the card was changed since"),
    "talkativeness": listed("propensity, of a person in a meeting"),
    "depth_prompt": nested({"prompt": listed(SHOWN)}, listed(OF_PROGRAM)),
}

_CARD: dict[str, Rule] = {
    "name": known,
    "nickname": labelled_facts("Nickname"),
    "description": _description,
    "personality": text("character"),
    "scenario": _situation,
    "first_mes": _greetings,
    "alternate_greetings": _greetings,
    "group_only_greetings": _greetings,
    "mes_example": _examples,
    "character_book": lorebook,
    "system_prompt": listed(SHOWN),
    "post_history_instructions": listed(SHOWN),
    "creator_notes": listed(OF_FILE),
    "creator_notes_multilingual": listed(OF_FILE),
    "tags": listed(OF_FILE),
    "creator": listed(OF_FILE),
    "character_version": listed(OF_FILE),
    "source": listed(OF_FILE),
    "creation_date": listed(OF_FILE),
    "modification_date": listed(OF_FILE),
    "assets": listed(PICTURE),
    "avatar": listed(PICTURE),
    "extensions": nested(_EXTENSIONS, listed(OF_PROGRAM)),
    # Fields of other programs in a flat card.
    "goals": several("goals"),
    "secret": several("secrets"),
}
