"""SDialog's personas: flat objects of any class, with any attributes; attributes without a field of ours are facts."""

from collections.abc import Mapping
from typing import Any

from tertulia.worlds.characters.draft import OF_FILE, Draft, full_name, in_words
from tertulia.worlds.characters.facts import in_title_case
from tertulia.worlds.characters.rules import (
    Rule,
    age,
    facts,
    known,
    labelled_facts,
    listed,
    nested,
    several,
    take,
    text,
)

#: Attributes that only these personas have; two of them, or the metadata, tell the format.
_OWN = ("circumstances", "rules", "race", "politeness", "forgetfulness", "attentiveness", "empathy_level",
        "socioeconomic_status", "communication_style", "voice_characteristics", "language")  # fmt: skip

#: Commas, and the last conjunction, between the items of a text; not those within brackets.
_ITEMS = r"\s*[,;]\s*(?:and\s+)?(?![^()]{0,200}\))"


def is_persona(value: Any) -> bool:
    """Return whether a JSON value is a persona."""
    if not isinstance(value, Mapping):
        return False
    metadata = value.get("_metadata")
    return (isinstance(metadata, Mapping) and "className" in metadata) or (
        "name" in value and sum(field in value for field in _OWN) >= 2
    )


def read_persona(persona: Mapping[str, Any]) -> Draft:
    """Return the person of a persona; one without a name has that of its class."""
    metadata = persona.get("_metadata")
    kind = metadata.get("className") if isinstance(metadata, Mapping) else None
    name = persona.get("name") or persona.get("customer_name") or in_title_case(in_words(kind or ""))
    draft = Draft(full_name({"name": name}))
    take(draft, persona, _PERSONA, labelled_facts())
    return draft


_METADATA: dict[str, Rule] = {"className": labelled_facts("Role")}

_PERSONA: dict[str, Rule] = {
    "name": known,
    "age": age,
    "role": text("occupation"),
    "occupation": text("occupation"),
    "background": facts,
    "personality": text("character"),
    "communication_style": text("style"),
    "interests": several("interests", _ITEMS),
    "rules": labelled_facts("Rule"),
    "_metadata": nested(_METADATA, listed(OF_FILE)),
}
