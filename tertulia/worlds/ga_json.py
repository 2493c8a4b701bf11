"""Read the JSON files of a Generative Agents run, and say in one line which value of which file is wrong."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tertulia.state.errors import ScenarioError
from tertulia.state.files import is_linked, read_text
from tertulia.state.text import one_line
from tertulia.state.wrong_values import wrong_value

#: The largest file of a run that is read: everything that 25 people did in two days takes less than 20 MB.
MOST_BYTES = 64 * 10**6

T = TypeVar("T")


class Json(BaseModel):
    """The fields that are read of a JSON object; further fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


def is_there(file: Path, folder: Path) -> bool:
    """Return whether a folder has a file of its own, to which no link leads."""
    return file.exists() and not is_led_to(file, folder)


def is_led_to(file: Path, folder: Path) -> bool:
    """Return whether a link leads to a file; if it leads to a device or a pipe, reading it raises the error."""
    return file.is_file() and is_linked(file, folder)


def load(file: Path) -> Any:
    """Return the value of a JSON file; `ScenarioError` if it is broken or can't be read."""
    try:
        return json.loads(read_text(file, MOST_BYTES))
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{file}:{error.lineno}:{error.colno}: broken JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise ScenarioError(f"{file}: broken JSON: {error}") from None
    except OSError as error:
        raise ScenarioError(f"{file}: can't be read: {error.strerror}") from None


def checked(adapter: TypeAdapter[T], value: Any, file: Path, *within: str) -> T:
    """Return a value in its form; `ScenarioError` names the first wrong field, under the keys that lead to it."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]
        location = one_line(".".join(str(part) for part in (*within, *problem["loc"]) if part != "[key]"))
        place = f"{file}: {location}" if location else str(file)
        raise ScenarioError(f"{place}: {one_line(wrong_value(problem))}") from None
