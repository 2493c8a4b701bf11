"""Files of people that are dropped on the page: read, kept by an id, and shown.

A file is read in a folder that is deleted at once; its people are kept in memory until the server ends, so that a
conversation begins with the people that were read here.
"""

import asyncio
import json
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tertulia.state.errors import ScenarioError, TertuliaError, UsageError
from tertulia.state.text import clean, shortened
from tertulia.viewer.documents.people import LONGEST_VALUE, PeopleFile, people_page
from tertulia.viewer.sent import check_sender
from tertulia.worlds.characters.reading import read_people
from tertulia.worlds.characters.scenario import scenario_text
from tertulia.worlds.yaml_file import MOST_BYTES, YamlFile

#: The most bytes of a file that is dropped, characters of its people, and files that are kept; older ones are
#: forgotten.
LARGEST_FILE, _MOST_CHARACTERS, _KEPT = 50 * 10**6, MOST_BYTES, 64

#: The most characters of a file's name.
_LONGEST_NAME = 80


class BroughtPeople:
    """The files that were brought, and the handlers of requests about them.

    Attributes:
        files: By id, those that are kept.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.files: dict[str, PeopleFile] = {}

    async def bring(self, request: Request) -> Response:
        """Read a file of people, `?name=…`, and answer its id."""
        check_sender(request, "application/octet-stream")
        name = shortened(clean(request.query_params.get("name", "")), _LONGEST_NAME) or "the file"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people"
            await _save(request, path, name)
            file = await asyncio.to_thread(_read, path, name)
        id = secrets.token_hex(4)
        self.files = dict([*self.files.items(), (id, file)][-_KEPT:])
        return JSONResponse({"file": id})

    async def shown(self, request: Request) -> Response:
        """Answer the people of files, `?files=ID,ID`."""
        ids = request.query_params.get("files", "").split(",")
        if any(id not in self.files for id in ids):
            raise UsageError("The server does not have these files any more. Bring them again.")
        return JSONResponse(people_page({id: self.files[id] for id in ids}))


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


def _read(path: Path, name: str) -> PeopleFile:
    """Return the people of a file that was sent under a name; messages have that name, not the path."""
    try:
        people = read_people(path)
    except TertuliaError as error:
        raise UsageError(clean(str(error).replace(str(path), name))) from None
    size = sum(len(json.dumps(dict(person.values), default=str)) for person in people)
    if size > _MOST_CHARACTERS:
        raise ScenarioError(f"{name}: its people take {size:,} characters, and a scenario {_MOST_CHARACTERS:,}")
    shown = tuple(
        replace(
            person,
            file=person.file.replace(str(path), name),
            not_taken=tuple(replace(left, value=shortened(left.value, LONGEST_VALUE)) for left in person.not_taken),
        )
        for person in people
    )
    return PeopleFile(name, shown, _scenario_in(path))


def _scenario_in(path: Path) -> Mapping[str, Any] | None:
    """Return the values of a file that is a scenario by itself; `None` if it is none, or names code."""
    try:
        values = YamlFile.read(path).values
        if not isinstance(values, dict) or "participants" not in values or "extensions" in values:
            return None
        scenario_text(values)
    except ScenarioError:
        return None
    return values
