"""Scenes: written conversations from which a model learns to talk, as JSON Lines.

Each line of a file is a scene of one of seven forms, told by its key `form`; a line without one is a `dialogue`. The
shipped scenes lie in `tertulia/worlds/scenes/`, and docs/scenes.md is their card.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from tertulia.state.errors import ScenarioError
from tertulia.state.files import links_noted
from tertulia.state.meeting import BIG_FIVE, EMOTIONS
from tertulia.state.records import Record
from tertulia.state.wrong_values import wrong_value
from tertulia.worlds.yaml_file import read_source

#: The largest file of scenes that is read, and the most scenes in it: the lessons of so many take 2 GB of memory.
MOST_BYTES, MOST_SCENES = 10**8, 20_000

Text = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=120, pattern=r"\S")]
Line = tuple[Name, Text]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d$")]


class ScenePerson(Record):
    """A person of a scene, and their memories when it begins."""

    name: Name
    age: int | None = Field(default=None, ge=0, le=150)
    traits: Text | None = None
    background: Text | None = None
    activity: Text | None = None
    memories: tuple[Text, ...] = ()


class EarlierTalk(Record):
    """An earlier conversation of the two of a scene."""

    time: Moment
    lines: tuple[Line, ...] = Field(min_length=1)


class TimedScene(Record):
    """A scene that begins at a moment."""

    time: Moment

    @property
    def began(self) -> datetime:
        """When it begins."""
        return datetime.fromisoformat(self.time)


class DialogueScene(TimedScene):
    """A conversation of two, and the memories of each."""

    form: Literal["dialogue"] = "dialogue"
    kind: Literal["matter", "everyday"] = Field(default="matter", description="something at stake, or plain talk")
    turn: Literal["refuses", "does_not_know", "changes_mind"] | None = Field(
        default=None, description="somebody must say no, does not know, or changes their mind"
    )
    place: Text | None = None
    people: tuple[ScenePerson, ScenePerson]
    previous: tuple[EarlierTalk, ...] = ()
    lines: tuple[Line, ...] = Field(min_length=2, max_length=400)

    @model_validator(mode="after")
    def _check(self) -> "DialogueScene":
        _require_speakers([person.name for person in self.people], self.lines, all_speak=True)
        for talk in self.previous:
            _require_speakers([person.name for person in self.people], talk.lines, all_speak=False)
        return self


class MeetingPerson(Record):
    """A person of a meeting."""

    name: Name
    age: int | None = Field(default=None, ge=0, le=150)
    big_five: tuple[str, ...] = ()
    background: Text | None = None
    descriptions: tuple[Text, ...] = ()
    goal: Text | None = None
    steps: tuple[Text, ...] = ()
    interests: tuple[Text, ...] = ()
    memories: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "MeetingPerson":
        known = [pole for poles in BIG_FIVE.values() for pole in poles]
        if unknown := [pole for pole in self.big_five if pole not in known]:
            raise ValueError(f"{unknown[0]!r} is no pole of a personality; take one of {', '.join(known)}")
        return self


class SceneMind(Record):
    """The mind of a participant after so many lines of a meeting. Source: ChatAgents §III-A, Fig. 6."""

    after: int = Field(ge=1, description="the lines that were said before")
    agent: Name
    key_information: Text
    character_analysis: Text
    decision_reason: Text
    recall: Text
    topic: Text
    move: Literal["keep", "shift", "pause"]
    situation: Text
    feeling: Literal[EMOTIONS]  # type: ignore[valid-type]
    strength: int = Field(ge=0, le=10)
    thought: Text
    steps_done: tuple[bool, ...] = ()
    next: Text
    ratings: dict[Literal["topic", "goal", "emotion", "personality"], Annotated[int, Field(ge=0, le=10)]]
    reasons: dict[Literal["topic", "goal", "emotion", "personality"], Text]
    speaks: bool


class MeetingScene(TimedScene):
    """A conversation of three or more, with some of their thoughts in between."""

    form: Literal["meeting"]
    title: Text
    description: Text
    place: Text | None = None
    ends: Annotated[str, Field(pattern=r"^\d\d:\d\d$")] | None = None
    people: tuple[MeetingPerson, ...] = Field(min_length=3, max_length=40)
    lines: tuple[Line, ...] = Field(min_length=2, max_length=400)
    minds: tuple[SceneMind, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "MeetingScene":
        _require_speakers([person.name for person in self.people], self.lines, all_speak=False)
        steps = {person.name: len(person.steps) for person in self.people}
        for mind in self.minds:
            if mind.agent not in steps or mind.after >= len(self.lines):
                raise ValueError(f"the mind of {mind.agent!r} after line {mind.after} belongs to nobody here")
            if len(mind.steps_done) != steps[mind.agent]:
                raise ValueError(
                    f"the mind of {mind.agent!r} after line {mind.after} does not count all of their steps"
                )
            if mind.speaks != (self.lines[mind.after][0] == mind.agent):
                raise ValueError(f"{mind.agent!r} after line {mind.after}: `speaks` is not what the next line shows")
        return self


class AlbumPerson(Record):
    """A person in an exchange about a picture."""

    name: Name
    properties: dict[Name, Text] = Field(default={})


class PastPicture(Record):
    """A remembered exchange about a picture."""

    asker: Name
    answerer: Name
    picture: Text
    question: Text
    answer: Text


class AlbumScene(Record):
    """An exchange about a picture: plan, question and answer. Source: the pairwise album chat, Fig. 13 to 15."""

    form: Literal["album"]
    setting: Literal["low", "high"]
    place: Text | None = None
    asker: AlbumPerson
    answerer: AlbumPerson
    history: tuple[PastPicture, ...] = ()
    album: tuple[Text, ...] = Field(min_length=1)
    picture: Text
    plan: Text
    question: Text
    answer: Text

    @model_validator(mode="after")
    def _check(self) -> "AlbumScene":
        if self.picture not in self.album:
            raise ValueError(f"the picture {self.picture!r} is none of the album")
        return self


class PairScene(Record):
    """A memory, and two replies: one that agrees with it, and one that contradicts it."""

    form: Literal["pair"]
    speaker: Name
    listener: Name
    memory: Text
    others: tuple[Text, ...] = ()
    before: Text
    agrees: Text
    contradicts: Text


class DraftsScene(TimedScene):
    """A conversation of two so far, and drafts of a model for the next line, with the grades that a reader gave them.

    Grade 2: it makes sense and carries the conversation on; 1: it makes sense, and says little; 0: it makes none.
    """

    form: Literal["drafts"]
    place: Text | None = None
    people: tuple[ScenePerson, ScenePerson]
    lines: tuple[Line, ...] = ()
    speaker: Name
    drafts: tuple[tuple[Text, Literal[0, 1, 2]], ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _check(self) -> "DraftsScene":
        names = [person.name for person in self.people]
        _require_speakers(names, [*self.lines, (self.speaker, "")], all_speak=False)
        return self


class EndingScene(Record):
    """A line, the reply, and whether they part after it."""

    form: Literal["ending"]
    line: Text
    reply: Text
    parts: bool


class RewritingScene(Record):
    """A reply that contradicts statements, its fault, and the corrected reply."""

    form: Literal["rewriting"]
    speaker: Name
    listener: Name
    statements: tuple[Text, ...] = Field(min_length=1)
    heard: Text
    reply: Text
    comment: Text
    rewritten: Text


Scene = DialogueScene | MeetingScene | AlbumScene | PairScene | DraftsScene | EndingScene | RewritingScene

_SCENE: TypeAdapter[Scene] = TypeAdapter(Annotated[Scene, Field(discriminator="form")])


def shipped_scenes() -> Path:
    """Return the folder with the scenes that are part of the project."""
    return Path(__file__).parent / "scenes"


def read_scenes(paths: Sequence[Path]) -> list[Scene]:
    """Return the scenes of files, and of all `*.jsonl` files of folders but links, in the order of their names.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: A file can't be read, holds no scene, too many, or an invalid one; it names file and line.
    """
    scenes: list[Scene] = []
    for path in paths:
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        files = [file for file in found if file == path or not file.is_symlink()]
        if not files:
            raise ScenarioError(f"{path} holds no scenes: there is no file *.jsonl in it")
        for file in files:
            scenes += _scenes_of(file)
    return scenes


def linked_scenes(folder: Path) -> tuple[str, ...]:
    """Return a line about the files of scenes in a folder that are links, as a tuple; empty without any."""
    return links_noted(sorted(file.name for file in folder.glob("*.jsonl") if file.is_symlink()), folder)


def _scenes_of(file: Path) -> list[Scene]:
    text = read_source(file, MOST_BYTES, "file of scenes")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ScenarioError(f"{file} holds no scenes: it is empty")
    if len(lines) > MOST_SCENES:
        raise ScenarioError(f"{file} has {len(lines)} scenes, more than {MOST_SCENES}; divide it")
    return [_scene_of(file, number, line) for number, line in lines]


def _scene_of(file: Path, number: int, line: str) -> Scene:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{file}, line {number}: no JSON ({error})") from None
    if not isinstance(value, dict):
        raise ScenarioError(f"{file}, line {number}: a scene is a JSON object, not {type(value).__name__}")
    try:
        return _SCENE.validate_python({"form": "dialogue", **value})
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        place = ".".join(str(part) for part in first["loc"][1:]) or "the scene"
        raise ScenarioError(f"{file}, line {number}: {place}: {wrong_value(first):.200}") from None


def _require_speakers(names: Sequence[str], lines: Iterable[Line], *, all_speak: bool) -> None:
    """Refuse ambiguous names, lines of strangers, and, if all must speak, a person without a line."""
    if len(set(names)) < len(names):
        raise ValueError("two people have the same name")
    said = Counter(speaker for speaker, _ in lines)
    if stranger := next((speaker for speaker in said if speaker not in names), None):
        raise ValueError(f"{stranger!r} says a line, and is none of {', '.join(names)}")
    if all_speak and (silent := next((name for name in names if name not in said), None)):
        raise ValueError(f"{silent!r} says nothing")
