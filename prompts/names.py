"""Lists of names, words and clauses within sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tertulia.state.languages import DEFAULT


@dataclass(frozen=True)
class _Joints:
    """The separators of lists in a language."""

    between: str
    last_name: str
    last_quality: str
    nobody: str
    clauses: str


_JOINTS = {
    DEFAULT: _Joints(", ", " and ", " and ", "nobody", "; "),
    "de": _Joints(", ", " und ", " und ", "niemand", "; "),
    "es": _Joints(", ", " y ", " y ", "nadie", "; "),
    "fr": _Joints(", ", " et ", " et ", "personne", " ; "),
    "zh": _Joints("、", "和", "、", "没有人", "；"),
}
#: Spanish words that begin with the sound of `y`: before them `y` becomes `e`, as in `Ana e Inés`, but `agua y hielo`.
_BEGINS_AS_Y = re.compile(r"(?:[ií](?![aáeéoóuú])|h[ií](?![aáeéoóuú])|y(?![aáeéiíoóuú]))", re.IGNORECASE)


def listed(names: Sequence[str], language: str = DEFAULT) -> str:
    """Return names as in a sentence: `Ana, Bo and Cy`; `nobody` if there are none."""
    joints = _joints(language)
    return _joined(names, joints.between, joints.last_name) or joints.nobody


def qualities(adjectives: Sequence[str], language: str = DEFAULT) -> str:
    """Return adjectives as in a sentence: `shy, kind and slow`."""
    joints = _joints(language)
    return _joined(adjectives, joints.between, joints.last_quality)


def enumerated(words: Sequence[str], language: str = DEFAULT) -> str:
    """Return words as in a table: `shy, kind, slow`."""
    return _joints(language).between.join(words)


def clauses(parts: Sequence[str], language: str = DEFAULT) -> str:
    """Return parts of a sentence that may have commas in them: `fix the roof; tell Ana, and Bo`."""
    return _joints(language).clauses.join(parts)


def _joints(language: str) -> _Joints:
    return _JOINTS.get(language, _JOINTS[DEFAULT])


def _joined(words: Sequence[str], between: str, before_last: str) -> str:
    if before_last == " y " and _BEGINS_AS_Y.match(words[-1] if words else ""):
        before_last = " e "
    return before_last.join(filter(None, (between.join(words[:-1]), *words[-1:])))
