"""Read and check the files of a Generative Agents run. Knows nothing of cases or of the moments of knowledge.

A run folder holds, for every person, `personas/NAME/bootstrap_memory/` with `associative_memory/nodes.json` (the
memory stream), `scratch.json` and `spatial_memory.json`, all as of the end of the run; and `meta.json` and
`master_movement.json` (everybody's activities, step by step). Only the stream and `scratch.json` are required.

Source: the public format of Park et al. (2023), compressed storage.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.files import NOT_FOLLOWED, is_linked, links_noted, read_text
from tertulia.state.languages import language_of
from tertulia.state.records import Memory, MemoryKind, Persona, Utterance
from tertulia.state.text import one_line
from tertulia.state.wrong_values import wrong_value
from tertulia.worlds.log_words import is_idle, place_in_words

#: Fields of scratch.json that the run rewrites: they hold for its end, not for any time before.
END_OF_RUN_FIELDS = ("currently", "daily_plan_req", "daily_req", "f_daily_schedule", "act_description", "act_address")

#: How versions of the program write the first day of a run.
_DATES = ("%B %d, %Y", "%Y年%m月%d日")

#: The largest file of a run that is read: everything that 25 people did in two days takes less than 20 MB.
MOST_BYTES = 64 * 10**6

#: The folder of a person's files, and the files of everybody's activities.
MEMORY, _MOVEMENT_FILE, _META_FILE = "bootstrap_memory", "master_movement.json", "meta.json"

T = TypeVar("T")


@dataclass(frozen=True)
class StreamRecord:
    """A record of a memory stream.

    Attributes:
        subject, predicate, object: The record as a triple; the subject of an event at an object is its address.
        evidence: Ids of the records from which a thought was drawn.
        utterances: The lines of a chat that has a text.
    """

    memory: Memory
    subject: str
    predicate: str
    object: str
    evidence: tuple[str, ...]
    utterances: tuple[Utterance, ...]

    @property
    def is_idle(self) -> bool:
        """Whether it is an event of a thing, or a person, that does nothing."""
        if self.memory.kind != "event":
            return False
        state = self.memory.text.rpartition(self.subject.rpartition(":")[2])[2]
        return is_idle(self.object) or is_idle(self.predicate) or is_idle(state)


@dataclass(frozen=True)
class Action:
    """A person's action from a time on: the activity, the address it is meant for, and the chat it belongs to."""

    since: datetime
    activity: str
    address: str
    chat: object


@dataclass(frozen=True)
class PersonFiles:
    """A person's files in a run.

    Attributes:
        persona: The facts that hold at any moment of the run.
        stream: The whole memory stream, oldest first.
        actions: Their actions, oldest first; empty if the run has no movement file.
        end_of_run: Names of fields and files that hold something, but as of the end of the run.
    """

    persona: Persona
    stream: tuple[StreamRecord, ...]
    actions: tuple[Action, ...]
    end_of_run: tuple[str, ...]


@dataclass(frozen=True)
class RunFiles:
    """A run folder.

    Attributes:
        rooms: The rooms of a building that any person in the run knows, by `world:building`.
        notes: The folder's gaps, in words for people.
    """

    people: Mapping[str, PersonFiles]
    rooms: Mapping[str, frozenset[str]]
    notes: tuple[str, ...]


def read_run(folder: Path) -> RunFiles:
    """Read a run folder; `NotFoundError` if there is none, `ScenarioError` for one that is incomplete or broken."""
    if not os.path.exists(folder):
        raise NotFoundError(f"{folder}: there is no such folder; give the folder of a Generative Agents run")
    if not folder.is_dir():
        raise ScenarioError(f"{folder} is not a folder; give the folder of a Generative Agents run")
    if not (folder / "personas").is_dir():
        raise ScenarioError(f"{folder} holds no personas/ folder; give the folder of a Generative Agents run")
    if (folder / "personas").is_symlink():
        raise ScenarioError(f"{folder / 'personas'}: {NOT_FOLLOWED}")
    entries = sorted(path for path in (folder / "personas").iterdir() if not path.name.startswith("."))
    homes = [path for path in entries if path.is_dir() and not path.is_symlink()]
    links = [path for path in entries if path.is_symlink()]
    if not homes:
        linked = f" ({NOT_FOLLOWED})" if links else ""
        raise ScenarioError(f"{folder / 'personas'} is empty{linked}; a run has one folder per person there")
    actions, notes = _read_movement(folder)
    optional = [home / MEMORY / "spatial_memory.json" for home in homes]
    optional += [folder / _MOVEMENT_FILE, folder / _META_FILE]
    links += [file for file in optional if _is_led_to(file, folder)]
    return RunFiles(
        people={home.name: _read_person(home, actions.get(home.name, [])) for home in homes},
        rooms=_read_rooms(homes),
        notes=(*notes, *links_noted([str(link.relative_to(folder)) for link in links], folder)),
    )


def address_in_words(address: str) -> str | None:
    """Return an address `world:building:room:object` in words, `cafe at Hobbs Cafe`; `None` if it names no place.

    The world and the object are left out; parts such as `<random>` name no place. Addresses in other scripts than
    Latin are put as that language puts them, `咖啡馆的厨房`.
    """
    parts = [part.strip() for part in address.split(":")]
    if parts[0].startswith("<"):
        return None
    named = dict.fromkeys(part for part in parts[1:3] if part and not part.startswith("<"))
    return place_in_words([*named], language_of(named)) or None


# --- the files of a person ------------------------------------------------------------------------------------------


def _read_time(value: Any) -> Any:
    try:
        return datetime.strptime(value, "%Y-%m-%d %H:%M:%S")
    except (TypeError, ValueError):
        raise ValueError("takes a time of the form YYYY-MM-DD HH:MM:SS") from None


class _Json(BaseModel):
    """The fields that are read of a JSON object; further fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class _Node(_Json):
    type: MemoryKind
    created: Annotated[datetime, BeforeValidator(_read_time)]
    subject: str
    predicate: str
    object: str
    description: str
    poignancy: float = Field(ge=0, le=10)
    filling: Any = None


class _Scratch(_Json):
    model_config = ConfigDict(strict=True, extra="allow")

    name: str | None = None
    age: int | None = None
    innate: str | None = None
    learned: str | None = None
    lifestyle: str | None = None
    living_area: str | None = None


class _Meta(_Json):
    start_date: str
    sec_per_step: float = Field(gt=0, le=3600)


class _Step(_Json):
    description: str
    chat: Any = None


_NODES = TypeAdapter(dict[str, _Node])
_LINES = TypeAdapter(list[Annotated[list[Annotated[str, Field(strict=True)]], Field(min_length=2, max_length=2)]])
_MOVEMENT = TypeAdapter(dict[str, dict[str, _Step]])
_TREE = TypeAdapter(dict[str, dict[str, dict[str, Any]]])


def _read_person(home: Path, actions: list[Action]) -> PersonFiles:
    memory = home / MEMORY
    for needed in (memory / "associative_memory" / "nodes.json", memory / "scratch.json"):
        if _is_led_to(needed, home):
            raise ScenarioError(f"{needed}: {NOT_FOLLOWED}")
        if not needed.exists():
            raise ScenarioError(f"{needed} is missing; every person of a run needs nodes.json and scratch.json")
    file = memory / "scratch.json"
    scratch = _checked(TypeAdapter(_Scratch), _load(file), file)
    if scratch.name not in (None, home.name):
        raise ScenarioError(f"{file}: name: {scratch.name!r} is not the name of the folder, {home.name!r}")
    rest = scratch.model_extra or {}
    end_of_run = [field for field in END_OF_RUN_FIELDS if rest.get(field)]
    if _is_there(memory / "spatial_memory.json", home):
        end_of_run.append("spatial_memory.json")
    return PersonFiles(
        persona=Persona(
            name=home.name,
            home=address_in_words(scratch.living_area or ""),
            age=scratch.age,
            character=scratch.innate,
            background=(scratch.learned,) if scratch.learned else (),
            lifestyle=scratch.lifestyle,
        ),
        stream=_read_stream(memory / "associative_memory" / "nodes.json"),
        actions=tuple(actions),
        end_of_run=tuple(end_of_run),
    )


def _read_stream(file: Path) -> tuple[StreamRecord, ...]:
    nodes = _checked(_NODES, _load(file), file)
    records = [
        StreamRecord(
            memory=Memory(
                id=id, kind=node.type, text=node.description, created=node.created, importance=node.poignancy
            ),
            subject=node.subject,
            predicate=node.predicate,
            object=node.object,
            evidence=tuple(map(str, node.filling)) if node.type != "chat" and isinstance(node.filling, list) else (),
            utterances=_read_utterances(node.filling, file, id) if node.type == "chat" else (),
        )
        for id, node in nodes.items()
    ]
    return tuple(sorted(records, key=lambda record: (record.memory.created, _number(record.memory.id))))


def _read_utterances(filling: Any, file: Path, id: str) -> tuple[Utterance, ...]:
    lines = _checked(_LINES, filling or [], file, id, "filling")
    if not any(text.strip() for _, text in lines):
        return ()
    return tuple(Utterance(speaker=speaker, text=text) for speaker, text in lines)


def _number(id: str) -> tuple[int, str]:
    """Return the sort key of records of the same time: `node_12` comes after `node_9`."""
    digits = re.search(r"\d+$", id, re.ASCII)
    return (int(digits[0]) if digits else -1, id)


def _read_rooms(homes: list[Path]) -> dict[str, frozenset[str]]:
    rooms: dict[str, frozenset[str]] = {}
    for home in homes:
        file = home / MEMORY / "spatial_memory.json"
        if _is_there(file, home):
            for world, buildings in _checked(_TREE, _load(file), file).items():
                for building, objects in buildings.items():
                    key = f"{world}:{building}"
                    rooms[key] = rooms.get(key, frozenset()) | objects.keys()
    return rooms


# --- movement -------------------------------------------------------------------------------------------------------


def _read_movement(folder: Path) -> tuple[dict[str, list[Action]], tuple[str, ...]]:
    file, meta_file = folder / _MOVEMENT_FILE, folder / _META_FILE
    if not _is_there(file, folder):
        return {}, ("master_movement.json is not there: activities are from the people's own memories",)
    if not _is_there(meta_file, folder):
        return {}, ("meta.json is not there, so the steps of master_movement.json have no time: it is not used",)
    meta = _checked(TypeAdapter(_Meta), _load(meta_file), meta_file)
    start = _date_of(meta, meta_file)
    actions: dict[str, list[Action]] = {}
    for step, people in _steps(_checked(_MOVEMENT, _load(file), file), file):
        since = start + timedelta(seconds=step * meta.sec_per_step)
        for name, entry in people.items():
            activity, _, address = entry.description.partition(" @ ")
            action = Action(since=since, activity=activity, address=address, chat=entry.chat)
            earlier = actions.setdefault(name, [])
            # A walking person has an entry at every step: only changes since the step before are kept.
            if not earlier or replace(earlier[-1], since=since) != action:
                earlier.append(action)
    return actions, ()


def _date_of(meta: _Meta, file: Path) -> datetime:
    for form in _DATES:
        try:
            return datetime.strptime(meta.start_date.strip(), form)
        except ValueError:
            continue
    raise ScenarioError(f"{file}: start_date: {meta.start_date!r} is not a date of the form 'February 13, 2023'")


def _steps(movement: dict[str, dict[str, _Step]], file: Path) -> Iterator[tuple[int, dict[str, _Step]]]:
    for step in movement:
        if not re.fullmatch(r"\d{1,7}", step, re.ASCII):
            raise ScenarioError(f"{file}: {step!r} is not the number of a step")
    for step in sorted(movement, key=int):
        yield int(step), movement[step]


# --- reading and checking -------------------------------------------------------------------------------------------


def _is_there(file: Path, folder: Path) -> bool:
    return file.exists() and not _is_led_to(file, folder)


def _is_led_to(file: Path, folder: Path) -> bool:
    """Return whether a link leads to a file; if it leads to a device or a pipe, reading it raises the error."""
    return file.is_file() and is_linked(file, folder)


def _load(file: Path) -> Any:
    try:
        return json.loads(read_text(file, MOST_BYTES))
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{file}:{error.lineno}:{error.colno}: broken JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, a number of thousands of digits, thousands of brackets
        raise ScenarioError(f"{file}: broken JSON: {error}") from None
    except OSError as error:
        raise ScenarioError(f"{file}: can't be read: {error.strerror}") from None


def _checked(adapter: TypeAdapter[T], value: Any, file: Path, *within: str) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]
        location = one_line(".".join(str(part) for part in (*within, *problem["loc"]) if part != "[key]"))
        place = f"{file}: {location}" if location else str(file)
        raise ScenarioError(f"{place}: {one_line(wrong_value(problem))}") from None
