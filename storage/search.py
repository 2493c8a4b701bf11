"""Full-text search over utterances, thoughts and memories."""

from dataclasses import dataclass
from typing import Literal, get_args

from storage.contract import Database
from storage.runs import check_nothing_is_lost
from storage.tables import Table
from storage.terms import terms_of

PassageKind = Literal["utterance", "thought", "memory"]
KINDS: tuple[PassageKind, ...] = get_args(PassageKind)

_FOUND = """SELECT {run} AS run, passages.turn, passages.agent, passages.kind, passages.text FROM passages {joined}
    WHERE ({found}) AND passages.kind IN ({kinds}) {which}"""

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
    "which": "AND (CAST(:run AS TEXT) IS NULL OR runs.run = :run)",
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
    file: Database, query: str, run: str | None = None, kinds: tuple[PassageKind, ...] = KINDS, limit: int = 50
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
        Table(file, "passages").select("")
        Table(file, "runs").select("")
        check_nothing_is_lost(file)
        file.check_full_text()
    found, values = file.passages(terms_of(query))
    marks = ", ".join(f"'{kind}'" for kind in kinds)
    passages, memories = (
        _FOUND.format(found=found, kinds=marks, **how) for how in (_OF_RUN if run is not None else _OWN, _MEMORIES)
    )
    rows = file.named_rows(
        f"""SELECT found.* FROM ({passages} UNION ALL {memories}) AS found JOIN runs ON runs.run = found.run
        ORDER BY runs.id DESC, turn, found.kind DESC, agent LIMIT :limit""",
        {**values, "run": run, "limit": limit},
    )
    return [Passage(**row) for row in rows]
