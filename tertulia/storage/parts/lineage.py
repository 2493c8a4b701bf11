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
    of_runs = "" if runs is None else f" WHERE {{}}run IN {file.dialect.given_texts}"
    given = [] if runs is None else [json.dumps([*runs])]
    wrong = file.rows(
        # A chain of ancestors is followed no longer than its rows are many: so two that lead to each other end, too.
        f"""WITH RECURSIVE expected (run, ancestor, depth, turns, rounds) AS (
            SELECT run, run, CAST(0 AS bigint), CAST({NO_LIMIT} AS bigint), CAST({NO_LIMIT} AS bigint)
                FROM runs{of_runs.format("")}
            UNION ALL
            SELECT expected.run, parent_run, depth + 1,
                CASE WHEN parent_turn - 1 < turns THEN parent_turn - 1 ELSE turns END,
                CASE WHEN rounds < {_ROUNDS} THEN rounds ELSE {_ROUNDS} END
                FROM expected JOIN runs ON runs.run = ancestor
                WHERE parent_run IS NOT NULL
                AND depth <= (SELECT count(*) FROM lineage WHERE lineage.run = expected.run)
        ), stored AS (
            SELECT lineage.run, ancestor, depth, turns, rounds
                FROM lineage JOIN runs ON runs.run = ancestor{of_runs.format("lineage.")}
        )
        SELECT run FROM (
            SELECT run FROM (SELECT * FROM expected EXCEPT SELECT * FROM stored) AS missing
            UNION ALL SELECT run FROM (SELECT * FROM stored EXCEPT SELECT * FROM expected) AS added
        ) AS wrong LIMIT 1""",
        *given * 2,
    )
    if wrong:
        raise damaged(file.path, f"the lineage of run {wrong[0]['run']} is incomplete or was altered")


#: SQL for the last round whose preparation a fork has in common with its parent (`Runs.insert_run`).
_ROUNDS = "CASE WHEN rewritten <> 0 THEN parent_turn WHEN parent_turn > 1 THEN parent_turn - 1 ELSE -1 END"
