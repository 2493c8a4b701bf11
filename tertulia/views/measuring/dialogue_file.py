"""Read dialogues from files: those of `tertulia export`, lists of utterances, chat messages, and SDialog's dialogues.

1. A file has a JSON object on each line, or is one JSON document over several lines: an object, or a list of them.
2. The first object decides which format a file has (`tertulia.views.measuring.dialogue_formats`).
3. Recorded silences, instructions, and all else that is no utterance are passed over.
"""

import json
import reprlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.files import open_regular
from tertulia.views.measuring.dialogue_formats import EXPORT, SHAPE, Entry, FileDialogue, reader_of

#: The largest file that is read: a thousand runs of a hundred rounds, each with all its records; and the longest line.
#: A document over several lines is read whole.
_MOST_BYTES, _MOST_LINE_BYTES, _MOST_DOCUMENT_BYTES = 512 * 10**6, 16 * 10**6, 64 * 10**6


def read_dialogues(path: Path) -> Iterator[FileDialogue]:
    """Yield the dialogues of a file of dialogues or of exported runs, which is read once.

    A case is named by a text or an integer; further keys, and blank lines, are passed over.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It can't be read as dialogues; the message names the file, the line and the field.
    """
    entries = _entries(path)
    first = next(entries, None)
    if first is None:
        raise UsageError(f"{path} holds no dialogues; {SHAPE}, or {EXPORT}")
    yield from reader_of(first[1])(chain([first], entries), path)


def _entries(path: Path) -> Iterator[Entry]:
    lines = _lines(path)
    for number, line in lines:
        where = f"{path} line {number}"
        if number == 1 and _opens_document(line):
            yield from _document([(number, line), *lines], path)
            return
        yield where, _object(_parsed(line, where), where)


def _opens_document(line: str) -> bool:
    """Whether the first line of a file begins a document over several lines, or is a list."""
    return not line.strip("[{ \t") or line.lstrip().startswith("[{")


def _document(lines: Sequence[tuple[int, str]], path: Path) -> Iterator[Entry]:
    text = "\n".join(line for _, line in lines)
    if len(text) > _MOST_DOCUMENT_BYTES:
        raise UsageError(f"{path}: is one document of more than {_MOST_DOCUMENT_BYTES // 10**6} MB; give it in lines")
    document = _parsed(text, str(path), [number for number, _ in lines])
    for number, entry in enumerate(document if isinstance(document, list) else [document], start=1):
        where = f"{path} entry {number}" if isinstance(document, list) else str(path)
        yield where, _object(entry, where)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        left = _MOST_BYTES
        with open_regular(path, left, may_be_pipe=True) as file:
            for number, line in enumerate(iter(partial(file.readline, _MOST_LINE_BYTES + 1), b""), start=1):
                if len(line) > _MOST_LINE_BYTES:
                    raise UsageError(f"{path} line {number}: has more than {_MOST_LINE_BYTES // 10**6} MB; {SHAPE}")
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


def _parsed(text: str, where: str, numbers: Sequence[int] = ()) -> Any:
    """Return the value of a JSON text, whose lines have these numbers in the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f" line {numbers[min(error.lineno, len(numbers)) - 1]}" if numbers else ""
        raise UsageError(f"{where}{line}, column {error.colno}: broken JSON ({error.msg}); {SHAPE}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise UsageError(f"{where}: broken JSON ({error}); {SHAPE}") from None


def _object(entry: object, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: {reprlib.repr(entry)} is not an object; {SHAPE}")
    return entry
