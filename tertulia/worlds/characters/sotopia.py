"""Sotopia's agent profiles: one, a list of them, or one within `agent_profile`."""

from collections.abc import Mapping
from typing import Any

from tertulia.worlds.characters.draft import OF_FILE, OF_PROGRAM, Draft, full_name
from tertulia.worlds.characters.rules import (
    Rule,
    age,
    big_five,
    facts,
    known,
    labelled_facts,
    listed,
    several,
    take,
    text,
)

#: Fields that other formats do not have.
_OWN = ("public_info", "gender_pronoun", "schwartz_personal_values", "moral_values", "decision_making_style")


def is_profile(value: Any) -> bool:
    """Return whether a JSON value is a profile."""
    return isinstance(value, Mapping) and "first_name" in value and any(field in value for field in _OWN)


def read_profile(profile: Mapping[str, Any]) -> Draft:
    """Return the person of a profile."""
    draft = Draft(full_name(profile))
    take(draft, profile, _PROFILE, labelled_facts())
    return draft


_PROFILE: dict[str, Rule] = {
    "first_name": known,
    "last_name": known,
    "age": age,
    "occupation": text("occupation"),
    "gender_pronoun": labelled_facts("Pronouns"),
    "public_info": facts,
    "big_five": big_five,
    "schwartz_personal_values": labelled_facts("Personal values"),
    "personality_and_values": text("character"),
    "secret": several("secrets"),
    "mbti": labelled_facts("MBTI"),
    "pk": listed(OF_FILE),
    "tag": listed(OF_FILE),
    "model_id": listed(OF_PROGRAM),
}
