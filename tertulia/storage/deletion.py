"""Deleting runs, and the texts and pictures that nothing points to any more.

schema.py declares which columns point to which tables. A population points to pictures, too: in its JSON.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tertulia.storage.contract import Database
from tertulia.storage.faults import record_faults
from tertulia.storage.schema import TABLES
from tertulia.storage.values import parsed

#: The tables whose rows belong to one run; that a run is an encounter of a simulation keeps it from being deleted.
_OF_A_RUN = tuple(
    table.name
    for table in TABLES.values()
    if table.name != "encounters" and any(column.name == "run" for column in table.columns)
)


@dataclass(frozen=True)
class Pointed:
    """The targets of runs' pointers: hashes of prompts and of pictures, and rows of `contents`."""

    prompts: frozenset[str]
    pictures: frozenset[str]
    contents: frozenset[int]


def pointed_from(file: Database, runs: Sequence[str]) -> Pointed:
    """Return the targets of runs' pointers."""
    given = file.dialect.given_texts
    prompts, contents = (
        {
            row["pointer"]
            for table, column in _pointing_to(target)
            if table in _OF_A_RUN
            for row in file.rows(f"SELECT {column} AS pointer FROM {table} WHERE run IN {given}", json.dumps(runs))
        }
        for target in ("prompts", "contents")
    )
    pictures = file.rows(file.dialect.populations_pictures(f" AND run IN {given}"), json.dumps(runs))
    return Pointed(
        frozenset(prompts - {None}), frozenset(row["pointer"] for row in pictures), frozenset(contents - {None})
    )


def delete_runs(file: Database, runs: Sequence[str]) -> None:
    """Delete every row of runs, their checkpoints among them; inside a transaction."""
    for table in _OF_A_RUN:
        file.write(f"DELETE FROM {table} WHERE run IN {file.dialect.given_texts}", json.dumps(runs))
    file.delete_checkpoints(runs)


def delete_unused(file: Database, pointed: Pointed) -> None:
    """Delete the prompts, texts and pictures of deleted runs that nothing points to any more; inside a transaction.

    Other contents stay even if nothing points to them: their run may come.
    """
    dialect = file.dialect
    texts, counts = dialect.given_texts, dialect.given_counts
    unused = f"hash IN {texts} AND hash NOT IN ({_pointers('prompts')})"
    prompts = file.rows(f"SELECT hash, unit_ids FROM prompts WHERE {unused}", json.dumps([*pointed.prompts]))
    with record_faults(file.path):
        unit_ids = json.dumps(sorted({int(unit) for row in prompts for unit in parsed(row["unit_ids"])}))
    file.write(f"DELETE FROM prompts WHERE hash IN {texts}", json.dumps([row["hash"] for row in prompts]))
    units = file.rows(
        f"""SELECT id, content_id, picture FROM units WHERE id IN {counts}
        AND id NOT IN (SELECT place.value FROM prompts{dialect.joined_counts("unit_ids")})""",
        unit_ids,
    )
    file.write(f"DELETE FROM units WHERE id IN {counts}", json.dumps([row["id"] for row in units]))
    pictures = json.dumps([*pointed.pictures, *(row["picture"] for row in units if row["picture"] is not None)])
    needed = f"{_pointers('pictures')} UNION {dialect.populations_pictures('')}"
    file.write(f"DELETE FROM pictures WHERE hash IN {texts} AND hash NOT IN ({needed})", pictures)
    contents = json.dumps([*{*pointed.contents, *(row["content_id"] for row in units)}])
    # The full-text index has memories under the case that they come from.
    file.write(
        f"DELETE FROM passages WHERE start_id IN {counts} AND start_id NOT IN (SELECT case_id FROM runs)", contents
    )
    file.write(f"DELETE FROM contents WHERE id IN {counts} AND id NOT IN ({_pointers('contents')})", contents)


def _pointing_to(target: str) -> Iterator[tuple[str, str]]:
    for table in TABLES.values():
        for column in table.columns:
            if column.references is not None and column.references[0] == target:
                yield table.name, column.name


def _pointers(target: str) -> str:
    """Return a query for all values that point to a table; without NULL, which no value is known not to be in."""
    return " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL" for table, column in _pointing_to(target)
    )
