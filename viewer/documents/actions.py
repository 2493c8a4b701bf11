"""What can be done from a run, for the viewer: the commands that fork it or go on with it, word by word."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tertulia.catalog.settings import written
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import SettingError, UsageError, nearest_hint
from tertulia.state.parameters import ALIASES, GroupDescription, ParameterDescription, parameter_groups
from tertulia.storage.store import SqlStore

#: What a command has where nothing names the store.
_DEFAULT_STORE = Path("tertulia.db")

#: What names models, files or people, and so is given on a command line that somebody types (SECURITY.md); what needs
#: another option of `fork`; and what a fork can't change. Nodes and their settings are such too.
_NOT_OFFERED = frozenset(
    {"judge_model", "thinking_model", "picture_model", "surrogate", "nodes", "node_settings"}
    | {"seat", "seat_clock", "villagers", "pictures", "agents", "album_pictures", "exchanges_in_batch"}
    | {"diversity", "setpoint", "preset"}
)

#: What has an option of its own.
_OPTIONS = {"removal_factor": "--lambda", "seed": "--seed"}


def actions_page(store: SqlStore, run: str) -> Document:
    """Return what can be done from a run: the words of commands, and the parameters that a fork may change.

    `store` are the words that name the store, none where it is the default one; `resume` is `None` where the run is
    finished or a process drives it.
    """
    record = store.run(run)
    is_driven = record.status == "running" and store.drivers().is_driven(record.run)
    can_go_on = record.status != "finished" and not is_driven
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "status": record.status,
        "driven": is_driven,
        "fork": ["fork", record.run],
        "resume": resume_words(record.run) if can_go_on else None,
        "store": store_words(store),
        "parameters": [
            _parameter_document(group, parameter, record.parameters)
            for group in parameter_groups()
            for parameter in group.parameters
            if parameter.name not in _NOT_OFFERED
        ],
    }


def store_page(store: SqlStore) -> Document:
    """Return the words by which a command names the store."""
    return {"schema_version": SCHEMA_VERSION, "words": store_words(store)}


def store_words(store: SqlStore) -> list[str]:
    """Return the arguments that name the store; none where it is the default one."""
    return [] if store.path == _DEFAULT_STORE else ["--store", str(store.path)]


def fork_words(run: str, at: int, settings: Mapping[str, str]) -> list[str]:
    """Return the arguments that fork a run.

    Args:
        at: The first turn of the fork's own.
        settings: Values by parameter name as `--set` takes them, and `seed`.

    Raises:
        UsageError: The turn is below 1, or there is no such parameter, or it is one that the page does not set.
    """
    if at < 1:
        raise SettingError("at", at, ": turns count from 1")
    words = ["fork", run, "--at", str(at)]
    known = {parameter.name for group in parameter_groups() for parameter in group.parameters} - _NOT_OFFERED
    for given, value in settings.items():
        name = ALIASES.get(given, given)
        if name not in known | {"seed"}:
            refused = ": is given on the command line alone" if name in _NOT_OFFERED or "." in name else ""
            raise UsageError(
                f"{given}{refused}" if refused else f"unknown parameter {given!r}{nearest_hint(given, known)}"
            )
        words += [f"{_OPTIONS[name]}={value}"] if name in _OPTIONS else ["--set", f"{name}={value}"]
    return words


def resume_words(run: str) -> list[str]:
    """Return the arguments that go on with a run."""
    return ["resume", run]


def _parameter_document(
    group: GroupDescription, parameter: ParameterDescription, values: Mapping[str, Any]
) -> Document:
    return {
        "name": parameter.name,
        "group": group.name,
        "value": written(values.get(parameter.name, parameter.default)),
        "values": parameter.values,
        "choices": list(parameter.choices),
        "default": written(parameter.default),
        "description": parameter.description,
    }
