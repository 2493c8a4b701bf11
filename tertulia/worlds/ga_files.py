"""Read and check the files of a Generative Agents run. Knows nothing of cases or of the moments of knowledge.

A run folder holds, for every person, `personas/NAME/bootstrap_memory/` with `associative_memory/nodes.json` (the
memory stream), `scratch.json` and `spatial_memory.json`, all as of the end of the run; and everybody's activities, in
either of two forms (`ga_movement.py`). Only the stream and `scratch.json` are required. A town in which nothing has
happened yet has the same files: there `scratch.json` holds for its beginning.

Source: the public format of Park et al. (2023), `storage/` and `compressed_storage/`.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.files import NOT_FOLLOWED, is_linked, links_noted
from tertulia.state.languages import language_of
from tertulia.state.records import Memory, MemoryKind, Persona, Utterance
from tertulia.state.sentences import sentences
from tertulia.state.text import counted, in_words, path_argument
from tertulia.worlds.ga_json import Json, checked, is_led_to, is_there, load
from tertulia.worlds.ga_movement import Action, read_movement
from tertulia.worlds.log_words import is_idle, is_made_up, place_in_words, without_made_up

#: Fields of scratch.json that the run rewrites: they hold for its end, not for any time before.
END_OF_RUN_FIELDS = ("currently", "daily_plan_req", "daily_req", "f_daily_schedule", "act_description", "act_address")

#: Of these, the texts about a person's plans.
_PLANS = ("currently", "daily_plan_req")

#: Fields of scratch.json in forks of the program that hold throughout a run.
_LASTING_FIELDS = frozenset(
    {
        *("gender", "sex", "race", "ethnicity", "nationality", "religion", "education", "occupation", "job"),
        *("political_affiliation", "village", "hometown", "family", "marital_status", "hobbies", "interests"),
    }
)
#: Texts of scratch.json that the program itself writes, beside those that are read or withheld here.
_OF_THE_PROGRAM = frozenset(
    {
        *("first_name", "last_name", "curr_time", "act_start_time", "act_pronunciatio", "act_obj_description"),
        *("act_obj_pronunciatio", "chatting_with", "chatting_end_time"),
    }
)

#: The folder of a person's files.
MEMORY = "bootstrap_memory"

#: Why texts are left out that the program wrote in the place of a reply.
MADE_UP = "the program's own words for a reply that failed"

#: How many runs of a folder of runs an error names.
_NAMED = 8


@dataclass(frozen=True)
class StreamRecord:
    """A record of a memory stream.

    Attributes:
        subject, predicate, object: The record as a triple; the subject of an event at an object is its address.
        evidence: Ids of the records from which a thought was drawn.
        utterances: The lines of a chat that has a text.
        is_made_up: Whether the program wrote its text, or all lines of its chat, because replies failed.
    """

    memory: Memory
    subject: str
    predicate: str
    object: str
    evidence: tuple[str, ...]
    utterances: tuple[Utterance, ...]
    is_made_up: bool

    @property
    def is_idle(self) -> bool:
        """Whether it is an event of a thing, or a person, that does nothing."""
        if self.memory.kind != "event":
            return False
        state = self.memory.text.rpartition(self.subject.rpartition(":")[2])[2]
        return is_idle(self.object) or is_idle(self.predicate) or is_idle(state)


@dataclass(frozen=True)
class PersonFiles:
    """A person's files in a run.

    Attributes:
        persona: The facts that hold at any moment of the run.
        stream: The whole memory stream, oldest first.
        actions: Their actions, oldest first; empty if the run has no movement file.
        end_of_run: Names of fields and files that hold something, but as of the end of the run.
        plans: Sentences about their plans and state when the run ends; before it begins, if nothing has happened.
        schedule: Their last day hour by hour, as activities and minutes.
        made_up: How many of their records, activities and lines the program made up.
    """

    persona: Persona
    stream: tuple[StreamRecord, ...]
    actions: tuple[Action, ...]
    end_of_run: tuple[str, ...]
    plans: tuple[str, ...]
    schedule: tuple[tuple[str, int], ...]
    made_up: int


@dataclass(frozen=True)
class RunFiles:
    """A run folder.

    Attributes:
        rooms: The rooms of a building that any person in the run knows, by `world:building`.
        notes: The folder's gaps, in words for people.
        begins: When the run begins; `None` if no file says so.
    """

    people: Mapping[str, PersonFiles]
    rooms: Mapping[str, frozenset[str]]
    notes: tuple[str, ...]
    begins: datetime | None

    @property
    def made_up_note(self) -> str | None:
        """A line about all texts that the program made up, for the whole run; `None` if there are none."""
        theirs = [person.made_up for person in self.people.values() if person.made_up]
        if not theirs:
            return None
        people = f"{len(theirs)} of {len(self.people)} people"
        return f"{counted(sum(theirs), 'text')} of {people}: {MADE_UP}"


def read_run(folder: Path) -> RunFiles:
    """Read a run folder; `NotFoundError` if there is none, `ScenarioError` for one that is incomplete or broken."""
    _require_run(folder)
    entries = sorted(path for path in (folder / "personas").iterdir() if not path.name.startswith("."))
    homes = [path for path in entries if path.is_dir() and not path.is_symlink()]
    links = [path for path in entries if path.is_symlink()]
    if not homes:
        linked = f" ({NOT_FOLLOWED})" if links else ""
        raise ScenarioError(f"{folder / 'personas'} is empty{linked}; a run has one folder per person there")
    movement = read_movement(folder)
    people: dict[str, PersonFiles] = {}
    for home in homes:
        person = _read_person(home)
        name = person.persona.name
        if name in people:
            raise ScenarioError(f"{home / MEMORY / 'scratch.json'}: name: another folder of the run is {name!r}, too")
        key = name if name in movement.actions else home.name
        made_up = person.made_up + movement.made_up.get(key, 0)
        people[name] = replace(person, actions=tuple(movement.actions.get(key, ())), made_up=made_up)
    notes = movement.notes
    if not any(person.stream for person in people.values()):  # the end is the beginning
        people = {name: replace(person, end_of_run=()) for name, person in people.items()}
        notes = ("nothing has happened in this town yet: places and activities are unknown",)
    memories = [home / MEMORY / "spatial_memory.json" for home in homes]
    links += [file for file in memories if is_led_to(file, folder)] + list(movement.links)
    return RunFiles(
        people=people,
        rooms=_read_rooms(homes),
        notes=(*notes, *links_noted([str(link.relative_to(folder)) for link in links], folder)),
        begins=movement.begins,
    )


def _require_run(folder: Path) -> None:
    if not os.path.exists(folder):
        raise NotFoundError(f"{folder}: there is no such folder; give the folder of a Generative Agents run")
    if not folder.is_dir():
        raise ScenarioError(f"{folder} is not a folder; give the folder of a Generative Agents run")
    if (folder / "personas").is_symlink():
        raise ScenarioError(f"{folder / 'personas'}: {NOT_FOLLOWED}")
    if (folder / "personas").is_dir():
        return
    if whole := next((path.parent for path in _upwards(folder) if path.name == "personas"), None):
        raise ScenarioError(f"{folder} is a part of a Generative Agents run; give the run: {path_argument(str(whole))}")
    if runs := _runs_in(folder):
        named = ", ".join(path_argument(run) for run in runs[:_NAMED])
        more = f" and {len(runs) - _NAMED:,} more" if len(runs) > _NAMED else ""
        raise ScenarioError(f"{folder} is a folder of Generative Agents runs; give one of them: {named}{more}")
    raise ScenarioError(f"{folder} holds no personas/ folder; give the folder of a Generative Agents run")


def _upwards(folder: Path) -> list[Path]:
    resolved = folder.resolve()
    return [resolved, *resolved.parents][:4]


def _runs_in(folder: Path) -> list[str]:
    """Return the runs in a folder of runs, in one that has such folders, or in a copy of the program, as paths."""
    patterns = ("*/personas", "*/*/personas", "environment/frontend_server/*storage/*/personas")
    try:
        found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_dir()}
    except OSError:
        return []
    return sorted(str(path.parent) for path in found if not is_linked(path, folder))


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


class _Node(Json):
    type: MemoryKind
    created: Annotated[datetime, BeforeValidator(_read_time)]
    subject: str
    predicate: str
    object: str
    description: str
    poignancy: float = Field(ge=0, le=10)
    filling: Any = None


class _Scratch(Json):
    model_config = ConfigDict(strict=True, extra="allow")

    name: str | None = None
    age: int | None = None
    innate: str | None = None
    learned: str | None = None
    lifestyle: str | None = None
    living_area: str | None = None


_NODES = TypeAdapter(dict[str, _Node])
_LINES = TypeAdapter(list[Annotated[list[Annotated[str, Field(strict=True)]], Field(min_length=2, max_length=2)]])
_SCHEDULE = TypeAdapter(list[tuple[str, Annotated[int, Field(ge=0, le=24 * 60)]]])
_TREE = TypeAdapter(dict[str, dict[str, dict[str, Any]]])


def _read_person(home: Path) -> PersonFiles:
    memory = home / MEMORY
    for needed in (memory / "associative_memory" / "nodes.json", memory / "scratch.json"):
        if is_led_to(needed, home):
            raise ScenarioError(f"{needed}: {NOT_FOLLOWED}")
        if not needed.exists():
            raise ScenarioError(f"{needed} is missing; every person of a run needs nodes.json and scratch.json")
    file = memory / "scratch.json"
    scratch = checked(TypeAdapter(_Scratch), load(file), file)
    rest = scratch.model_extra or {}
    name = scratch.name or home.name  # forks have folders in Latin letters for people with other names
    end_of_run = [field for field in END_OF_RUN_FIELDS if rest.get(field)]
    if is_there(memory / "spatial_memory.json", home):
        end_of_run.append("spatial_memory.json")
    stream, lines = _read_stream(memory / "associative_memory" / "nodes.json", name)
    if name != home.name and any(home.name in (record.subject, record.object) for record in stream):
        raise ScenarioError(
            f"{file}: name: {name!r} is not the name of the folder, {home.name!r}, which the stream uses"
        )
    lasting, unsure = _further_facts(rest)
    return PersonFiles(
        persona=Persona(
            name=name,
            home=address_in_words(scratch.living_area or ""),
            age=scratch.age,
            character=scratch.innate,
            background=tuple(filter(None, (scratch.learned, *lasting.values()))),
            lifestyle=scratch.lifestyle,
        ),
        stream=stream,
        actions=(),
        end_of_run=(*end_of_run, *unsure),
        plans=(*_plans(rest), *unsure.values()),
        schedule=tuple(_schedule(rest.get("f_daily_schedule"))),
        made_up=sum(record.is_made_up for record in stream) + lines,
    )


def _further_facts(fields: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts that forks of the program add to people, as sentences by field: lasting ones, and the others."""
    known = {*END_OF_RUN_FIELDS, *_OF_THE_PROGRAM}
    lasting: dict[str, str] = {}
    unsure: dict[str, str] = {}
    for name, value in fields.items():
        if isinstance(value, str) and value.strip() and name not in known:
            facts = lasting if name in _LASTING_FIELDS else unsure
            facts[name] = f"{in_words(name).capitalize()}: {value.strip().rstrip('.')}."
    return lasting, unsure


def _plans(fields: Mapping[str, Any]) -> list[str]:
    texts = [text for name in _PLANS if isinstance(text := fields.get(name), str)]
    found = [sentence.strip() for text in texts for sentence in sentences(text)]
    return [sentence for sentence in dict.fromkeys(found) if sentence and not is_made_up(sentence)]


def _schedule(value: Any) -> list[tuple[str, int]]:
    """Return activities and minutes of a day; nothing of a schedule in another form."""
    try:
        return [(activity.strip(), minutes) for activity, minutes in _SCHEDULE.validate_python(value or [])]
    except ValueError:
        return []


def _read_stream(file: Path, owner: str) -> tuple[tuple[StreamRecord, ...], int]:
    """Return the records of a stream, oldest first, and how many lines of the owner in them are made up."""
    records: list[StreamRecord] = []
    lines_made_up = 0
    for id, node in checked(_NODES, load(file), file).items():
        lines = checked(_LINES, node.filling or [], file, id, "filling") if node.type == "chat" else []
        spoken = without_made_up(lines)
        lines_made_up += sum(speaker == owner for speaker, _ in lines) - sum(speaker == owner for speaker, _ in spoken)
        records.append(
            StreamRecord(
                memory=Memory(
                    id=id, kind=node.type, text=node.description, created=node.created, importance=node.poignancy
                ),
                subject=node.subject,
                predicate=node.predicate,
                object=node.object,
                evidence=_evidence(node),
                utterances=_utterances(spoken),
                is_made_up=_is_made_up(node, owner) or bool(lines and not spoken),
            )
        )
    ordered = sorted(records, key=lambda record: (record.memory.created, _number(record.memory.id)))
    return tuple(ordered), lines_made_up


def _evidence(node: _Node) -> tuple[str, ...]:
    is_list = node.type != "chat" and isinstance(node.filling, list)
    return tuple(map(str, node.filling)) if is_list else ()


def _is_made_up(node: _Node, owner: str) -> bool:
    about = node.subject.rpartition(":")[2]
    return is_made_up(node.description, owner) or is_made_up(node.description, about)


def _utterances(lines: Sequence[Sequence[str]]) -> tuple[Utterance, ...]:
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
        if is_there(file, home):
            for world, buildings in checked(_TREE, load(file), file).items():
                for building, objects in buildings.items():
                    key = f"{world}:{building}"
                    rooms[key] = rooms.get(key, frozenset()) | objects.keys()
    return rooms
