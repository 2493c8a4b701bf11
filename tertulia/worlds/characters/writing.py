"""Write people for other programs: a card of version 3, CSV, JSON. Read again, they are the same people."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import chain, count
from typing import Any

from tertulia.state.errors import SettingError, UsageError
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.facts import in_title_case

#: The formats that people are written in.
FORMATS = ("card_v3", "csv", "json")

#: The key under a card's extensions with the fields that a card has no place for.
OURS = "tertulia"

#: Fields that a card has no place for, in the order in which its description tells them.
_TOLD = ("age", "occupation", "home", "lifestyle", "style", "activity", "goals", "interests", "relations", "secrets")


def written(people: Sequence[ImportedPerson], format: str) -> str:
    """Return people in a format; a card takes one.

    Raises:
        UsageError: There is no such format, or a card is for several people.
    """
    if format not in FORMATS:
        raise SettingError("format", format, f": takes {', '.join(FORMATS)}")
    values = [dict(person.values) for person in people]
    if format == "json":
        return json.dumps({"people": values}, ensure_ascii=False, indent=1)
    if format == "csv":
        return _csv(values)
    if len(people) != 1:
        raise UsageError(f"format=card_v3: a card is of one person, and there are {len(people)}; give a folder")
    return json.dumps(card(values[0], people[0].situation), ensure_ascii=False, indent=1)


def card_files(people: Sequence[ImportedPerson]) -> dict[str, str]:
    """Return a card of each person, by a name for its file; names alike but for letter case are numbered."""
    files: dict[str, str] = {}
    taken: set[str] = set()
    for person in people:
        name = file_name(person.values["name"])
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        own = next(each for each in names if each.casefold() not in taken)
        taken.add(own.casefold())
        files[f"{own}.json"] = written([person], "card_v3")
    return files


def file_name(name: str) -> str:
    """Return a name as that of a file, without its suffix; names of other scripts stay."""
    return re.sub(r"[^\w-]+", "_", name)[:80].strip("_-") or "person"


def card(values: Mapping[str, Any], situation: str | None) -> dict[str, Any]:
    """Return a card of version 3; `extensions` has the fields as they are."""
    data = card_fields(values, situation)
    return {
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {
            **data,
            "creator_notes": "",
            "system_prompt": "",
            "post_history_instructions": "",
            "tags": [],
            "creator": "",
            "character_version": "",
            "group_only_greetings": [],
            "extensions": {OURS: dict(values)},
        },
    }


def card_fields(values: Mapping[str, Any], situation: str | None) -> dict[str, Any]:
    """Return the fields of a card that other programs show and change."""
    told = [f"{in_title_case(field)}: {_in_words(values[field])}" for field in _TOLD if field in values]
    examples = [_example(example) for example in values.get("examples", ())]
    greetings = [example.get("text", "") for example in examples if not example.get("after")]
    spoken = "".join(
        f"<START>\n{{{{user}}}}: {example['after']}\n{{{{char}}}}: {example.get('text', '')}\n"
        for example in examples
        if example.get("after")
    )
    fields: dict[str, Any] = {
        "name": values["name"],
        "description": "\n".join([*_texts(values.get("background", ())), *told]),
        "personality": _in_words([part for part in (values.get("character"), *values.get("traits", ())) if part]),
        "scenario": situation or "",
        "first_mes": greetings[0] if greetings else "",
        "alternate_greetings": greetings[1:],
        "mes_example": spoken,
    }
    if entries := [_entry(number, memory) for number, memory in enumerate(values.get("memories", ()))]:
        fields["character_book"] = {"extensions": {}, "entries": entries}
    return fields


def _entry(number: int, memory: Any) -> dict[str, Any]:
    """Return a memory as an entry of a lorebook; one without keys always holds."""
    keys = list(memory.get("keys", ())) if isinstance(memory, Mapping) else []
    return {
        "keys": keys,
        "content": memory.get("text", "") if isinstance(memory, Mapping) else memory,
        "extensions": {},
        "enabled": True,
        "insertion_order": number,
        "constant": not keys,
        "use_regex": False,
    }


def _example(example: Any) -> dict[str, str]:
    return dict(example) if isinstance(example, Mapping) else {"text": example}


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {how}" for name, how in value.items())
    return "; ".join(_texts(value)) if isinstance(value, list | tuple) else str(value)


def _texts(values: Any) -> list[str]:
    if isinstance(values, str):
        return [values]
    return [str(next(iter(part.values()))) if isinstance(part, Mapping) else str(part) for part in values]


def _csv(people: Sequence[Mapping[str, Any]]) -> str:
    """Return people as a table; a list or an object in a cell is JSON."""
    titles = list(dict.fromkeys(field for values in people for field in values))
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    for values in people:
        writer.writerow([_cell(values.get(field, "")) for field in titles])
    return file.getvalue()


def _cell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | dict) else str(value)
