"""The commands that fork a run or go on with it, word by word, for the viewer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tertulia.runs.catalog.settings import written
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import SettingError, UsageError, nearest_hint
from tertulia.state.parameters import ALIASES, GroupDescription, ParameterDescription, parameter_groups
from tertulia.storage.addresses import DEFAULT_STORE
from tertulia.storage.store import SqlStore
from tertulia.viewer.example import EXAMPLE_STORE
from tertulia.viewer.fork_changes import NO_CHANGES, ForkChanges
from tertulia.views.reading.hosted import is_of_own_graph

#: Parameters that name models, code, files or people, which must be typed on a command line (SECURITY.md); that need
#: another option of `fork`; or that a fork can't change.
_NOT_OFFERED = frozenset(
    {"judge_model", "thinking_model", "picture_model", "surrogate", "embedder", "nodes", "node_settings"}
    | {"seat", "seat_clock", "villagers", "pictures", "agents", "album_pictures"}
    | {"diversity", "setpoint", "preset"}
)

#: Parameters with options of their own.
_OPTIONS = {"removal_factor": "--lambda", "seed": "--seed"}


def actions_page(store: SqlStore, run: str) -> Document:
    """Return the words of commands for a run, and the parameters that a fork may change.

    `resume` is `None` if the run is finished, driven by a process, or of a graph of the user's own.
    """
    record = store.run(run)
    is_driven = record.status == "running" and store.drivers().is_driven(record.run)
    can_go_on = record.status != "finished" and not is_driven and not is_of_own_graph(store, run)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "status": record.status,
        "driven": is_driven,
        "fork": ["fork", record.run],
        "resume": resume_arguments(record.run) if can_go_on else None,
        "store": store_arguments(store),
        "parameters": [
            _parameter_document(group, parameter, record.parameters)
            for group in parameter_groups()
            for parameter in group.parameters
            if parameter.name not in _NOT_OFFERED
        ],
    }


def store_page(store: SqlStore) -> Document:
    """Return the words by which a command names the store, its file's name, and whether it is the shipped example."""
    name = store.path.name if isinstance(store.path, Path) else str(store.path)
    return {
        "schema_version": SCHEMA_VERSION,
        "words": store_arguments(store),
        "name": name,
        "is_example": name == EXAMPLE_STORE,
    }


def store_arguments(store: SqlStore) -> list[str]:
    """Return the arguments that name the store; none for the default store."""
    return [] if store.path == Path(DEFAULT_STORE) else ["--store", str(store.path)]


def fork_arguments(run: str, at: int, settings: Mapping[str, str], changes: ForkChanges = NO_CHANGES) -> list[str]:
    """Return the arguments that fork a run.

    Args:
        at: The first turn of the fork's own, from 1.
        settings: Values by parameter name as `--set` takes them, and `seed`.
        changes: The further changes.

    Raises:
        UsageError: The turn is below 1, or the page can't set such a parameter.
    """
    if at < 1:
        raise SettingError("at", at, ": turns count from 1")
    words = ["fork", run, "--at", str(at)]
    known = {parameter.name for group in parameter_groups() for parameter in group.parameters} - _NOT_OFFERED
    for given, value in settings.items():
        name = ALIASES.get(given, given)
        if name in _NOT_OFFERED or "." in name:
            raise UsageError(f"{given}: is given on the command line alone")
        if name not in known | {"seed"}:
            raise UsageError(f"unknown parameter {given!r}{nearest_hint(given, known)}")
        words += [f"{_OPTIONS[name]}={value}"] if name in _OPTIONS else ["--set", f"{name}={value}"]
    return words + changes.words


def seats_arguments(store: SqlStore, run: str, at: int, agents: Sequence[object]) -> list[str]:
    """Return the arguments that fork a run so that people speak for some participants; `--in-page` asks them there.

    Raises:
        UsageError: The turn is below 1, no seat is asked for, or an agent does not take part or is named twice.
    """
    record = store.run(run)
    names = store.start(record.run).names
    if not agents or any(agent not in names for agent in agents):
        raise UsageError(f"a seat is for one of those who take part: {', '.join(names)}")
    if len({*agents}) < len(agents):
        raise UsageError("two seats for one person: name each once")
    return [*fork_arguments(record.run, at, {}), f"--seat={','.join(map(str, agents))}"]


def resume_arguments(run: str) -> list[str]:
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
