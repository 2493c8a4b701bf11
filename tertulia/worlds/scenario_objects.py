"""Scenarios as objects of Python: `Case`, a dialogue of two, and `Meeting`, as a scenario file describes them.

An object holds the values of a file, read and checked by the same code: `Case.read` reads a file, `.write` writes one
that `tertulia run` accepts, and a run of either is the same, to the last digit.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml

from tertulia.state import meeting as records
from tertulia.state.errors import ScenarioError
from tertulia.state.records import Case as CaseRecord
from tertulia.state.wrong_arguments import path_of, with_named_arguments
from tertulia.state.wrong_values import shown
from tertulia.worlds.meeting_file import MeetingScenario
from tertulia.worlds.people import Person, plain
from tertulia.worlds.scenario_file import TwoPartyScenario, check_scenario, read_scenario_file
from tertulia.worlds.scenario_object import PREFIX, ScenarioObject, write_file
from tertulia.worlds.scenario_parts import extension_source
from tertulia.worlds.yaml_file import MOST_BYTES, YamlFile

#: The order of fields in a written file: the subject first, then the settings of its run.
_FIRST = (
    *("kind", "name", "description", "time", "ends", "place", "opening", "participants", "goals"),
    *("previous_dialogues", "lines", "mechanisms", "order", "lambda", "limits"),
)

#: Parts of a file that may be a text alone, and the field that the text is.
_SHORT = ("text", "goal")

#: The arguments that have another name in a file: λ is `lambda` there, which Python keeps for itself.
_IN_FILE = {"removal_factor": ("lambda",), "rounds": ("limits", "rounds"), "minutes": ("limits", "minutes")}


class FileObject(ScenarioObject):
    """A scenario as a file has it; `Case` and `Meeting` are the two kinds.

    Attributes:
        content: The scenario, checked.
        file: The file that it was read from or written to, as it was named; `None` for one that is in none.
        folder: The folder from which files of extensions are found.
        is_users: Whether the user's program made it, so that the user names its models and extensions.
    """

    noun: ClassVar[str]
    model: ClassVar[type[TwoPartyScenario | MeetingScenario]]

    content: TwoPartyScenario | MeetingScenario
    file: str | None
    folder: Path
    is_users: bool

    def _fill(self, values: Mapping[str, Any]) -> None:
        """Take the values of fields, those that are `None` left out."""
        given = {name: value for name, value in values.items() if value is not None}
        people = given.get("participants", ())
        if isinstance(people, Person | str | bytes | Mapping) or not isinstance(people, Iterable):
            raise ScenarioError(f"{self.noun}: participants: takes a list of people: {shown(people)}")
        people = list(people)
        names = self._models_of_users(people)
        given["participants"] = [person.in_file() if isinstance(person, Person) else person for person in people]
        place = Path(self._label(given.get("name")))
        self._take(check_scenario(YamlFile(place, None, plain(given), has_lines=False), self.model), None, Path.cwd())
        self.is_users, self._named = True, names

    @classmethod
    def _label(cls, name: object) -> str:
        """Return what a message calls an object of that name."""
        return f"{cls.noun} {shown(name)}" if isinstance(name, str) else cls.noun

    def _take(self, content: TwoPartyScenario | MeetingScenario, file: str | None, folder: Path) -> None:
        self.content, self.file, self.folder = content, file, folder
        self.is_users, self._named = False, frozenset[str]()

    @staticmethod
    def _models_of_users(people: Iterable[object]) -> frozenset[str]:
        """Return the models of people that the program made, not a file."""
        made = (person for person in people if isinstance(person, Person) and not person._of_file)
        return frozenset(person.model for person in made if person.model is not None)

    @property
    def named(self) -> frozenset[str]:
        """The models that the user's program names by it."""
        return self._named

    @property
    def scenario(self) -> str:
        """The name under which a run of it is recorded: its file, or `object:NAME`."""
        return self.file or f"{PREFIX}{self.name}"

    @property
    def name(self) -> str:
        """Its name."""
        return self.content.name

    @property
    def description(self) -> str | None:
        """The situation, as everybody knows it."""
        return self.content.description

    @property
    def time(self) -> datetime:
        """When it begins."""
        return self.content.time

    @property
    def place(self) -> str | None:
        """The place of the conversation."""
        return self.content.place

    @property
    def participants(self) -> tuple[Person, ...]:
        """The people, in order."""
        people = tuple(Person(**plain(person)) for person in self.content.participants)
        for person in people:
            person._of_file = person.model is not None and person.model not in self._named
        return people

    def settings(self) -> dict[str, Any]:
        """Return the parameters that it sets, for `Parameters.with_settings`."""
        return self.content.settings()

    def start(self, mechanisms: Collection[str] | None, *_: object) -> "CaseRecord | records.Meeting":
        """Return the start of a run.

        Args:
            mechanisms: Names of the known mechanisms; a meeting that names none has them all.

        Raises:
            ScenarioError: It names a mechanism that is not known.
        """
        if isinstance(self.content, TwoPartyScenario):
            return self.content.case(self.scenario)
        YamlFile(Path(self.scenario), None, {}, has_lines=False).check(self.content.problems(mechanisms))
        return self.content.meeting(self.scenario, mechanisms)

    def extensions(self) -> tuple[str, ...]:
        """Return the files (absolute paths) and entry points of its extensions."""
        return tuple(extension_source(source, self.folder) for source in self.content.extensions)

    @with_named_arguments
    def replace(self, **fields: Any) -> Self:
        """Return a copy with other values of some fields, under their names in a scenario file.

        The file alone still names the models and extensions that it named in the original.

        Raises:
            ScenarioError: There is no such field, it is given under two names, or the value is not acceptable.
        """
        changed = object.__new__(type(self))
        people = fields.get("participants", self.participants)
        given = _as_in_file(
            self._label(fields.get("name", self.name)),
            {name: value for name, value in fields.items() if name != "removal_factor"},
            removal_factor=fields.get("removal_factor"),
        )
        values = {**_values_of(self.content), "participants": people, **given}
        FileObject._fill(changed, values)
        changed.folder = self.folder
        changed.is_users = self.is_users
        return changed

    def yaml(self) -> str:
        """Return it as the text of a scenario file."""
        return _yaml_of(self.content, self.content.extensions)

    @with_named_arguments
    def write(self, path: Path | str, overwrite: bool = False) -> Path:
        """Write a scenario file, which `tertulia run` accepts, and return its path; runs of it have that name now.

        Args:
            path: A file that ends in `.yaml`.
            overwrite: Whether a file of that name is replaced.

        Raises:
            UsageError: There is such a file, or it can't be written.
            ScenarioError: It is larger than a scenario file may be.
        """
        text = self.text_in(Path(path_of("path", path)).expanduser().absolute().parent)
        file = write_file(path, text, overwrite)
        self.file = os.fspath(path)
        return file

    def text_in(self, folder: Path) -> str:
        """Return the text of a file of it in a folder, from which its extensions are found.

        Raises:
            ScenarioError: It is larger than a scenario file may be.
        """
        sources = self.content.extensions
        if folder != self.folder.absolute():
            sources = tuple(
                os.path.relpath(extension_source(source, self.folder), folder) if source.endswith(".py") else source
                for source in sources
            )
        text = _yaml_of(self.content, sources)
        label, size = self._label(self.name), len(text.encode("utf-8"))
        if size > MOST_BYTES:
            raise ScenarioError(f"{label}: takes {size:,} bytes as a file, and {MOST_BYTES:,} are read")
        YamlFile.of_text(Path(label), text)  # as many values as a file may have
        return text

    def kept_name(self) -> str:
        """Return the name of the file in which an experiment keeps it: its name and a hash of its content."""
        digest = hashlib.blake2b(self.yaml().encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')[:40] or 'scenario'}-{digest}.yaml"

    @classmethod
    @with_named_arguments
    def read(cls, path: Path | str) -> Self:
        """Read a scenario file.

        The file alone names its extensions and servers, as on the command line (SECURITY.md).

        Raises:
            NotFoundError: There is no such file.
            ScenarioError: It can't be read as one, or is of the other kind; the message names file, line and field.
            SettingError: The path is none.
        """
        found, file = object.__new__(cls), Path(path_of("path", path)).expanduser()
        content = read_scenario_file(file)
        if not isinstance(content, cls.model):
            other, two = "a meeting; read it with tertulia.Meeting.read", "a dialogue; read it with tertulia.Case.read"
            is_meeting = isinstance(content, MeetingScenario)
            raise ScenarioError(f"{path}: is {other if is_meeting else two}")
        found._take(content, os.fspath(path), file.parent)
        return found

    def __eq__(self, other: object) -> bool:
        """Return whether the other describes the same, from any source."""
        return isinstance(other, FileObject) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return its kind, its name, its time and its people."""
        names = [person.name for person in self.content.participants]
        others = f" and {len(names) - 6} more" if len(names) > 6 else ""
        return f"<{type(self).__name__} {self.name!r}, {self.time:%Y-%m-%d %H:%M}: {', '.join(names[:6])}{others}>"


class Case(FileObject):
    """A dialogue of two people as an object, as a scenario file describes it; the first begins.

    ::

        case = tertulia.Case("harbour cafe", [ines, joao], time="2024-11-15 16:30", place="Harbour Cafe")
        run = tertulia.run(case, removal_factor=0.5)
        case.write("harbour_cafe.yaml")
    """

    noun = "Case"
    model = TwoPartyScenario

    @with_named_arguments
    def __init__(
        self,
        name: str | None = None,
        participants: Iterable[Person] = (),
        *,
        time: datetime | str | None = None,
        description: str | None = None,
        place: str | None = None,
        previous_dialogues: Iterable[Any] | None = None,
        language: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Make a dialogue of two people, each with memories.

        Args:
            name: Its name.
            participants: Two people, or an iterable that yields them.
            time: When it begins, local time; memories are from before.
            description: The situation, as both know it.
            place: Their meeting place.
            previous_dialogues: Earlier dialogues: `{"time": …, "lines": [(speaker, text), …]}`.
            language: The language of the prompts, as a code: `en`, `de`.
            parameters: Any parameters of a run.
            fields: Other fields of a scenario file: `nodes`, `settings`, `extensions`, `lines`.

        Raises:
            ScenarioError: A field is missing, unknown, or not acceptable; the words are those about a file.
        """
        given: dict[str, Any] = {
            "name": name,
            "participants": participants,
            "time": time,
            "description": description,
            "place": place,
        }
        given |= {"previous_dialogues": previous_dialogues, "language": language, "parameters": parameters}
        self._fill({**given, **fields})


class Meeting(FileObject):
    """A meeting of two or more people as an object, as a scenario file describes it; each decides when to speak.

    ::

        people = tertulia.generate_people(5, seed=1)
        meeting = tertulia.Meeting("the roof", people, time="2026-05-14 18:00", description="It leaks.", rounds=20)
        run = tertulia.run(meeting)
    """

    noun = "Meeting"
    model = MeetingScenario

    @with_named_arguments
    def __init__(
        self,
        name: str | None = None,
        participants: Iterable[Person] = (),
        *,
        time: datetime | str | None = None,
        description: str | None = None,
        place: str | None = None,
        ends: datetime | str | None = None,
        opening: tuple[str, str] | Mapping[str, str] | None = None,
        goals: Iterable[Any] | None = None,
        mechanisms: Iterable[str] | None = None,
        order: str | None = None,
        removal_factor: float | None = None,
        rounds: int | None = None,
        minutes: float | None = None,
        language: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Make a meeting.

        Args:
            name: Its name.
            participants: Two to 1,000 people, or an iterable that yields them.
            time: When it begins, local time.
            description: The situation, as everybody knows it.
            place: Their meeting place.
            ends: The scheduled end that everybody knows of.
            opening: The speaker and text of a line before the first round: `("Nora", "Listen to that bucket.")`.
            goals: Goals by owner: `{"owner": "Nora", "goal": …}`, beside those of people.
            mechanisms: The mechanisms that agents may switch on; all by default.
            order: self_driven, rule_based, centralised, random or designated.
            removal_factor: λ in [0, 1].
            rounds, minutes: At most so many rounds, and simulated minutes.
            language: The language of the prompts, as a code: `en`, `de`.
            parameters: Any parameters of a run.
            fields: Other fields of a scenario file: `nodes`, `settings`, `extensions`, `limits`.

        Raises:
            ScenarioError: A field is missing, unknown, given under two names, or not acceptable; the words are those
                about a file.
        """
        given: dict[str, Any] = {
            "name": name,
            "participants": participants,
            "time": time,
            "description": description,
            "place": place,
        }
        if isinstance(opening, tuple) and len(opening) == 2:
            opening = {"speaker": opening[0], "text": opening[1]}
        others = _as_in_file(self._label(name), fields, removal_factor=removal_factor, rounds=rounds, minutes=minutes)
        given |= {"ends": ends, "opening": opening, "goals": goals, "mechanisms": mechanisms, "order": order}
        given |= {"language": language, "parameters": parameters}
        self._fill({**given, **others})


def _as_in_file(label: str, fields: Mapping[str, Any], **arguments: Any) -> dict[str, Any]:
    """Return fields of a file with the arguments that have another name there; those that are `None` are left out.

    Raises:
        ScenarioError: A field is given under both names.
    """
    found = dict(fields)
    for argument, value in arguments.items():
        if value is None:
            continue
        name, *inner = _IN_FILE[argument]
        within = (plain(found.get(name)) or {}) if inner else found
        if not isinstance(within, dict):
            continue  # refused as a field
        part = inner[0] if inner else name
        if within.get(part) is not None:
            raise ScenarioError(f"{label}: {'.'.join((name, *inner))}: is given as {argument} too; keep one of the two")
        found[name] = {**within, part: value} if inner else value
    return found


def _values_of(content: TwoPartyScenario | MeetingScenario) -> dict[str, Any]:
    """Return the fields of a scenario as its file has them; those at their defaults are left out."""
    values: dict[str, Any] = plain(content.model_dump(by_alias=True, exclude_defaults=True))
    if isinstance(content, MeetingScenario):
        values["kind"] = "group_chat"
    return {name: values[name] for name in sorted(values, key=lambda name: (_place(name), name))}


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _yaml_of(content: TwoPartyScenario | MeetingScenario, extensions: Iterable[str]) -> str:
    values = _values_of(content)
    if "extensions" in values:
        values["extensions"] = list(extensions)
    return yaml.dump(_shortened(values), Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=110)


def _shortened(value: Any) -> Any:
    """Return values with memories and goals that are a text alone as that text."""
    if isinstance(value, dict):
        return {name: _shortened(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    is_text = [isinstance(part, dict) and len(part) == 1 and next(iter(part)) in _SHORT for part in value]
    return [
        next(iter(part.values())) if alone else _shortened(part) for part, alone in zip(value, is_text, strict=True)
    ]


class PlainDumper(yaml.SafeDumper):
    """A YAML writer that repeats equal values, in place of anchors and aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that nothing is written as an alias."""
        return True
