"""All parameters as a listing: by group, with the values that each takes, its default and its effect."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from tertulia.state.parameters.parameters import ALIASES, GROUPS
from tertulia.state.setpoint import Setpoint

#: How the types of values are called.
_KINDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    dict: "names and values",
    Setpoint: "JSON",
}


@dataclass(frozen=True)
class ParameterDescription:
    """A parameter as it is listed.

    Attributes:
        name: Its name for `--set`.
        kind: `number`, `whole number`, `true or false`, `text`, `choice`, `choice or whole number`, or `names and
            values`.
        range: The bounds of a number in words; `None` without bounds.
        may_be_unset: Whether `null` means none.
        default: Its default; that of a group chat is in `GROUP_CHAT`.
        description: Its effect, and the source of the default.
    """

    name: str
    aliases: tuple[str, ...]
    group: str
    kind: str
    choices: tuple[str, ...]
    range: str | None
    may_be_unset: bool
    default: Any
    description: str

    @property
    def values(self) -> str:
        """The values that it takes, in words."""
        kind = self.kind.removeprefix("choice").removeprefix(" or ")
        bounded = " | ".join(filter(None, (*self.choices, " ".join(filter(None, (kind, self.range))))))
        return f"{bounded}, or null" if self.may_be_unset else bounded


@dataclass(frozen=True)
class GroupDescription:
    """A group of parameters as it is listed."""

    name: str
    title: str
    parameters: tuple[ParameterDescription, ...]


def parameter_groups() -> tuple[GroupDescription, ...]:
    """Return all parameters by group, in the order in which they are stored."""
    return tuple(
        GroupDescription(
            name=group,
            title=(members.__doc__ or "").splitlines()[0].rstrip("."),
            parameters=tuple(
                _described(name, group, field)
                for name, field in members.model_fields.items()
                if name != "weights"  # noted by the run, and not to be set
            ),
        )
        for group, members in GROUPS.items()
    )


def _described(name: str, group: str, field: FieldInfo) -> ParameterDescription:
    alternatives = [kind for kind in _alternatives(field.annotation) if kind is not types.NoneType]
    accepted = [get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in alternatives]
    choices = tuple(str(choice) for kind in accepted if get_origin(kind) is Literal for choice in get_args(kind))
    kinds = [_KINDS[get_origin(kind) or kind] for kind in accepted if get_origin(kind) is not Literal]
    return ParameterDescription(
        name=name,
        aliases=tuple(alias for alias, meant in ALIASES.items() if meant == name),
        group=group,
        kind=" or ".join(["choice"] * bool(choices) + kinds),
        choices=choices,
        range=" and ".join(_bounds(field)) or None,
        may_be_unset=len(accepted) < len(_alternatives(field.annotation)),
        default=field.default,
        description=field.description or "",
    )


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _bounds(field: FieldInfo) -> Iterator[str]:
    """Yield the bounds of a number in words, as pydantic keeps them: a constraint each, `Ge(ge=0)`."""
    within = [get_args(kind)[1] for kind in _alternatives(field.annotation) if get_origin(kind) is Annotated]
    for constraint in (*field.metadata, *(constraint for info in within for constraint in info.metadata)):
        for attribute, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
            if hasattr(constraint, attribute):
                yield f"{words} {getattr(constraint, attribute)}"
