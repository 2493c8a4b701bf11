"""Full-text search over utterances, thoughts and memories."""

import sqlite3
from dataclasses import dataclass
from typing import Literal, get_args

from state.errors import StorageError
from storage.database import StoreFile
from storage.tables import Table

PassageKind = Literal["utterance", "thought", "memory"]
KINDS: tuple[PassageKind, ...] = get_args(PassageKind)

_FOUND = """SELECT {run} AS run, passages.turn, passages.agent, passages.kind, passages.text FROM passages_fts
    JOIN passages ON passages.id = passages_fts.rowid {joined}
    WHERE passages_fts MATCH :query AND passages.kind IN ({kinds}) {which}"""

#: What a run said and thought itself; with a run, what it has in common with its ancestors too.
_OWN = {"run": "passages.run", "joined": "", "which": "AND passages.run IS NOT NULL"}
_OF_RUN = {
    "run": "lineage.run",
    "joined": """JOIN lineage ON ancestor = passages.run
        AND passages.turn <= CASE passages.kind WHEN 'utterance' THEN lineage.turns ELSE lineage.rounds END""",
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
    parameters = {"query": _quoted(query), "run": run, "limit": limit}
    marks = ", ".join(f"'{kind}'" for kind in kinds)
    passages, memories = (
        _FOUND.format(kinds=marks, **how) for how in (_OF_RUN if run is not None else _OWN, _MEMORIES)
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


def _quoted(query: str) -> str:
    """Return a query in which nothing but quotes and a last `*` has a meaning of its own."""
    parts = query.split('"')
    phrases = [part.strip() for part in parts[1::2] if part.strip()]
    words = [word for part in parts[0::2] for word in part.split()]
    terms = [f'"{phrase}"' for phrase in phrases]
    terms += [f'"{word.rstrip("*")}"{"*" if word.endswith("*") else ""}' for word in words if word.strip("*")]
    return " ".join(terms)
