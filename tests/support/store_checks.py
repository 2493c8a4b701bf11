"""Check a store by itself, and two runs against each other, by all that is stored of them (`make soak`)."""

import json
from collections import Counter
from typing import Any

from support.store_content import first_difference

from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table


def faults(store: SqlStore) -> list[str]:
    """Return what is wrong with a store by itself: its structure, its index, calls that were stored twice."""
    found = [row["integrity_check"] for row in store.file.rows("PRAGMA integrity_check")]
    found = [] if found == ["ok"] else found
    found += [f"a row of {row['table']} points to nothing" for row in store.file.rows("PRAGMA foreign_key_check")]
    store.file.write("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 1)")
    # A call that takes another's place gets an id of its own, and leaves a gap.
    (calls,) = store.file.rows("SELECT count(*) AS n, coalesce(max(id), 0) AS last FROM calls")
    if calls["n"] != calls["last"]:
        found.append(f"{calls['last'] - calls['n']} calls were journalled twice")
    return found


def differences(undisturbed: tuple[SqlStore, str], resumed: tuple[SqlStore, str]) -> list[str]:
    """Compare two runs by all that is stored of them; ids of runs, lineage and wall-clock times may differ.

    Args:
        undisturbed: The run that is the measure: its store and its id.
        resumed: The run that should equal it.

    Returns:
        For every kind of record where they differ, a line with the first that does.
    """
    expected, found = _records(*undisturbed), _records(*resumed)
    lines = []
    for kind in expected:
        keys = dict.fromkeys([*expected[kind], *found[kind]])
        pairs = ((expected[kind].get(key), found[kind].get(key), f"{kind} {key}") for key in keys)
        if differing := next((pair for pair in pairs if pair[0] != pair[1]), None):
            lines.append(first_difference(*differing))
        elif list(expected[kind]) != list(found[kind]):
            lines.append(f"{kind}: the order is another")
    return lines


def _records(store: SqlStore, run: str) -> dict[str, dict[Any, Any]]:
    """Return all that is stored of a run: for every kind of record its records, by key and in their order."""
    record = store.run(run)
    turns = range(1, record.turns + 1)
    steps = Table(store.file, "steps").select(
        """JOIN lineage ON ancestor = steps.run AND round <= rounds WHERE lineage.run = ?
        ORDER BY round, agent, node, depth DESC""",
        run,
    )
    passages = store.file.rows(
        """SELECT passages.turn, agent, kind, text FROM passages
        JOIN lineage ON ancestor = passages.run AND passages.turn <= lineage.turns
        WHERE lineage.run = ? ORDER BY passages.turn, agent, kind""",
        run,
    )
    units = "SELECT unit, block, kind, removable, speaker, hash FROM units JOIN contents ON contents.id = content_id"
    return {
        "run": {"record": record.model_dump(exclude={"run", "created", "parent"})},
        "start": {"of the run": store.start(run).model_dump()},
        "turn": {turn: store.turn_record(run, turn).model_dump() for turn in turns},
        "candidates of turn": {
            turn: [candidate.model_dump() for candidate in store.candidates(run, turn)] for turn in turns
        },
        "step": {(row["round"], row["agent"], row["node"]): json.loads(row["record"]) for row in steps},
        "call": {
            (call.round, call.agent, call.node, call.attempt): call.model_dump(exclude={"seconds"})
            for call in store.calls(run)
        },
        "trace of turn": {turn: trace.model_dump() for turn in turns if (trace := store.trace(run, turn))},
        "passage": {(row["turn"], row["agent"], row["kind"]): row["text"] for row in passages},
        "text": {row["hash"]: 1 for row in store.file.rows("SELECT hash FROM contents ORDER BY hash")},
        "prompt": {row["hash"]: 1 for row in store.file.rows("SELECT hash FROM prompts ORDER BY hash")},
        "unit": Counter(tuple(row.values()) for row in store.file.rows(f"{units} ORDER BY hash, unit, block")),
    }
