"""Texts, units, prompts and pictures carried from one store into another, by the hash of their contents.

All of it is verified on the way: the source may be a file that a stranger has sent. Looked up and inserted in bulk, by
SQL that every database of stores understands.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, TypeVar

from tertulia.state.album import picture_hash
from tertulia.state.errors import StorageError
from tertulia.state.records import Prompt, Unit
from tertulia.storage.contract import Database
from tertulia.storage.faults import record_faults, words_of_damage
from tertulia.storage.parts.contents import hashed_text, unit_text, verified
from tertulia.storage.schema import TABLES
from tertulia.storage.tables import Rows
from tertulia.storage.values import Value, parsed

AnyValue = TypeVar("AnyValue")

#: Values that one statement has, at most: far below the limits of SQLite and Postgres.
_AT_ONCE = 300

#: The columns of a unit besides its text.
_UNIT = ("unit", "block", "kind", "removable", "speaker", "picture")

#: The columns that point to a text by its row, and to a prompt by its hash; by table.
_TEXTS, _PROMPTS = (
    {
        table.name: [column.name for column in table.columns if column.references and column.references[0] == target]
        for table in TABLES.values()
    }
    for target in ("contents", "prompts")
)


def in_chunks(values: Iterable[AnyValue], size: int = _AT_ONCE) -> Iterator[list[AnyValue]]:
    """Yield values in lists that are short enough for one statement."""
    listed = [*values]
    for first in range(0, len(listed), size):
        yield listed[first : first + size]


def marks(values: Collection[Value]) -> str:
    """Return question marks for `IN (…)`."""
    return ", ".join("?" * len(values))


class SourceError(StorageError):
    """Something in the source does not read; the target is as it was."""


@contextmanager
def reading() -> Iterator[None]:
    """Re-raise errors inside, which come only from reading the source, as a `SourceError`."""
    try:
        yield
    except StorageError as error:
        raise SourceError(str(error)) from error


def damaged(file: Database, cause: str) -> SourceError:
    """Return the error of a source in which something is not as it was written."""
    return SourceError(words_of_damage(file.path, cause))


def text_hashes(file: Database, ids: Collection[int]) -> dict[int, str]:
    """Return the hashes of texts, by their rows."""
    return {
        row: content
        for chunk in in_chunks(sorted(ids))
        for row, content in file.tuples(f"SELECT id, hash FROM contents WHERE id IN ({', '.join(map(str, chunk))})")
    }


def by_hash(file: Database, table: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows that point to texts by their hashes, by which two stores can be compared."""
    columns = _TEXTS[table]
    hashes = text_hashes(file, {row[column] for row in rows for column in columns} - {None})
    return [{**row, **{column: hashes.get(row[column]) for column in columns}} for row in rows]


def with_hashes(file: Database, table: str, rows: Rows) -> Rows:
    """Return rows with the hashes of texts in the place of their row ids; checksums stay as they were."""
    for column in _TEXTS[table]:
        hashes = {None: None} | text_hashes(file, {*rows.column(column)} - {None})
        place = rows.names.index(column)
        changed = [(*row[:place], hashes.get(row[place]), *row[place + 1 :]) for row in rows.values]
        rows = Rows(rows.names, changed)
    return rows


class Carrier:
    """Inserts into a target the texts, prompts and pictures that rows of a source point to and the target lacks.

    It knows rows of the target, so it is used inside one transaction: afterwards another process may delete them.
    """

    def __init__(self, source: Database, target: Database) -> None:
        self._source, self._target = source, target
        self._texts: dict[int, int] = {}
        self._prompts: set[str] = set()
        self._units: dict[int, int] = {}
        self._unit_texts: dict[int, str] = {}

    def carried(self, table: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of the source as the target has them, after inserting all that they point to.

        Raises:
            StorageError: Something that they point to is missing, or does not match its hash.
        """
        columns = _TEXTS[table]
        self.carry_texts({row[column] for row in rows for column in columns} - {None})
        self._carry_prompts({row[column] for row in rows for column in _PROMPTS[table]} - {None})
        if not columns:
            return [*rows]
        return [{**row, **{column: self._texts.get(row[column]) for column in columns}} for row in rows]

    def carried_tuples(self, table: str, rows: Rows) -> Rows:
        """Return rows of the source as the target has them, as `carried` does."""
        named = {column: {*rows.column(column)} - {None} for column in (*_TEXTS[table], *_PROMPTS[table])}
        self.carry_texts({row for column in _TEXTS[table] for row in named[column]})
        self._carry_prompts({content for column in _PROMPTS[table] for content in named[column]})
        for column in _TEXTS[table]:
            if named[column]:
                rows = rows.with_changes(column, {None: None} | {row: self._texts[row] for row in named[column]})
        return rows

    # --- texts ------------------------------------------------------------------------------------------------------

    def carry_texts(self, ids: Collection[int]) -> Mapping[int, int]:
        """Insert texts of the source, named by their rows; return the rows of all that were carried."""
        for chunk in in_chunks(sorted(set(ids).difference(self._texts))):
            rows = self._source_texts(chunk)
            texts = {content: text for _, content, text in rows}
            stored = self._text_rows(texts)
            if missing := [content for content in texts if content not in stored]:
                _insert(self._target, "contents (hash, text)", [(content, texts[content]) for content in missing])
                stored |= self._text_rows(missing)
            self._texts |= {row: stored[content] for row, content, _ in rows}
        return self._texts

    @reading()
    def _source_texts(self, ids: Sequence[int]) -> list[tuple[int, str, str]]:
        rows = self._source.tuples(f"SELECT id, hash, text FROM contents WHERE id IN ({', '.join(map(str, ids))})")
        if len(rows) != len(ids):
            raise damaged(self._source, "a text is missing")
        for _, content, text in rows:
            if content is None or text is None:
                raise damaged(self._source, "a text is missing")
            verified(text, content, self._source.path)
        return [*rows]

    def _text_rows(self, hashes: Collection[str]) -> dict[str, int]:
        return dict(self._target.tuples(f"SELECT hash, id FROM contents WHERE hash IN ({marks(hashes)})", *hashes))

    # --- prompts and units ------------------------------------------------------------------------------------------

    def _carry_prompts(self, hashes: Collection[str]) -> None:
        for chunk in in_chunks(sorted(set(hashes) - self._prompts)):
            listed = f"SELECT hash FROM prompts WHERE hash IN ({marks(chunk)})"
            stored = {content for (content,) in self._target.tuples(listed, *chunk)}
            if missing := [content for content in chunk if content not in stored]:
                self._insert_prompts(missing)
            self._prompts.update(chunk)

    def _insert_prompts(self, hashes: Sequence[str]) -> None:
        prompts = self._source_prompts(hashes)
        self._carry_units({unit for *_, units in prompts for unit in units})
        with reading():
            for content, speaker, layout, units in prompts:
                texts = (self._unit_texts[unit] for unit in units)
                verified(hashed_text(layout, speaker, texts), content, self._source.path)
        carried = [
            (*row, json.dumps([self._units[unit] for unit in units], separators=(",", ":"))) for *row, units in prompts
        ]
        _insert(self._target, "prompts (hash, speaker, layout, unit_ids)", carried)

    @reading()
    def _source_prompts(self, hashes: Sequence[str]) -> list[tuple[str, str, str, list[int]]]:
        sql = f"SELECT hash, speaker, layout, unit_ids FROM prompts WHERE hash IN ({marks(hashes)})"
        rows = self._source.tuples(sql, *hashes)
        if len(rows) != len(hashes):
            raise damaged(self._source, "a prompt is missing")
        with record_faults(self._source.path):
            prompts: list[Any] = [
                (content, speaker, layout, [*map(int, parsed(units))]) for content, speaker, layout, units in rows
            ]
            for speaker, layout in {(speaker, layout) for _, speaker, layout, _ in prompts}:
                Prompt(units=(), speaker=speaker, layout=layout)
        return prompts

    def _carry_units(self, ids: Collection[int]) -> None:
        new = sorted(set(ids).difference(self._units))
        rows = [row for chunk in in_chunks(new) for row in self._source_units(chunk)]
        if len(rows) != len(new):
            raise damaged(self._source, "a unit is missing")
        self.carry_pictures({row["picture"] for row in rows} - {None})
        texts = self.carry_texts({row["content_id"] for row in rows})
        keys = {row["id"]: (row["unit"], texts[row["content_id"]], *(row[name] for name in _UNIT[1:])) for row in rows}
        stored = self._stored_units(keys.values())
        if missing := [*dict.fromkeys(key for key in keys.values() if key not in stored)]:
            _insert(self._target, f"units (unit, content_id, {', '.join(_UNIT[1:])})", missing)
            stored |= self._stored_units(missing)
        self._units |= {id: stored[key] for id, key in keys.items()}

    @reading()
    def _source_units(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        columns = f"units.id, content_id, text, {', '.join(_UNIT)}"
        joined = "units JOIN contents ON contents.id = content_id"
        listed = ", ".join(map(str, ids))
        rows = self._source.rows(f"SELECT {columns} FROM {joined} WHERE units.id IN ({listed})")
        with record_faults(self._source.path):
            for row in rows:
                unit = Unit(id=row["unit"], text=row["text"], **{name: row[name] for name in _UNIT[1:]})
                row |= {name: getattr(unit, name) for name in _UNIT[1:]}
                self._unit_texts[row["id"]] = unit_text(unit)
        return rows

    def _stored_units(self, keys: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
        """Return the rows of those units that the target has, by name, text, and the other columns."""
        named = f"units.id AS row, unit, content_id, {', '.join(_UNIT[1:])}"
        rows = [
            row
            for chunk in in_chunks(sorted({key[:2] for key in keys}), _AT_ONCE // 2)
            for row in self._target.rows(
                # CROSS JOIN: each by the index; SQLite would read all units for the sake of an order
                f"""SELECT {named} FROM (VALUES {_marks_of_rows(chunk)}) AS asked CROSS JOIN units
                WHERE unit = column1 AND content_id = column2""",
                *(value for key in chunk for value in key),
            )
        ]
        rows.sort(key=itemgetter("row"), reverse=True)  # of two that are the same, the first stays
        return {tuple(row.values())[1:]: row["row"] for row in rows}

    # --- pictures ---------------------------------------------------------------------------------------------------

    def carry_pictures(self, hashes: Collection[str]) -> None:
        """Insert pictures of the source; one at a time, as they are large."""
        for content in sorted(hashes):
            found = "FROM pictures WHERE hash = ?"
            if self._target.rows(f"SELECT 1 {found}", content):
                continue
            with reading():
                rows = self._source.rows(f"SELECT image {found}", content)
            if not rows or not isinstance(rows[0]["image"], bytes) or picture_hash(rows[0]["image"]) != content:
                raise damaged(self._source, f"the picture {content} is missing, or does not match its hash")
            _insert(self._target, "pictures (hash, image)", [(content, rows[0]["image"])])


def _insert(file: Database, columns: str, rows: Sequence[Sequence[Value]]) -> None:
    """Insert rows with new hashes or ids; inside a transaction, so that no other writer can have inserted them."""
    for chunk in in_chunks(rows, max(1, _AT_ONCE // len(rows[0])) if rows else 1):
        file.write(f"INSERT INTO {columns} VALUES {_marks_of_rows(chunk)}", *(value for row in chunk for value in row))


def _marks_of_rows(rows: Sequence[Sequence[Value]]) -> str:
    return ", ".join([f"({marks(rows[0])})"] * len(rows))
