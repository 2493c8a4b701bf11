"""The titles of columns that are fields of a person."""

#: Fields that take several values.
LISTS = ("memories", "goals", "interests", "descriptions", "secrets", "examples")

#: All fields.
FIELDS = (
    *("name", "age", "occupation", "character", "traits", "background", "lifestyle", "home", "style", "examples"),
    *("activity", "secrets", "memories", "goals", "interests", "relations", "descriptions", "setting"),
    *("emotion", "schedule", "latency", "weights", "propensity", "silence_discomfort", "model"),
)
_SYNONYMS = {
    "background": ("description", "bio", "about", "public_info", "persona", "biography", "backstory"),
    "occupation": ("job", "profession", "role"),
    "character": ("personality", "innate"),
    "secrets": ("secret",),
    "style": ("speech_style", "tone"),
    "home": ("residence",),
}
_BY_TITLE = {name: name for name in FIELDS} | {s: field for field, names in _SYNONYMS.items() for s in names}

#: Titles of data sets that are no synonym in a scenario.
_OF_TABLES = {
    "full_name": "name",
    "fullname": "name",
    "input_persona": "background",
    "persona_description": "background",
    "text": "background",
}


def canonical(title: str) -> str | None:
    """Return the field of a person that a title names, also a part of it (`weights.goal`); `None` for any other."""
    folded = title.strip().casefold().replace(" ", "_").replace("-", "_")
    head, dot, part = folded.partition(".")
    field = _BY_TITLE.get(head) or _OF_TABLES.get(folded)
    return f"{field}{dot}{part}" if field else None
