"""All runs of a store as a list shows them, read in a tenth of the time that their whole records take.

Rows are checked against their checksums, and texts against their hashes, as whole records are.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any

from tertulia.storage.faults import record_faults
from tertulia.storage.parts.cognition import NO_LIMIT
from tertulia.storage.parts.lineage import check_lineages
from tertulia.storage.parts.runs import check_nothing_is_lost, checked_parameters
from tertulia.storage.sql_views import TURNS_OF_RUN
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table

#: Values of one statement, at most.
_AT_ONCE = 500

#: SQL for the turns of runs and their ancestors up to the first with a speaker; silent ones may have lost theirs.
_FIRST = """JOIN lineage ON turns.run = lineage.ancestor AND turns.turn <= lineage.turns
    LEFT JOIN contents ON contents.id = turns.content_id
    WHERE turns.turn <= (SELECT own.turn FROM turns AS own WHERE own.run = turns.run AND own.speaker IS NOT NULL
    ORDER BY own.turn LIMIT 1)"""


@lru_cache(maxsize=4096)  # the runs of an experiment have a few between them
def _listed_parameters(text: str) -> tuple[float, str]:
    parameters = checked_parameters(text)
    return parameters["removal_factor"], str(parameters.get("order", ""))


class RunListing:
    """Reads the columns of a list of the runs of an open store."""

    def __init__(self, store: SqlStore) -> None:
        """Take a store, which stays open as long as this is used."""
        self._store, self._file = store, store.file

    def count(self) -> int:
        """Return how many runs there are."""
        return int(self._file.rows("SELECT count(*) AS runs FROM runs")[0]["runs"])

    def rows(self, first: int | None = None) -> list[dict[str, Any]]:
        """Return a row for every run, newest first: its columns, with λ, speaking order, and number of turns.

        Args:
            first: The most rows; `None`: all.

        Raises:
            StorageError: A row is damaged.
        """
        also = f"{TURNS_OF_RUN} AS turns, contents.hash AS start"
        join = "LEFT JOIN contents ON contents.id = case_id ORDER BY runs.id DESC LIMIT ?"
        rows = Table(self._file, "runs").select(join, NO_LIMIT if first is None else first, also=also)
        check_lineages(self._file, None if first is None else [row["run"] for row in rows])
        if self._file.is_checked:
            check_nothing_is_lost(self._file)
        with record_faults(self._store.path):
            for row in rows:
                row["removal_factor"], row["order"] = _listed_parameters(row.pop("parameters"))
        return rows

    def first_lines(self, runs: Collection[str] | None = None) -> dict[str, tuple[str, str]]:
        """Return speaker and text of the first utterance of every run by its id, or of these runs; of silent ones none.

        Raises:
            StorageError: A text is damaged.
        """
        first: dict[str, dict[str, Any]] = {}
        for row in self._first_rows(runs):
            run = row["of_run"]
            if row["speaker"] is not None and (run not in first or row["turn"] < first[run]["turn"]):
                first[run] = row
        rows = self._store.verified_texts([*first.values()])
        return {row["of_run"]: (row["speaker"], row["text"]) for row in rows}

    def _first_rows(self, runs: Collection[str] | None) -> Iterator[dict[str, Any]]:
        also, turns = "lineage.run AS of_run, contents.hash, contents.text", Table(self._file, "turns")
        if runs is None:
            yield from turns.select(_FIRST, also=also)
            return
        for some in _chunks(runs):
            yield from turns.select(f"{_FIRST} AND lineage.run IN ({', '.join('?' * len(some))})", *some, also=also)

    def texts(self, hashes: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield texts by their hashes; `StorageError` if one is damaged."""
        for some in _chunks(hashes):
            named = ", ".join("?" * len(some))
            rows = self._file.rows(f"SELECT hash, text FROM contents WHERE hash IN ({named})", *some)
            yield from ((row["hash"], row["text"]) for row in self._store.verified_texts(rows))


def _chunks(values: Iterable[str]) -> Iterator[list[str]]:
    listed = [*values]
    for start in range(0, len(listed), _AT_ONCE):
        yield listed[start : start + _AT_ONCE]
