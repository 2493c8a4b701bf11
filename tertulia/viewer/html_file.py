"""A run as one HTML file: the viewer's page with the documents of the run inside, which opens from disk and offline.

The page is the one that `make viewer` builds into `viewer/built/`. Its documents are the answers of the server
(`documents/by_path.py`), with long values shared (`documents/value_table.py`). A security policy in the head allows
only this script and style.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from json import dumps
from typing import NamedTuple
from urllib.parse import quote

from tertulia.state.documents import Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import READERS, document_at
from tertulia.viewer.documents.value_table import ValueTable, packed

#: The states of all turns are included up to so many characters of compressed documents.
WITH_STATES_AT_MOST = 4_000_000

#: The files of a page.
_BUILT = ("index.html", "viewer.js", "viewer.css")
_SCRIPT = re.compile(r"\s*<script\b[^>]*\bsrc=[^>]*></script>")
_STYLE = re.compile(r'\s*<link\b[^>]*\brel="stylesheet"[^>]*>')
_TITLE = re.compile(r"<title>[^<]*</title>")

#: Text that would end a script in HTML, or change how its end is found; it can be escaped in JavaScript's strings.
_ENDS_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
_ENDS_STYLE = re.compile(r"</(?=style)", re.IGNORECASE)

_STATES = "runs/*/turns/*/states"


def html_of_run(store: SqlStore, run: str) -> Iterator[str]:
    """Yield the lines of an HTML file that shows a run; the same for the same run, page and version.

    Args:
        store: The open store.
        run: An id, the beginning of one, or `@last`.

    Raises:
        NotFoundError: There is no such run.
        UsageError: The page is not built.
        StorageError: The store can't be read.
    """
    page = built_page()
    with store.reading():
        record = store.run(run)
        documents = _collect(store, record)
    yield from page.before(f"{record.run} · Tertulia")
    about = {"documents": documents.numbers, "missing": documents.missing, "firsts": documents.firsts}
    of_run = f'data-run="{_attribute(record.run)}" data-version="{_attribute(version("tertulia"))}"'
    omitted = f'data-omitted="{_attribute(documents.omitted or "")}"'
    yield f'<script type="application/octet-stream" id="documents" {of_run} {omitted}>{packed(dumps(about))}</script>'
    for chunk in documents.chunks:
        yield f'<script type="application/octet-stream" class="chunk">{chunk}</script>'
    yield from page.after()


# --- the page -------------------------------------------------------------------------------------------------------


class BuiltPage(NamedTuple):
    """The built front end, safe inside HTML."""

    html: str
    script: str
    style: str

    def before(self, title: str) -> Iterator[str]:
        """Yield the lines before the documents."""
        policy = (
            f"default-src 'none'; script-src '{_source_hash(self.script)}'; style-src '{_source_hash(self.style)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        first = f'<head>\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />'
        html = self.html.partition("</body>")[0].replace("<head>", first, 1)
        html = _TITLE.sub(lambda _: f"<title>{_attribute(title)}</title>", html, count=1)
        yield html.replace("</head>", f"  <style>{self.style}</style>\n  </head>", 1).rstrip()

    def after(self) -> Iterator[str]:
        """Yield the lines after the documents."""
        yield f'<script type="module">{self.script}</script>'
        yield f"</body>{self.html.partition('</body>')[2].rstrip()}"


def built_page() -> BuiltPage:
    """Return the shipped front end, or raise `UsageError` in a checkout in which it was never built."""
    folder = files("tertulia.viewer") / "built"
    try:
        html, script, style = ((folder / name).read_text(encoding="utf-8") for name in _BUILT)
    except FileNotFoundError:
        raise UsageError("the page of the viewer is not built in this checkout; build it with: make viewer") from None
    bare = _STYLE.sub("", _SCRIPT.sub("", html))
    return BuiltPage(bare, _ENDS_SCRIPT.sub(r"\\x3c", script), _ENDS_STYLE.sub(r"<\\/", style))


def _source_hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _attribute(text: str) -> str:
    """Return a text escaped for HTML, without unprintable characters."""
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape(printable)


# --- the documents --------------------------------------------------------------------------------------------------


class Documents(NamedTuple):
    """The documents of a run: by path the number of each, or why there is none; and the chunks with their values."""

    numbers: dict[str, int]
    missing: dict[str, str]
    chunks: list[str]
    firsts: list[int]
    omitted: str | None


def _collect(store: SqlStore, run: RunRecord) -> Documents:
    table, numbers, missing = ValueTable(), dict[str, int](), dict[str, str]()

    def add(paths: Iterator[str]) -> bool:
        for path in paths:
            try:
                numbers[path] = table.add(_document(store, run, path))
            except (NotFoundError, UsageError) as error:
                missing[path] = str(error)
            if table.size > WITH_STATES_AT_MOST and path.endswith("/states"):
                return False
        table.close_chunk()
        return table.size <= WITH_STATES_AT_MOST

    add(_paths(store, run, [pattern for pattern in READERS if pattern != _STATES]))
    chunks, firsts = list(table.chunks), list(table.firsts)
    if add(_paths(store, run, [_STATES])):
        return Documents(numbers, missing, table.chunks, table.firsts, None)
    omitted = f"the states of nodes, which would make it too large; tertulia view {run.run} has them"
    kept = {path: number for path, number in numbers.items() if not path.endswith("/states")}
    return Documents(kept, missing, chunks, firsts, omitted)


def _document(store: SqlStore, run: RunRecord, path: str) -> Document:
    """Return a document without other runs and the store's name: a file is for other people."""
    document = document_at(store, path)
    if path.endswith("/actions"):
        return document | {"store": []}
    if path == "runs":
        return document | {
            "runs": [row for row in document["runs"] if row["run"] == run.run],
            "total": 1,
            "simulations": [],
        }
    return _without_others(document, run.run)


def _without_others(document: Document, run: str) -> Document:
    """Return a document without the forks of the run, and without other runs' scores of its prompts."""
    document = dict(document)
    if "forks" in document:
        document |= {"forks": [], "more_forks": 0}
    if "scorers" in document:
        document["scorers"] = [scorer for scorer in document["scorers"] if scorer["run"] == run]
    if "parts" in document:
        document["parts"] = {part: _without_others(making, run) for part, making in document["parts"].items()}
    return document


def _paths(store: SqlStore, run: RunRecord, patterns: list[str]) -> Iterator[str]:
    """Yield the paths of a run's documents; the first ones are read when the page opens."""
    filled = {"turns": [str(turn.turn) for turn in store.turns(run.run)], "agents": list(store.start(run.run).names)}
    for pattern in sorted(patterns, key=lambda pattern: pattern.count("*")):
        first, *rest = pattern.split("/")
        if first != "runs":
            continue
        if not rest:
            yield first
            continue
        path = f"runs/{_part(run.run)}"
        if len(rest) < 3:
            yield "/".join([path, *rest[1:]])
            continue
        for name in filled.get(rest[1], ()):
            yield "/".join([path, rest[1], _part(name), *rest[3:]])


def _part(name: str) -> str:
    """Return a part of a path as JavaScript's encodeURIComponent writes it."""
    return quote(name.encode("utf-8", "replace"), safe="!*'()")
