"""The listing of parameters as users look it up: all of them, a group, or a single one."""

import json
from typing import Any

from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.parameters import (
    ALBUM_CHAT,
    GROUP_CHAT,
    PRESETS,
    GroupDescription,
    ParameterDescription,
    parameter_groups,
)


def find_settings(name: str | None) -> tuple[GroupDescription, ...]:
    """Return a group of parameters, the group of a parameter with that one alone, or all groups for `None`.

    Raises:
        NotFoundError: There is no such group or parameter.
    """
    groups = parameter_groups()
    if name is None:
        return groups
    names: list[str] = []
    for group in groups:
        if group.name == name:
            return (group,)
        names.append(group.name)
        for parameter in group.parameters:
            names += [parameter.name, *parameter.aliases]
            if name in (parameter.name, *parameter.aliases):
                return (GroupDescription(group.name, group.title, (parameter,)),)
    hint = nearest_hint(name, names, otherwise="; `tertulia settings` lists what there is")
    raise NotFoundError(f"no group or parameter {name!r}{hint}")


def written(value: Any) -> str:
    """Return a value as `--set` takes it."""
    if isinstance(value, str):
        return value or "''"
    return json.dumps(value)


def default_in_words(parameter: ParameterDescription) -> str:
    """Return the default of a parameter, and those of group chats, album chats and presets that differ."""
    others = {
        "in a group": GROUP_CHAT,
        "in an album chat": ALBUM_CHAT,
        **{f"preset {name}": values for name, values in PRESETS.items()},
    }
    differing = (
        f"{where} {written(values[parameter.name])}"
        for where, values in others.items()
        if values.get(parameter.name, parameter.default) != parameter.default
    )
    return f"{written(parameter.default)}{''.join(f' ({words})' for words in differing)}"


def settings_document(groups: tuple[GroupDescription, ...]) -> dict[str, Any]:
    """Return groups of parameters as a JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "groups": [
            {
                "group": group.name,
                "title": group.title,
                "parameters": [_parameter_document(parameter) for parameter in group.parameters],
            }
            for group in groups
        ],
    }


def _parameter_document(parameter: ParameterDescription) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "aliases": list(parameter.aliases),
        "kind": parameter.kind,
        "choices": list(parameter.choices),
        "range": parameter.range,
        "may_be_unset": parameter.may_be_unset,
        "default": parameter.default,
        "default_in_group_chat": GROUP_CHAT.get(parameter.name, parameter.default),
        "in_presets": {name: values[parameter.name] for name, values in PRESETS.items() if parameter.name in values},
        "description": parameter.description,
    }
