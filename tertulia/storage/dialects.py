"""SQL that SQLite and Postgres spell differently, side by side; all other SQL of the store is written once.

Common SQL is written as SQLite has it: `?` and `:name` for parameters (`storage/postgres/` translates them),
0 and 1 for flags, texts compared by their code points.
"""

from typing import Literal

from typing_extensions import override

from tertulia.storage.schema import TABLES, TableSchema

#: The type as which a field of a JSON column is read: `truth` as 0 or 1.
JsonKind = Literal["text", "number", "count", "truth"]


class Dialect:
    """The SQL of SQLite. The views of a store are made of it, so its texts are part of the file format.

    Attributes:
        given_texts: A query for the texts of a JSON list, which is its only parameter.
        given_counts: A query for the integers of a JSON list, which is its only parameter.
        unindexed: SQL that follows the name of a table that is to be read without its indexes.
    """

    given_texts = given_counts = "(SELECT value FROM json_each(?))"
    unindexed = "NOT INDEXED"

    def insert(self, table: str, columns: tuple[str, ...], replace: bool) -> str:
        """Return the statement that inserts rows; without `replace`, a row with a stored key is skipped.

        A row that replaces another one is new: its `id`, if the table has one, is the next one.
        """
        marks = ", ".join("?" * len(columns))
        # Not OR IGNORE: it would pass over a missing value as well.
        verb, otherwise = ("INSERT OR REPLACE", "") if replace else ("INSERT", " ON CONFLICT DO NOTHING")
        return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({marks}){otherwise}"

    def holds(self, flag: str) -> str:
        """Return the condition that an integer is not 0."""
        return flag

    def json_field(self, json: str, path: str, kind: JsonKind) -> str:
        """Return a field of a JSON text, by a path such as `parts.topic` or `[0].text`; NULL if it is missing."""
        return f"json_extract({json}, '${path if path.startswith('[') else f'.{path}'}')"

    def json_length(self, json: str) -> str:
        """Return how many values a JSON list has."""
        return f"json_array_length({json})"

    def joined_counts(self, json: str) -> str:
        """Return SQL that joins the integers of a JSON list, `place.value`, with their places from 0, `place.key`."""
        return f", json_each({json}) AS place"

    def true_keys(self, json: str, path: str, field: str) -> str:
        """Return a JSON list of the keys of an object that have a value with this field true."""
        return f"""(SELECT json_group_array(key) FROM json_each({json}, '$.{path}')
            WHERE json_extract(value, '$.{field}'))"""

    def populations_pictures(self, of_runs: str) -> str:
        """Return a query for the hashes of the pictures that populations point to, as `pointer`."""
        # Half a surrogate pair makes bytes of their text.
        return f"""SELECT json_extract(picture.value, '$.file.hash') AS pointer
            FROM contents, json_each(CAST(text AS TEXT), '$.pictures') AS picture
            WHERE contents.id IN (SELECT case_id FROM runs WHERE kind = 'album_chat'{of_runs})
            AND pointer IS NOT NULL"""


class Postgres(Dialect):
    """Postgres's SQL. `plain_json` is a function of the store's schema (tertulia/storage/postgres/schema.py)."""

    given_texts = "(SELECT json_array_elements_text(CAST(? AS json)))"
    given_counts = "(SELECT CAST(json_array_elements_text(CAST(? AS json)) AS bigint))"
    unindexed = ""

    @override
    def insert(self, table: str, columns: tuple[str, ...], replace: bool) -> str:
        marks = ", ".join("?" * len(columns))
        return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT {self._action(table, replace)}"

    def _action(self, name: str, replace: bool) -> str:
        if not replace:
            return "DO NOTHING"
        table: TableSchema = TABLES[name]
        target = table.unique or table.key
        changed = [column.name for column in table.columns if column.name not in target]
        values = (f"{column} = {'DEFAULT' if column == 'id' else f'excluded.{column}'}" for column in changed)
        return f"({', '.join(target)}) DO UPDATE SET {', '.join(values)}"

    @override
    def holds(self, flag: str) -> str:
        return f"{flag} <> 0"

    @override
    def json_field(self, json: str, path: str, kind: JsonKind) -> str:
        *fields, last = path.replace("[", "").replace("]", "").split(".")
        steps = "".join(f" -> {step if step.isdecimal() else repr(step)}" for step in fields)
        text = f"(plain_json({json}){steps} ->> '{last}')"
        cast = {"number": "CAST({} AS double precision)", "count": "CAST({} AS bigint)", "text": "{}"}
        return {**cast, "truth": "CAST(CAST({} AS boolean) AS integer)"}[kind].format(text)

    @override
    def json_length(self, json: str) -> str:
        return f"json_array_length(plain_json({json}))"

    @override
    def joined_counts(self, json: str) -> str:
        return f""" CROSS JOIN LATERAL (
            SELECT place - 1 AS key, CAST(number AS bigint) AS value
            FROM json_array_elements_text(plain_json({json})) WITH ORDINALITY AS numbers (number, place)) AS place"""

    @override
    def true_keys(self, json: str, path: str, field: str) -> str:
        # Without a record, SQLite's list is empty, too.
        return f"""(SELECT coalesce(CAST(json_agg(key ORDER BY place) AS text), '[]')
            FROM json_each(plain_json({json}) -> '{path}') WITH ORDINALITY AS fields (key, value, place)
            WHERE CAST(value ->> '{field}' AS boolean))"""

    @override
    def populations_pictures(self, of_runs: str) -> str:
        return f"""SELECT picture -> 'file' ->> 'hash' AS pointer
            FROM (  -- OFFSET: these are chosen first, as other texts are no JSON
                SELECT text FROM contents WHERE id IN (
                    SELECT case_id FROM runs WHERE kind = 'album_chat'{of_runs}) OFFSET 0) AS populations
            CROSS JOIN LATERAL json_array_elements(plain_json(text) -> 'pictures') AS picture
            WHERE picture -> 'file' ->> 'hash' IS NOT NULL"""


SQLITE = Dialect()
POSTGRES = Postgres()
