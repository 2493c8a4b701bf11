"""The turns and rounds that runs have in common with their ancestors, compared with the turns that they begin at.

Every reader of turns joins `lineage`, so a row that is missing there hides a fork's past.
"""

import json
from collections.abc import Collection

from tertulia.storage.contract import Database
from tertulia.storage.faults import damaged
from tertulia.storage.parts.cognition import NO_LIMIT


def check_lineages(file: Database, runs: Collection[str] | None = None) -> None:
    """Raise `StorageError` if a run's rows in `lineage` do not follow from its record and its ancestors'.

    Args:
        runs: The ids of the runs; `None` for all.
    """
    of_runs = "" if runs is None else f"AND {{}}run IN {file.dialect.given_texts}"
    given = [] if runs is None else [json.dumps([*runs])]
    begun, forked = of_runs.format("runs."), of_runs.format("lineage.")
    wrong = file.rows(_BEGUN.format(of_runs=begun), *given) or file.rows(
        _FORKED.format(of_runs=begun, of_lineages=forked), *given * 2
    )
    if wrong:
        raise damaged(file.path, f"the lineage of run {wrong[0]['run']} is incomplete or was altered")


#: SQL for a run without a parent whose lineage is another than itself.
_BEGUN = f"""SELECT runs.run FROM runs LEFT JOIN lineage ON lineage.run = runs.run
    WHERE parent_run IS NULL {{of_runs}} AND (ancestor IS NULL OR ancestor <> runs.run OR depth <> 0
    OR turns <> {NO_LIMIT} OR rounds <> {NO_LIMIT}) LIMIT 1"""

#: SQL for the last round whose preparation a fork has in common with its parent (`Runs.insert_run`).
_ROUNDS = "CASE WHEN rewritten <> 0 THEN parent_turn WHEN parent_turn > 1 THEN parent_turn - 1 ELSE -1 END"

#: SQL for a fork whose lineage is another than its ancestors' records give. A chain of ancestors is followed no longer
#: than its rows are many: so two runs that name each other as parents end, too.
_FORKED = f"""WITH RECURSIVE expected (run, ancestor, depth, turns, rounds) AS (
        SELECT run, run, CAST(0 AS bigint), CAST({NO_LIMIT} AS bigint), CAST({NO_LIMIT} AS bigint)
            FROM runs WHERE parent_run IS NOT NULL {{of_runs}}
        UNION ALL
        SELECT expected.run, parent_run, depth + 1,
            CASE WHEN parent_turn - 1 < turns THEN parent_turn - 1 ELSE turns END,
            CASE WHEN rounds < {_ROUNDS} THEN rounds ELSE {_ROUNDS} END
            FROM expected JOIN runs ON runs.run = ancestor
            WHERE parent_run IS NOT NULL
            AND depth <= (SELECT count(*) FROM lineage WHERE lineage.run = expected.run)
    ), stored AS (
        SELECT lineage.run, ancestor, depth, turns, rounds
            FROM runs AS fork JOIN lineage ON lineage.run = fork.run JOIN runs ON runs.run = ancestor
            WHERE fork.parent_run IS NOT NULL {{of_lineages}}
    )
    SELECT run FROM (
        SELECT run FROM (SELECT * FROM expected EXCEPT SELECT * FROM stored) AS missing
        UNION ALL SELECT run FROM (SELECT * FROM stored EXCEPT SELECT * FROM expected) AS added
    ) AS wrong LIMIT 1"""
