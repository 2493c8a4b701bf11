"""People from the page: files are dropped there, and a conversation of their people is begun.

The page names files that it has sent by ids, so that a conversation begins with the people that were read here. A
file is read in a folder that is deleted at once; its people are kept in memory until the server ends.
"""

import asyncio
import json
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tertulia.state.errors import ScenarioError, SettingError, TertuliaError, UsageError
from tertulia.state.files import read_text
from tertulia.state.text import clean, shortened
from tertulia.storage.addresses import StoreAddress, argument_for
from tertulia.viewer.documents.people import LONGEST_VALUE, VISITOR, PeopleFile, people_page
from tertulia.viewer.fork_changes import LONGEST_TEXT
from tertulia.viewer.sent import check_sender, sent_json
from tertulia.viewer.starting import Starter
from tertulia.worlds.catalog import path_from_here
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined, read_people
from tertulia.worlds.characters.scenario import scenario_of
from tertulia.worlds.characters.writing import file_name
from tertulia.worlds.yaml_file import MOST_BYTES

#: The most bytes of a file that is dropped, characters of its people, and files that are kept; older ones are
#: forgotten.
LARGEST_FILE, _MOST_CHARACTERS, _KEPT = 50 * 10**6, MOST_BYTES, 64

#: The most characters of a name: a file's, and the visitor's.
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Asked:
    """A conversation that the page asks for.

    Attributes:
        people: The people of the files.
        situation: Instead of that of their files; `None`: theirs.
        visitor: The name of the visitor.
    """

    people: tuple[ImportedPerson, ...]
    situation: str | None
    visitor: str

    @property
    def has_visitor(self) -> bool:
        """Whether the visitor takes part: beside a single person."""
        return len(self.people) == 1

    @property
    def file_name(self) -> str:
        """A name for the file of the scenario: that of the first of its people."""
        return f"{file_name(str(self.people[0].values['name']).casefold())}.yaml"

    def scenario(self) -> str:
        """Return the scenario as a YAML file; `ScenarioError` if there is none."""
        people: Sequence[ImportedPerson] = self.people
        if self.situation is not None:
            people = [replace(person, situation=None) for person in people]
            people[0] = replace(people[0], situation=self.situation or None)
        return scenario_of(people, self.visitor if self.has_visitor else None)


class PeoplePages:
    """The handlers of requests about people."""

    def __init__(self, store: StoreAddress, starter: Starter) -> None:
        """Note the store, beside which scenarios are written, and the starter of their conversations."""
        self._store, self._starter = store, starter
        self._files: dict[str, PeopleFile] = {}

    async def bring(self, request: Request) -> Response:
        """Read a file of people, `?name=…`, and answer its id."""
        check_sender(request, "application/octet-stream")
        name = shortened(clean(request.query_params.get("name", "")), _LONGEST_NAME) or "the file"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people"
            await _save(request, path, name)
            people = await asyncio.to_thread(_read, path, name)
        id = secrets.token_hex(4)
        self._files = dict([*self._files.items(), (id, PeopleFile(name, people))][-_KEPT:])
        return JSONResponse({"file": id})

    async def shown(self, request: Request) -> Response:
        """Answer the people of files, `?files=ID,ID`."""
        return JSONResponse(people_page(self._found(request.query_params.get("files", "").split(","))))

    async def scenario(self, request: Request) -> Response:
        """Answer the scenario of people as the text of a file, with a name for it."""
        match await sent_json(request):
            case {"files": list(files), "situation": situation, "visitor": visitor, **more} if not more:
                asked = self._asked(files, situation, visitor)
                return JSONResponse({"name": asked.file_name, "text": await asyncio.to_thread(asked.scenario)})
        raise UsageError("a scenario has files, a situation and a visitor")

    async def begin(self, request: Request) -> Response:
        """Write the scenario of people beside the store, begin its conversation, and answer the command.

        The body is `{"files": […], "situation": … or null, "visitor": …, "lambda": … or null, "rehearse": …}`.
        """
        match await sent_json(request):
            case {
                "files": list(files),
                "situation": situation,
                "visitor": visitor,
                "lambda": float() | int() | None as factor,
                "rehearse": bool(rehearse),
                **more,
            } if not more:
                asked = self._asked(files, situation, visitor)
            case _:
                raise UsageError("a conversation has files, a situation, a visitor, λ, and whether it is rehearsed")
        if isinstance(factor, bool) or (factor is not None and not 0 <= factor <= 1):
            raise SettingError("lambda", factor, ": takes a number from 0 to 1")
        text = await asyncio.to_thread(asked.scenario)
        folder = self._store.absolute().parent if isinstance(self._store, Path) else Path.cwd()
        file, is_new = _write(folder, asked.file_name, text)
        words = ["run", path_from_here(file.name, folder), "--in-page", "--store", argument_for(self._store)]
        words += [] if factor is None else [f"--lambda={factor}"]
        words += ["--rehearse"] if rehearse else []
        words += [f"--seat={asked.visitor}"] if asked.has_visitor else []
        try:
            command = self._starter.start(words)
        except TertuliaError:
            if is_new:
                file.unlink()
            raise
        return JSONResponse(command.document() | {"scenario": file.name})

    def _found(self, ids: Sequence[Any]) -> dict[str, PeopleFile]:
        """Return files by their ids; `UsageError` if one is not known any more."""
        if any(not isinstance(id, str) or id not in self._files for id in ids):
            raise UsageError("The server does not have these files any more. Bring them again.")
        return {id: self._files[id] for id in ids}

    def _asked(self, files: Sequence[Any], situation: object, visitor: object) -> Asked:
        people = joined([person for file in self._found(files).values() for person in file.people])
        if not people:
            raise UsageError("nobody was brought; drop a file of people on the page")
        if not (situation is None or isinstance(situation, str)) or not isinstance(visitor, str):
            raise UsageError("a situation and the name of a visitor are texts")
        if situation is not None and len(situation) > LONGEST_TEXT:
            raise UsageError(f"the situation has {len(situation):,} characters, and may have {LONGEST_TEXT:,}")
        name = clean(visitor) or VISITOR
        if len(name) > _LONGEST_NAME:
            raise UsageError(f"the visitor's name has {len(name):,} characters, and may have {_LONGEST_NAME}")
        return Asked(people, None if situation is None else clean(situation), name)


async def _save(request: Request, path: Path, name: str) -> None:
    """Write the body of a request to a file.

    A body that is too large is read to its end, so that the browser shows the answer.

    Raises:
        HTTPException: It is too large.
    """
    size = 0
    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= LARGEST_FILE:
                file.write(chunk)
    if size > LARGEST_FILE:
        raise HTTPException(413, f"{name} is larger than {LARGEST_FILE // 10**6} MB, the most that a file may have.")


def _read(path: Path, name: str) -> tuple[ImportedPerson, ...]:
    """Return the people of a file that was sent under a name; messages have that name, not the path."""
    try:
        people = read_people(path)
    except TertuliaError as error:
        raise UsageError(clean(str(error).replace(str(path), name))) from None
    size = sum(len(json.dumps(dict(person.values), default=str)) for person in people)
    if size > _MOST_CHARACTERS:
        raise ScenarioError(f"{name}: its people take {size:,} characters, and a scenario {_MOST_CHARACTERS:,}")
    return tuple(
        replace(
            person,
            file=name,
            not_taken=tuple(replace(left, value=shortened(left.value, LONGEST_VALUE)) for left in person.not_taken),
        )
        for person in people
    )


def _write(folder: Path, name: str, text: str) -> tuple[Path, bool]:
    """Write a file into a folder under its name, or that with a number, and return its path, and whether it is new.

    No file is overwritten; one with this text is taken as it is.

    Raises:
        UsageError: The folder can't be written to.
    """
    stem = name.removesuffix(".yaml")
    for number in count(1):
        file = folder / (name if number == 1 else f"{stem}_{number}.yaml")
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
            return file, True
        except FileExistsError:
            if _has(file, text):
                return file, False
        except OSError as error:
            raise UsageError(f"{file} can't be written: {error.strerror}") from None
    raise AssertionError


def _has(file: Path, text: str) -> bool:
    try:
        return not file.is_symlink() and read_text(file, MOST_BYTES) == text
    except (OSError, UnicodeError):
        return False
