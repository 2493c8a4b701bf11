"""Full-text search over utterances, thoughts and memories."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from tertulia.storage.contract import Database
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.runs import check_nothing_is_lost
from tertulia.storage.tables import Table
from tertulia.storage.terms import terms_of
from tertulia.storage.values import parsed

PassageKind = Literal["utterance", "thought", "memory"]
KINDS: tuple[PassageKind, ...] = get_args(PassageKind)

_FOUND = """SELECT {run} AS run, passages.turn, passages.agent, passages.kind, passages.text FROM passages {joined}
    WHERE ({found}) AND passages.kind IN ({kinds}) {which}"""

#: The utterances and thoughts of a run itself; with a run, those that it has in common with its ancestors too.
_OWN = {"run": "passages.run", "joined": "", "which": "AND passages.run IS NOT NULL"}
_OF_RUN = {
    "run": "lineage.run",
    "joined": """JOIN lineage ON ancestor = passages.run
        AND passages.turn <= CASE WHEN passages.kind = 'utterance' OR EXISTS (  -- or a thought that is part of a turn
            SELECT 1 FROM parts WHERE (parts.run, parts.turn, parts.speaker, parts.part)
                = (passages.run, passages.turn, passages.agent, 'plan')) THEN lineage.turns ELSE lineage.rounds END""",
    "which": "AND lineage.run = :run",
}
#: The memories that people have at the beginning of a run.
_MEMORIES = {
    "run": "runs.run",
    "joined": "JOIN runs ON runs.case_id = passages.start_id",
    "which": "AND (CAST(:run AS TEXT) IS NULL OR runs.run = :run)",
}

#: Utterances and thoughts, each with its agent; a plan, which the others do not hear, is a thought.
_SAID = """SELECT run, turn, speaker AS agent, 'utterance' AS kind FROM turns WHERE speaker IS NOT NULL
    UNION ALL SELECT run, turn, speaker, CASE part WHEN 'plan' THEN 'thought' ELSE 'utterance' END FROM parts
    UNION ALL SELECT run, round, agent, 'thought' FROM steps WHERE node = 'assess'"""


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
        query: Words, and "several words" in quotes; a word that ends in `*` is the beginning of one.
        run: The id of a run; `None` for all runs, each with its own passages.

    Raises:
        StorageError: Searched rows were altered, or do not agree with their index.
    """
    if file.is_checked:
        Table(file, "passages").select("")
        Table(file, "runs").select("")
        check_nothing_is_lost(file)
        _check_what_was_said(file)
        _check_memories(file)
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


def _check_what_was_said(file: Database) -> None:
    """Check that no utterance or thought is missing from the search."""
    missing = file.rows(
        f"""SELECT run, turn FROM ({_SAID}) AS said WHERE NOT EXISTS (SELECT 1 FROM passages
            WHERE (passages.run, passages.turn, passages.agent, passages.kind)
                = (said.run, said.turn, said.agent, said.kind)) LIMIT 1"""
    )
    if missing:
        raise damaged(file.path, "what is searched of turn {turn} of run {run} is missing".format_map(missing[0]))


def _check_memories(file: Database) -> None:
    """Check that no memory that a run starts from is missing from the search."""
    starts = file.rows(
        """SELECT min(runs.run) AS run, text, (SELECT count(*) FROM passages WHERE start_id = case_id) AS found
        FROM runs JOIN contents ON contents.id = case_id GROUP BY case_id"""
    )
    for start in starts:
        with record_faults(file.path):
            expected = len(_memories_of(parsed(start["text"])))
        if start["found"] < expected:
            cause = f"of what run {start['run']} starts from, {start['found']} of {expected} memories are searched"
            raise damaged(file.path, cause)


def _memories_of(start: Any) -> set[tuple[str, str]]:
    """Return the memories in a stored case, meeting or population, as pairs of person and text."""
    people = [start.get("initiator"), start.get("partner"), *start.get("participants", ()), *start.get("villagers", ())]
    return {
        (person["persona"]["name"], memory["text"])
        for person in people
        if person is not None
        for memory in person.get("memories", ())
    }
