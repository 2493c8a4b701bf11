"""People of a Generative Agents folder: each `bootstrap_memory/scratch.json` is a person.

Of a person's folder only the scratch is read: the memory stream belongs to the run (`tertulia run ga:FOLDER`).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tertulia.state.files import is_linked
from tertulia.worlds.characters.draft import OF_PROGRAM, Draft, full_name
from tertulia.worlds.characters.rules import Rule, age, facts, known, labelled_facts, listed, take, text
from tertulia.worlds.ga_files import MEMORY, address_in_words

_SCRATCH = "scratch.json"

#: Fields in which the program keeps its own numbers and the state of a run.
_STATE = re.compile(
    r"(act_|chat|curr_|f_daily|planned_path|vision_r|att_bandwidth|retention|concept_forget|daily_reflection"
    r"|overlap_reflect|kw_strg|importance_|thought_count|recency_|relevance_|.*_(w|decay|r|th|size|time)$)"
)


def is_scratch(value: Any) -> bool:
    """Return whether a JSON value is a person's scratch."""
    return isinstance(value, Mapping) and "innate" in value and ("learned" in value or "lifestyle" in value)


def scratches_in(folder: Path) -> Iterator[Path]:
    """Yield the files of people in a folder: of a person, of `personas/`, or of a run; links are passed over."""
    for pattern in (f"{MEMORY}/{_SCRATCH}", _SCRATCH, f"*/{MEMORY}/{_SCRATCH}", f"personas/*/{MEMORY}/{_SCRATCH}"):
        found = sorted(file for file in folder.glob(pattern) if file.is_file() and not is_linked(file, folder))
        if found:
            yield from found
            return


def read_scratch(scratch: Mapping[str, Any]) -> Draft:
    """Return the person of a scratch."""
    draft = Draft(full_name(scratch))
    take(draft, scratch, _FIELDS, _other)
    return draft


def _other(draft: Draft, value: Any, place: str) -> None:
    """Take the texts of a field that a fork has added; list numbers, and the state of a run."""
    is_text = isinstance(value, str) or (isinstance(value, list) and all(isinstance(part, str) for part in value))
    rule = labelled_facts() if is_text and not _STATE.match(place) else listed(OF_PROGRAM)
    rule(draft, value, place)


def _home(draft: Draft, value: Any, place: str) -> None:
    address = address_in_words(value) if isinstance(value, str) else None
    text("home")(draft, address or value, place)
    if address and isinstance(value, str):
        draft.leave(place, value, "the address, taken in words")


_FIELDS: dict[str, Rule] = {
    "name": known,
    "first_name": known,
    "last_name": known,
    "age": age,
    "innate": text("character"),
    "learned": facts,
    "currently": facts,
    "lifestyle": text("lifestyle"),
    "living_area": _home,
    "daily_plan_req": labelled_facts("Plan of the day"),
    "daily_req": labelled_facts("Plan of the day"),
}
