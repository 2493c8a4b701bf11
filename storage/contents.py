"""Texts and prompts by the hash of what they say: each is stored once, and read back only as it was written."""

import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from state.errors import StorageError
from state.records import Prompt, Unit
from storage.database import StoreFile
from storage.faults import DAMAGED, storage_faults
from storage.values import Value, checksum, searchable

_UNITS_OF_PROMPT = """(
    SELECT key AS position, value AS unit_id FROM prompts, json_each(unit_ids) WHERE hash = ?
) JOIN units ON units.id = unit_id"""


def content_hash(text: str) -> str:
    """Return the hash under which a text is stored: blake2b, 16 bytes, in hexadecimal."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def verified(text: str, content: str, path: Path | str) -> str:
    """Return the text if it is the one of that content hash.

    Raises:
        StorageError: It is not: the file was changed behind the store's back.
    """
    if content_hash(text) != content:
        raise StorageError(DAMAGED.format(path=path, cause=f"the text {content} does not match its hash"))
    return text


class Contents:
    """The content-addressed part of a store file."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    def save_text(self, text: str) -> str:
        """Store a text once and return its content hash."""
        with self._file.transaction():
            self.text_id(text)
        return content_hash(text)

    def text(self, content: str) -> str:
        """Return the text of that content hash.

        Raises:
            StorageError: There is none, or it was damaged.
        """
        rows = self._file.rows("SELECT text FROM contents WHERE hash = ?", content)
        if not rows:
            raise self._missing("text", content)
        return verified(rows[0]["text"], content, self._file.path)

    def text_id(self, text: str) -> int:
        """Return the row of a text in `contents`, making it if need be; inside a transaction."""
        content = content_hash(text)
        rows = self._file.rows("SELECT id FROM contents WHERE hash = ?", content)
        if rows:
            return int(rows[0]["id"])
        return self._inserted("INSERT INTO contents (hash, text) VALUES (?, ?)", content, text)

    def save_prompt(self, prompt: Prompt) -> str:
        """Store a prompt, each of its units once, and return the content hash of the whole."""
        content = content_hash(_canonical(prompt))
        if not self._file.rows("SELECT 1 FROM prompts WHERE hash = ?", content):
            with self._file.transaction():
                unit_ids = json.dumps(self._unit_ids(prompt.units), separators=(",", ":"))
                self._file.write(
                    "INSERT INTO prompts (hash, speaker, layout, unit_ids) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    *(content, prompt.speaker, prompt.layout, unit_ids),
                )
        return content

    def prompt(self, content: str) -> Prompt:
        """Return the prompt of that content hash.

        Raises:
            StorageError: There is none, or it was damaged.
        """
        path = self._file.path
        found = self._file.rows("SELECT speaker, layout FROM prompts WHERE hash = ?", content)
        if not found:
            raise self._missing("prompt", content)
        units = self._file.rows(
            f"""SELECT unit AS id, block, kind, text, removable, speaker FROM {_UNITS_OF_PROMPT}
            JOIN contents ON contents.id = content_id ORDER BY position""",
            content,
        )
        with storage_faults(path):
            prompt = Prompt(units=tuple(Unit(**unit) for unit in units), **found[0])
        verified(_canonical(prompt), content, path)
        return prompt

    def unit_names(self, content: str) -> list[str]:
        """Return the ids of a prompt's units in prompt order; none if there is no such prompt."""
        rows = self._file.rows(f"SELECT unit FROM {_UNITS_OF_PROMPT} ORDER BY position", content)
        return [row["unit"] for row in rows]

    def save_passage(self, run: str, turn: int, agent: str, kind: str, text: str) -> None:
        """Note what was said or thought, for searching; inside a transaction."""
        self._save_passage(None, run, turn, agent, kind, searchable(text))

    def save_memories(self, start_id: int, memories: Iterable[tuple[str, str]]) -> None:
        """Note what is remembered by whom where a run starts, for searching, once; inside a transaction."""
        if not self._file.rows("SELECT 1 FROM passages WHERE start_id = ? LIMIT 1", start_id):
            for agent, text in dict.fromkeys(memories):
                self._save_passage(start_id, None, 0, agent, "memory", searchable(text))

    def _save_passage(self, *values: Value) -> None:
        self._file.write(
            """INSERT INTO passages (start_id, run, turn, agent, kind, text, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET text = excluded.text, checksum = excluded.checksum
            WHERE text IS NOT excluded.text""",
            *(*values, checksum(values)),
        )

    def _unit_ids(self, units: Sequence[Unit]) -> list[int]:
        """Return the rows of units, making those that are new; inside a transaction."""
        keys = [(one.id, content_hash(one.text), one.block, one.kind, one.removable, one.speaker) for one in units]
        known = self._known_units({key[:2] for key in keys})
        for key, unit in zip(keys, units, strict=True):
            if key not in known:
                known[key] = self._inserted(
                    "INSERT INTO units (unit, content_id, block, kind, removable, speaker) VALUES (?, ?, ?, ?, ?, ?)",
                    *(unit.id, self.text_id(unit.text), unit.block, unit.kind, unit.removable, unit.speaker),
                )
        return [known[key] for key in keys]

    def _known_units(self, asked: Collection[tuple[str, str]]) -> dict[tuple[Value, ...], int]:
        """Return the rows of the units that are stored already, most of them from earlier prompts; in one query.

        Args:
            asked: Their ids and the hashes of their texts.

        Returns:
            The row by id, hash, block, kind, removable and speaker.
        """
        if not asked:
            return {}
        rows = self._file.rows(
            # CROSS JOIN: in this order, by the indexes.
            f"""SELECT unit, hash, block, kind, removable, speaker, units.id AS row
            FROM (VALUES {", ".join(["(?, ?)"] * len(asked))}) CROSS JOIN contents ON hash = column2
            CROSS JOIN units ON unit = column1 AND content_id = contents.id""",
            *itertools.chain.from_iterable(asked),
        )
        return {tuple(row.values())[:-1]: row["row"] for row in rows}

    def _inserted(self, sql: str, *values: str | int | None) -> int:
        row = self._file.write(sql, *values).lastrowid
        assert row is not None  # an INSERT into a table with row ids
        return row

    def _missing(self, what: str, content: str) -> StorageError:
        return StorageError(DAMAGED.format(path=self._file.path, cause=f"the {what} {content} is missing"))


def _canonical(prompt: Prompt) -> str:
    # Without defaults, so that a field added later does not change the hashes of what is stored.
    return json.dumps(
        prompt.model_dump(exclude_defaults=True), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
