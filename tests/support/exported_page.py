"""An exported page read as a program would read it, without the page's own code."""

import json
import re
import zlib
from base64 import b64decode
from typing import Any, NamedTuple

_DATA = re.compile(r'<script type="application/octet-stream" ([^>]*)>([^<]*)</script>')


class ExportedPage(NamedTuple):
    """What is in the file: by path the documents, and why some are missing."""

    documents: dict[str, Any]
    missing: dict[str, str]


def read_exported(html: str) -> ExportedPage:
    (_, packed), *chunks = _DATA.findall(html)
    index = _unpacked(packed)
    values = [value for _, chunk in chunks for value in _unpacked(chunk)]
    starts = [sum(len(_unpacked(chunk)) for _, chunk in chunks[:at]) for at in range(len(chunks))]
    assert index["firsts"] == starts
    return ExportedPage({path: whole(values, number) for path, number in index["documents"].items()}, index["missing"])


def whole(values: list[Any], number: int) -> Any:
    """Return a value with all that it refers to in its place."""

    def filled(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("~"):
            return value[1:] if value.startswith("~~") else filled(values[int(value[1:], 36)])
        if isinstance(value, list):
            return [filled(inner) for inner in value]
        return {key: filled(inner) for key, inner in value.items()} if isinstance(value, dict) else value

    return filled(values[number])


def unpacked_values(chunks: list[str]) -> list[Any]:
    return [value for chunk in chunks for value in _unpacked(chunk)]


def _unpacked(packed: str) -> Any:
    return json.loads(zlib.decompress(b64decode(packed)))
