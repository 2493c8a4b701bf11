"""Reading a file of dialogues: one JSON object a line, `{"case", "dialogue": [[speaker, text], …]}`."""

import json
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metrics.diversity import Dialogue
from state.errors import NotFoundError, UsageError

_SHAPE = 'each line is {"case": …, "dialogue": [["Ana", "Hello."], …]}'


def read_dialogues(path: Path) -> dict[str, list[Dialogue]]:
    """Return the dialogues of every case, cases in the order in which they first appear.

    A case is named by a text or an integer; further keys are passed over, and so are blank lines.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It can't be read as dialogues; the message names the line and the field.
    """
    cases: dict[str, list[Dialogue]] = {}
    for number, line in _lines(path):
        where = f"{path} line {number}"
        entry = _parsed(line, where)
        cases.setdefault(_case(entry, where), []).append(_dialogue(entry, where))
    if not cases:
        raise UsageError(f"{path} holds no dialogues; {_SHAPE}")
    return cases


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip()
                if text:
                    yield number, text
    except FileNotFoundError:
        raise NotFoundError(f"no file {path}; give a JSONL file of dialogues") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} line {number}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None


def _parsed(line: str, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}, column {error.colno}: broken JSON ({error.msg}); {_SHAPE}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise UsageError(f"{where}: broken JSON ({error}); {_SHAPE}") from None
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: {reprlib.repr(entry)} is not an object; {_SHAPE}")
    for field in ("case", "dialogue"):
        if field not in entry:
            raise UsageError(f"{where}: {field} is missing; {_SHAPE}")
    return entry


def _case(entry: dict[str, Any], where: str) -> str:
    case = entry["case"]
    if isinstance(case, bool) or not isinstance(case, str | int):
        raise UsageError(f"{where}: case {reprlib.repr(case)} is neither a text nor an integer")
    return str(case)


def _dialogue(entry: dict[str, Any], where: str) -> Dialogue:
    dialogue = entry["dialogue"]
    if not isinstance(dialogue, list):
        raise UsageError(f"{where}: dialogue {reprlib.repr(dialogue)} is not a list of [speaker, text]")
    if not dialogue:
        raise UsageError(f"{where}: dialogue is empty; leave the line out, or give it an utterance")
    return [_utterance(said, f"{where}: dialogue[{at}]") for at, said in enumerate(dialogue)]


def _utterance(said: object, where: str) -> tuple[str, str]:
    match said:
        case [str(speaker), str(text)]:
            return speaker, text
        case _:
            raise UsageError(f"{where} {reprlib.repr(said)} is not [speaker, text], two texts")
