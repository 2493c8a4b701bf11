"""Read dialogues from files of JSON lines: one dialogue a line, or the records that `tertulia export` writes.

1. A line of a dialogue file is `{"case", "dialogue": [[speaker, text], …]}`.
2. A line of an export is a record with its `kind`. A record `run` begins a dialogue, which belongs to the case that is
   named after its scenario; its records `turn` follow. Recorded silences and further kinds are passed over.
3. The first line of a file decides which of the two it is.
"""

import json
import reprlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from metrics.diversity import Dialogue
from state.errors import NotFoundError, UsageError
from state.files import open_regular
from state.records import Record

#: A JSON object of a file, after its file and line in words.
Entry = tuple[str, dict[str, Any]]

#: The largest file that is read: a thousand runs of a hundred rounds, each with all its records; and the longest line.
_MOST_BYTES, _MOST_LINE_BYTES = 512 * 10**6, 16 * 10**6

_SHAPE = 'each line is {"case": …, "dialogue": [["Ana", "Hello."], …]}'
_EXPORT = "give the file as `tertulia export RUN --jsonl FILE` wrote it"


class ExportedRun(Record):
    """The run that a dialogue of an export is of, with what runs are told apart by."""

    run: str
    created: datetime
    scenario: str
    model: str
    seed: int
    parameters: dict[str, Any]


class FileDialogue(NamedTuple):
    """A dialogue of a file.

    Attributes:
        case: Its case.
        dialogue: Its utterances.
        rehearsed: Whether a stand-in without weights spoke in it.
        run: The run that was exported; `None` for a line of a dialogue file, and where the record lacks something.
    """

    case: str
    dialogue: Dialogue
    rehearsed: bool = False
    run: ExportedRun | None = None


def read_dialogues(path: Path) -> Iterator[FileDialogue]:
    """Yield the dialogues of a file.

    Args:
        path: A file of dialogues or of exported runs, read once. A case is named by a text or an integer; further keys
            are passed over, and so are blank lines.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It can't be read as dialogues; the message names the file, the line and the field.
    """
    entries = _entries(path)
    first = next(entries, None)
    if first is None:
        raise UsageError(f"{path} holds no dialogues; {_SHAPE}, or {_EXPORT}")
    is_export = "kind" in first[1] and "dialogue" not in first[1]
    yield from (_exported if is_export else _listed)(chain([first], entries))


# --- lines ----------------------------------------------------------------------------------------------------------


def _entries(path: Path) -> Iterator[Entry]:
    for number, line in _lines(path):
        where = f"{path} line {number}"
        yield where, _parsed(line, where)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        left = _MOST_BYTES
        with open_regular(path, left, may_be_pipe=True) as file:
            for number, line in enumerate(iter(partial(file.readline, _MOST_LINE_BYTES + 1), b""), start=1):
                if len(line) > _MOST_LINE_BYTES:
                    raise UsageError(f"{path} line {number}: has more than {_MOST_LINE_BYTES // 10**6} MB; {_SHAPE}")
                left -= len(line)
                if left < 0:
                    raise UsageError(f"{path}: has more than {_MOST_BYTES // 10**6} MB; give it in parts")
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
    return entry


def _utterance(line: object, where: str) -> tuple[str, str]:
    match line:
        case [str(speaker), str(text)]:
            return speaker, text
        case _:
            raise UsageError(f"{where} {reprlib.repr(line)} is not [speaker, text], two texts")


# --- dialogues, one a line ------------------------------------------------------------------------------------------


def _listed(entries: Iterable[Entry]) -> Iterator[FileDialogue]:
    for where, entry in entries:
        for field in ("case", "dialogue"):
            if field not in entry:
                raise UsageError(f"{where}: {field} is missing; {_SHAPE}")
        yield FileDialogue(_case(entry, where), _dialogue(entry, where))


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
    return [_utterance(line, f"{where}: dialogue[{at}]") for at, line in enumerate(dialogue)]


# --- exported runs --------------------------------------------------------------------------------------------------


def _exported(entries: Iterable[Entry]) -> Iterator[FileDialogue]:
    runs: list[tuple[str, FileDialogue, list[tuple[str, str]]]] = []
    for where, entry in entries:
        kind = entry.get("kind")
        if not isinstance(kind, str):
            raise UsageError(f"{where}: kind {reprlib.repr(kind)} is not the kind of a record; {_EXPORT}")
        if kind == "run":
            lines: list[tuple[str, str]] = []
            case, rehearsed = _field(entry, "scenario", where), entry.get("rehearsed") is True
            runs.append((where, FileDialogue(case, lines, rehearsed, _run(entry)), lines))
        elif kind == "turn" and not runs:
            raise UsageError(f"{where}: a turn stands before its run; {_EXPORT}")
        elif kind == "turn" and entry.get("speaker", "") is not None:
            parts = entry.get("parts")
            answer = parts.get("answer") if isinstance(parts, dict) else None  # an album chat's turn has one
            for utterance in [entry, answer] if isinstance(answer, dict) else [entry]:
                # What the speaker is called in the words; exports of earlier versions do not have it.
                name = "spoken_name" if utterance.get("spoken_name") is not None else "speaker"
                runs[-1][2].append((_field(utterance, name, where), _field(utterance, "text", where)))
    for where, run, lines in runs:
        if not lines:
            raise UsageError(f"{where}: nobody speaks in this run; leave it out")
        yield run


def _run(entry: dict[str, Any]) -> ExportedRun | None:
    """Return the run of a record; `None` where something of it is missing, or is not what export writes."""
    try:
        return ExportedRun.model_validate({name: entry.get(name) for name in ExportedRun.model_fields})
    except ValidationError:
        return None


def _field(entry: dict[str, Any], field: str, where: str) -> str:
    """Return a text of a record."""
    if field not in entry:
        raise UsageError(f"{where}: {field} is missing; {_EXPORT}")
    text = entry[field]
    if not isinstance(text, str):
        raise UsageError(f"{where}: {field} {reprlib.repr(text)} is not a text; {_EXPORT}")
    return text
