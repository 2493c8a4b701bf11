"""`people check`: the fields of people that each kind of prompt shows."""

from collections.abc import Iterable, Mapping
from typing import Any

from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.tables import print_columns
from tertulia.runs.planning.shown_fields import KINDS, ShownFields, shown_fields
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.text import clean

_NOTE = "Memories are taken as recalled; a meeting asks for descriptions, and for steps of goals, where there are none."


def print_checked(people: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    """Print for each of these people, given by the values of their fields, a table of fields and prompts."""
    found = [shown_fields(values) for values in people]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "kinds": KINDS, "people": [_document(each) for each in found]})
        return
    for person in found:
        print(clean(person.name))
        rows = ([field, *(_cell(person, field, kind) for kind in KINDS)] for field in person.texts)
        print_columns(("field", *KINDS), rows)
        print()
    progress().print(plain(_NOTE))


def _cell(person: ShownFields, field: str, kind: str) -> str:
    shown, texts = person.shown[field][kind], person.texts[field]
    return "yes" if shown == texts else "–" if shown == 0 else f"{shown} of {texts}"


def _document(person: ShownFields) -> dict[str, Any]:
    fields = [
        {"field": field, "texts": texts, "shown": dict(person.shown[field])} for field, texts in person.texts.items()
    ]
    return {"name": person.name, "fields": fields}
