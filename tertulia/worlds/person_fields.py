"""The names of a person's fields, and the other names under which files and programs have them: one list for all.

A scenario file, `tertulia.Person`, a table, LangGraph and the page read people by it. A name is compared without letter
case, spaces, `-` and `_`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic_core import PydanticCustomError

from tertulia.state.meeting import BIG_FIVE

#: The poles of all dimensions of the Big Five.
POLES = tuple(pole for poles in BIG_FIVE.values() for pole in poles)

#: The fields of a person in any conversation, in the order in which prompts show them.
PERSON_FIELDS = (
    *("name", "age", "occupation", "character", "traits", "background", "lifestyle", "home", "style", "examples"),
    *("activity", "secrets", "memories", "goals", "interests", "relations", "descriptions", "setting"),
)

#: The fields that a meeting's clock and race need.
MEETING_FIELDS = ("emotion", "schedule", "latency", "weights", "propensity", "silence_discomfort", "model")

FIELDS = (*PERSON_FIELDS, *MEETING_FIELDS)

#: By field, its other names.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "name": ("full_name", "character_name"),
    "age": ("years", "age_in_years"),
    "occupation": ("job", "profession", "role", "work", "occupation_title", "job_title"),
    "character": ("personality", "innate", "temperament", "personality_traits", "persona_traits"),
    "traits": ("big_five", "poles"),
    "background": ("description", "bio", "biography", "about", "public_info", "backstory", "history", "learned"),
    "lifestyle": ("habits", "routine", "routines", "daily_routine"),
    "home": ("residence", "lives_in", "living_area", "address"),
    "style": ("speech_style", "tone", "speaking_style", "voice", "manner_of_speech", "way_of_speaking"),
    "examples": ("example_lines", "mes_example", "example_dialogue", "example_dialogues", "speech_examples"),
    "activity": ("currently", "doing", "current_activity"),
    "secrets": ("secret", "private_info", "keeps_secret"),
    "memories": ("memory", "remembers"),
    "goals": ("goal", "aims", "wants", "objectives"),
    "interests": ("interest", "hobbies", "likes", "topics"),
    "relations": ("relationships", "relation", "relationship"),
    "descriptions": ("thinks_and_talks",),
    "setting": ("in_this_meeting", "in_this_conversation"),
}

#: How alike two spellings of one name are at least, as `difflib` measures it.
_SAME_WORD = 0.75


def folded_title(title: str) -> str:
    """Return a title as titles are compared: without letter case, spaces, `-` and `_`."""
    return re.sub(r"[\s_-]+", "", title).casefold()


_FIELD_OF = {folded_title(name): field for field in FIELDS for name in (field, *SYNONYMS.get(field, ()))}


def field_named(name: str) -> str | None:
    """Return the field that a name means; `None` if it means none."""
    return _FIELD_OF.get(folded_title(name))


def with_field_names(values: Any) -> Any:
    """Return a person's values under the names of fields, words among `traits` as the character.

    Raises:
        PydanticCustomError: Two names of one field both have a value.
    """
    if not isinstance(values, Mapping):
        return values
    named: dict[Any, Any] = {}
    given: dict[Any, Any] = {}
    for name, value in values.items():
        field = (field_named(name) or name) if isinstance(name, str) else name
        if field == "traits" and _is_words(value):
            field = "character"
            value = value if isinstance(value, str) else ", ".join(value)
        if field in given:
            words = f"{given[field]} and {name} are two names of {field}; keep one of the two"
            raise PydanticCustomError("complete", "{words}", {"words": words})
        named[field], given[field] = value, name
    return named


def properties_of(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a person's values, but their name, as the properties of a person in an exchange of pictures."""
    known = {name: value for name, value in values.items() if name != "name" and value not in (None, "", (), [], {})}
    return tuple((name.replace("_", " "), _in_words(value)) for name, value in known.items())


def _in_words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        said = next((value[key] for key in ("text", "goal") if key in value), None)  # a memory, an example, a goal
        return said or "; ".join(f"{name}: {_in_words(part)}" for name, part in value.items())
    return "; ".join(map(_in_words, value)) if isinstance(value, Iterable) else str(value)


def _is_words(traits: Any) -> bool:
    """Whether traits are words: a text, or texts of which none is a pole, nor spelt like one."""
    if isinstance(traits, str):
        return True
    texts = isinstance(traits, Sequence) and bool(traits) and all(isinstance(text, str) for text in traits)
    return texts and not any(misspelt(text.strip(), POLES) for text in traits)


def misspelt(text: str, known: Iterable[str]) -> str | None:
    """Return the known name that a text is, in whatever case, or nearly is; `None` if it is another name."""
    names = list(known)
    in_another_case = next((name for name in names if name.casefold() == text.casefold()), None)
    return in_another_case or next(iter(get_close_matches(text, names, 1, _SAME_WORD)), None)


def doubled_poles(poles: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the faults of poles by their number: two of one dimension."""
    seen: dict[str, str] = {}
    for index, pole in enumerate(poles):
        dimension = next(dimension for dimension, both in BIG_FIVE.items() if pole in both)
        if dimension in seen:
            yield index, f"{pole!r} and {seen[dimension]!r} are both of {dimension}; keep one"
        seen[dimension] = pole


def add_synonyms(definitions: Mapping[str, dict[str, Any]], kind: str) -> None:
    """Add the other names of fields, with what they take, to the JSON Schema of a kind of person among definitions."""
    person = definitions[kind]
    known = person["properties"]
    known["traits"] = {"anyOf": [{"type": "string"}, known["traits"]], "title": "Traits"}
    for field, others in SYNONYMS.items():
        same = {"$ref": f"#/$defs/{kind}/properties/{field}", "description": f"another name of {field}"}
        known |= dict.fromkeys(others, same)
    person["required"] = [field for field in person["required"] if field != "name"]
    person["oneOf"] = [{"required": [name]} for name in ("name", *SYNONYMS["name"])]
