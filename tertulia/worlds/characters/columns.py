"""The titles of columns that are fields of a person: those of `person_fields.py`, and names that data sets use."""

from tertulia.worlds.person_fields import MEETING_FIELDS, PERSON_FIELDS, field_named

#: All fields.
FIELDS = (*PERSON_FIELDS, *MEETING_FIELDS)

#: Fields that take several values.
LISTS = ("memories", "goals", "interests", "descriptions", "secrets", "examples")

#: Titles that data sets have for a text about a person.
_TEXTS = ("persona", "input_persona", "persona_description", "text")


def canonical(title: str) -> str | None:
    """Return the field of a person that a title names, also a part of it (`weights.goal`); `None` for any other."""
    head, dot, part = title.strip().partition(".")
    if field := field_named(head):
        return f"{field}{dot}{part}"
    return "background" if head.casefold().replace(" ", "_") in _TEXTS else None
