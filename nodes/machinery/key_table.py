"""The table of docs/extending.md: all that a node of an agent's cognition reads and writes, made from the types."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from tertulia.nodes.machinery.places import PLACES
from tertulia.state.graph_state import CognitionInput, CognitionOutput, CognitionState, Mind
from tertulia.state.observed import Observed

#: The types whose keys have a row, in the order of the table; those of `Mind` are keys of `mind`.
_TYPES: Mapping[type, str] = {CognitionInput: "", Mind: "mind.", CognitionState: "", Observed: "", CognitionOutput: ""}

_COGNITION = [place for place in PLACES.values() if place.graph == "cognition"]
_NAMES = [place.name for place in _COGNITION]


def key_table() -> str:
    """Return the table as Markdown."""
    rows = [
        f"| `{prefix}{key}` | {_kind(types[key])} | {text} | {_read_at(key, prefix)} | {_written_at(key, prefix)} |"
        for kind, prefix in _TYPES.items()
        for types in [get_type_hints(kind)]
        for key, text in _described(kind)
    ]
    return "\n".join(["| key | type | it is | read at | written at |", "|---|---|---|---|---|", *rows])


def _described(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the keys that the docstring of a type describes, with their descriptions."""
    _, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    for names, text in re.findall(r"^    (\w[\w, ]*): (.+(?:\n {8}.+)*)", attributes, re.MULTILINE):
        for name in names.split(", "):
            yield name, " ".join(text.split()).rstrip(".")


def _kind(kind: Any) -> str:
    """Return a type as code, in which a typed dictionary is its keys."""
    return f"`{_words(kind)}`".replace("|", "\\|")


def _words(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _words(get_args(kind)[0])
    if kind is Mind:
        return "Mind"
    if is_typeddict(kind):
        return f"{{{', '.join(get_type_hints(kind))}}}"
    if isinstance(kind, UnionType):
        return " | ".join(map(_words, get_args(kind)))
    if arguments := get_args(kind):
        return f"{get_origin(kind).__name__}[{', '.join(map(_words, arguments))}]"
    return "None" if kind is type(None) else kind.__name__


def _read_at(key: str, within: str) -> str:
    if within or key in CognitionInput.__annotations__:
        return "" if within else "all, undeclared"
    if key in Observed.__annotations__:
        return _listed([place.name for place in _COGNITION if key in place.observes])
    written = [place.name for place in _COGNITION if key in place.writes]
    return _listed(_NAMES[_NAMES.index(written[0]) + 1 :] if written else [])


def _written_at(key: str, within: str) -> str:
    return "" if within else _listed([p.name for p in _COGNITION if key in (*p.writes, *p.may_write)])


def _listed(names: Sequence[str]) -> str:
    """Return names of places in words; of the last of all, the first of them."""
    if len(names) > 2 and names == _NAMES[-len(names) :]:
        return "all" if names == _NAMES else f"from `{names[0]}` on"
    return ", ".join(f"`{name}`" for name in names)
