"""Which turns of two runs are alike, told by a few queries, without reading the turns."""

from tertulia.storage.parts.contents import Contents

#: The columns of each table that a comparison of runs reads (`views.reading.differences`); the number of the turn
#: first. Columns that may differ between equal turns are left out: the run, ids of rows, wall-clock times.
_COMPARED = {
    "turns": (
        *("turn", "speaker", "content_id", "sim_time_s", "ended", "prompt", "scored", "chosen", "rollbacks"),
        *("scored_by", "judged_by", "line_scores", "line_scored_by"),
    ),
    "parts": (
        *("turn", "part", "speaker", "content_id", "prompt", "scored", "chosen", "rollbacks", "scored_by"),
        *("judged_by", "line_scores", "line_scored_by"),
    ),
    "candidates": (
        *("turn", "part", "attempt", "content_id", "reply", "inconsistency", "inconsistency_runs", "comment"),
    ),
    "unit_scores": ("turn", "part", "position", "unit", "score", "removed"),
    "steps": ("round", "agent", "node", "record"),
    "calls": (
        *("round", "agent", "node", "attempt", "kind", "model", "prompt", "parameters_id", "replies", "tokens"),
        *("results", "prompt_tokens", "reply_tokens"),
    ),
}


class Likeness(Contents):
    """Looks at the turns of two runs side by side."""

    def shared_turns(self, a: str, b: str) -> int:
        """Return how many of their first turns two runs have in common, as a run and its fork do; the same rows."""
        rows = self.file.rows(
            """SELECT max(CASE WHEN a.turns < b.turns THEN a.turns ELSE b.turns END) AS turns
            FROM lineage AS a JOIN lineage AS b ON a.ancestor = b.ancestor
            WHERE a.run = ? AND b.run = ?""",
            *(a, b),
        )
        return rows[0]["turns"] or 0

    def turns_that_may_differ(self, a: str, b: str, first: int, last: int) -> list[int]:
        """Return the turns whose rows differ in two runs, of those from `first` to `last`, which both have.

        The others are the same. One that is returned may be the same nevertheless, as the same may be stored in
        different ways: to know, read both.
        """
        if first > last:
            return []
        differing: set[int] = set()
        alike = set(range(first, last + 1))
        for table in _COMPARED:
            if not alike:
                break
            found = self._rows_differ(table, (a, b), min(alike), max(alike)) & alike
            differing |= found
            alike -= found
        return sorted(differing)

    def _rows_differ(self, table: str, runs: tuple[str, str], first: int, last: int) -> set[int]:
        number, *_ = columns = _COMPARED[table]
        limit = "turns" if number == "turn" else "rounds"
        of_run = f"""SELECT {", ".join(f"{table}.{column}" for column in columns)} FROM lineage
            JOIN {table} ON ancestor = {table}.run AND {table}.{number} <= lineage.{limit}
            WHERE lineage.run = ? AND {table}.{number} BETWEEN ? AND ?"""
        a, b = ((run, first, last) for run in runs)
        rows = self.file.rows(
            f"""SELECT DISTINCT {number} AS number FROM (
                SELECT * FROM ({of_run} EXCEPT {of_run}) AS only_a
                UNION ALL SELECT * FROM ({of_run} EXCEPT {of_run}) AS only_b
            ) AS unlike""",
            *(*a, *b, *b, *a),
        )
        return {row["number"] for row in rows}
