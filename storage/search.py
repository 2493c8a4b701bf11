"""Full-text search over utterances, thoughts and memories.

The index has what white space and punctuation separate. In scripts without spaces that is a whole clause, so passages
that hold such signs are also looked through by the words of `state.words`: 公园 is in 去公园吧, not in 公司在园区.
"""

import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from state.errors import StorageError
from state.words import has_unspaced, word_spans
from storage.database import StoreFile
from storage.tables import Table

PassageKind = Literal["utterance", "thought", "memory"]
KINDS: tuple[PassageKind, ...] = get_args(PassageKind)

_FOUND = """SELECT {run} AS run, passages.turn, passages.agent, passages.kind, passages.text FROM passages {joined}
    WHERE ({found}) AND passages.kind IN ({kinds}) {which}"""

#: The two ways in which a passage is found: by the index, and by the words of a text with signs without spaces.
_INDEXED = "passages.id IN (SELECT rowid FROM passages_fts WHERE passages_fts MATCH :query)"
_UNSPACED = "passages.text GLOB '*[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff]*'"
_UNSPACED += " OR passages.text GLOB '*[\U00020000-\U0003ffff]*'"
_LOOKED_THROUGH = f"({_UNSPACED}) AND holds_terms(passages.text, :terms)"

#: What a run said and thought itself; with a run, what it has in common with its ancestors too.
_OWN = {"run": "passages.run", "joined": "", "which": "AND passages.run IS NOT NULL"}
_OF_RUN = {
    "run": "lineage.run",
    "joined": """JOIN lineage ON ancestor = passages.run
        AND passages.turn <= CASE WHEN passages.kind = 'utterance' OR EXISTS (  -- or a thought that is part of a turn
            SELECT 1 FROM parts WHERE (parts.run, parts.turn, parts.speaker, parts.part)
                = (passages.run, passages.turn, passages.agent, 'plan')) THEN lineage.turns ELSE lineage.rounds END""",
    "which": "AND lineage.run = :run",
}
#: What people remember where a run starts.
_MEMORIES = {
    "run": "runs.run",
    "joined": "JOIN runs ON runs.case_id = passages.start_id",
    "which": "AND (:run IS NULL OR runs.run = :run)",
}


@dataclass(frozen=True)
class Passage:
    """An utterance or a thought in a turn of a run, or a memory from its beginning (turn 0)."""

    run: str
    turn: int
    agent: str
    kind: PassageKind
    text: str


def search(
    file: StoreFile, query: str, run: str | None = None, kinds: tuple[PassageKind, ...] = KINDS, limit: int = 50
) -> list[Passage]:
    """Return the passages that hold all words of a query, the newest runs first, in the order of turns.

    Args:
        file: The store file.
        query: Words, and "several words" in quotes; a word that ends in `*` is the beginning of one.
        run: The id of a run; `None` for all runs, each with what is its own.
        kinds: What is looked through.
        limit: At most so many.

    Raises:
        StorageError: What is looked through was altered, or does not agree with its index.
    """
    if file.is_checked:
        _check(file)
    parameters = {"query": _quoted(query), "terms": query, "run": run, "limit": limit}
    file.define("holds_terms", holds_terms)
    found = _LOOKED_THROUGH if has_unspaced(query) else f"{_INDEXED} OR {_LOOKED_THROUGH}"
    marks = ", ".join(f"'{kind}'" for kind in kinds)
    passages, memories = (
        _FOUND.format(found=found, kinds=marks, **how) for how in (_OF_RUN if run is not None else _OWN, _MEMORIES)
    )
    rows = file.named_rows(
        f"""SELECT found.* FROM ({passages} UNION ALL {memories}) AS found JOIN runs ON runs.run = found.run
        ORDER BY runs.id DESC, turn, found.kind DESC, agent LIMIT :limit""",
        parameters,
    )
    return [Passage(**row) for row in rows]


def _check(file: StoreFile) -> None:
    Table(file, "passages").select("")
    Table(file, "runs").select("")
    try:
        file.write("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 1)")
    except StorageError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        if code & 0xFF != sqlite3.SQLITE_READONLY:  # it writes nothing, but is refused where nothing can be written
            raise


def holds_terms(text: str, query: str) -> bool:
    """Whether a text holds all terms of a query, each as words that follow each other as they do in the query."""
    words = _words(text)
    terms = [(wanted, term.is_prefix) for term in _terms(query) if (wanted := _words(term.text))]
    return bool(terms) and all(_holds(words, wanted, is_prefix) for wanted, is_prefix in terms)


def _holds(words: Sequence[str], wanted: Sequence[str], is_prefix: bool) -> bool:
    *all_but_last, last = wanted
    return any(
        words[first : first + len(wanted) - 1] == all_but_last
        and (words[first + len(wanted) - 1] == last or (is_prefix and words[first + len(wanted) - 1].startswith(last)))
        for first in range(len(words) - len(wanted) + 1)
    )


@lru_cache(maxsize=64)
def _words(text: str) -> list[str]:
    """Return the words of a text as they are compared, and an empty one for what stands between two of them."""
    words: list[str] = []
    last = None
    for begin, end in word_spans(text):
        if last is not None and begin > last:
            words.append("")
        words.append(unicodedata.normalize("NFKC", text[begin:end]).casefold())
        last = end
    return words


@dataclass(frozen=True)
class _Term:
    text: str
    is_prefix: bool


@lru_cache(maxsize=1)
def _terms(query: str) -> list[_Term]:
    parts = query.split('"')
    phrases = [_Term(part.strip(), False) for part in parts[1::2] if part.strip()]
    words = [word for part in parts[0::2] for word in part.split()]
    return phrases + [_Term(word.rstrip("*"), word.endswith("*")) for word in words if word.strip("*")]


def _quoted(query: str) -> str:
    """Return a query in which nothing but quotes and a last `*` has a meaning of its own."""
    return " ".join(f'"{term.text}"{"*" if term.is_prefix else ""}' for term in _terms(query))
