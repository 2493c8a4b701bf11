"""TinyTroupe's agents, and fragments of agents, which have no name and are for the agents beside them.

Texts in the second person (*You are patient.*) become the third if only the first words change; others
stay as they are.
"""

import re
from collections.abc import Mapping
from typing import Any

from tertulia.worlds.characters.draft import OF_PROGRAM, Draft, full_name
from tertulia.worlds.characters.rules import (
    Rule,
    age,
    big_five,
    facts,
    known,
    labelled_facts,
    listed,
    nested,
    relations,
    several,
    take,
    text,
)

#: First words of the second person, and those of the third.
_THIRD = {
    "You are": "is", "You're": "is", "You were": "was", "You have": "has", "You had": "had", "You can": "can",
    "You cannot": "cannot", "You can't": "can't", "You don't": "doesn't", "You do not": "does not",
    "You will": "will", "You would": "would", "You could": "could", "You should": "should", "You must": "must",
}  # fmt: skip
_SECOND = re.compile(rf"({'|'.join(sorted(_THIRD, key=len, reverse=True))})\b(?!['’])(.*)", re.DOTALL)
#: Words behind which a verb or a pronoun may have to change too.
_UNSURE = re.compile(r"\b(you|your|yours|yourself|and|but|or|nor|then)\b|,", re.IGNORECASE)


def is_agent(value: Any) -> bool:
    """Return whether a JSON value is an agent or a fragment."""
    if not isinstance(value, Mapping) or not isinstance(value.get("persona"), Mapping):
        return False
    kind = value.get("type", value.get("json_serializable_class_name"))
    return kind in ("TinyPerson", "Fragment", "TinyPersonFragment") or "name" in value["persona"] or kind is None


def read_agent(agent: Mapping[str, Any]) -> Draft:
    """Return the person of an agent; a fragment has no name."""
    persona = agent["persona"]
    name = full_name({"name": persona.get("name") or agent.get("name")})
    draft = Draft(name)
    _table = nested(_PERSONA, labelled_facts())
    take(draft, agent, {"persona": lambda d, value, _: _table(d, _in_third_person(value, name), "persona")}
         | {"type": known, "json_serializable_class_name": known, "name": known}, listed(OF_PROGRAM))  # fmt: skip
    return draft


def _in_third_person(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _in_third_person(part, name) for key, part in value.items()}
    if isinstance(value, list):
        return [_in_third_person(part, name) for part in value]
    second = _SECOND.fullmatch(value) if isinstance(value, str) and name else None
    if second is None or _UNSURE.search(second[2]) or re.search(r"[.!?]\s", second[2]):
        return value
    return f"{name} {_THIRD[second[1]]}{second[2]}"


_OCCUPATION: dict[str, Rule] = {
    "title": text("occupation"),
    "organization": labelled_facts("Works for"),
    "description": facts,
}
_PERSONALITY: dict[str, Rule] = {"traits": text("character"), "big_five": big_five}

_PERSONA: dict[str, Rule] = {
    "name": known,
    "age": age,
    "occupation": nested(_OCCUPATION, labelled_facts(), text("occupation")),
    "residence": text("home"),
    "style": text("style"),
    "personality": nested(_PERSONALITY, labelled_facts(), text("character")),
    "personality_traits": text("character"),
    "preferences": nested({"interests": several("interests")}, labelled_facts()),
    "interests": several("interests"),
    "long_term_goals": several("goals"),
    "goals": several("goals"),
    "relationships": relations(labelled_facts("Relationship")),
    "other_facts": facts,
    "beliefs": labelled_facts("Belief"),
    "skills": labelled_facts("Skill"),
    "behaviors": nested({"general": labelled_facts("Habit"), "routines": labelled_facts("Routine")}, labelled_facts()),
}
