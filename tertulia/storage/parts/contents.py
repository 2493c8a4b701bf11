"""Texts and prompts by the hash of their contents: each is stored once, and read back only as it was written."""

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from typing_extensions import override

from tertulia.state.errors import StorageError
from tertulia.state.records import Prompt, Unit
from tertulia.state.store import ContentStore
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.contract import Database
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.tables import Table
from tertulia.storage.values import Value, checksum, parsed, searchable

#: Units that one statement asks for: SQLite takes no more than some ten thousand parameters.
_ASKED_AT_ONCE = 2000

#: A unit as its row has it: id, text, block, kind, removable, speaker, picture.
UnitKey = tuple[str, str, str, str, bool, str | None, str | None]

_Store = TypeVar("_Store", bound="Contents")
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

#: SQL that joins the texts of rows with a `content_id`.
WITH_TEXT = "LEFT JOIN contents ON contents.id = content_id"


def content_hash(text: str) -> str:
    """Return the hash under which a text is stored: blake2b, 16 bytes, in hexadecimal."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def verified(text: str, content: str, path: StoreAddress | str) -> str:
    """Return a text; `StorageError` if it does not match its content hash."""
    if content_hash(text) != content:
        raise damaged(path, f"the text {content} does not match its hash")
    return text


def at_one_moment(
    method: Callable[Concatenate[_Store, _Given], _Returned],
) -> Callable[Concatenate[_Store, _Given], _Returned]:
    """Let a method of a store with several queries see none of what others write between them."""

    @wraps(method)
    def reading(store: _Store, /, *given: _Given.args, **named: _Given.kwargs) -> _Returned:
        with store.file.reading():
            return method(store, *given, **named)

    return reading


class Contents(ContentStore):
    """Texts and prompts of a store file; the other parts of a store build on it.

    Attributes:
        file: The connection, for plain SQL.
        path: The file that messages name.
    """

    def __init__(self, file: Database, path: StoreAddress | str | None = None) -> None:
        """Take an open file, and the path that messages name if it differs."""
        self.file, self.path = file, path or file.path

    @override
    def save_text(self, text: str) -> str:
        with self.file.transaction():
            self.text_id(text)
        return content_hash(text)

    @override
    def text(self, content: str) -> str:
        rows = self.file.rows("SELECT text FROM contents WHERE hash = ?", content)
        if not rows:
            raise self._missing("text", content)
        return verified(rows[0]["text"], content, self.path)

    def text_id(self, text: str) -> int:
        """Return the id of the row of a text in `contents`, inserting it if it is missing; inside a transaction."""
        return self.text_ids([text])[text]

    def text_ids(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of the rows of texts in `contents`, inserting those that are missing; inside a transaction."""
        hashes = {text: content_hash(text) for text in texts}
        found = f"SELECT hash, id FROM contents WHERE hash IN {self.file.dialect.given_texts}"
        known = {row["hash"]: int(row["id"]) for row in self.file.rows(found, json.dumps([*hashes.values()]))}
        new = {content: text for text, content in hashes.items() if content not in known}
        ids = self.file.insert_rows("INSERT INTO contents (hash, text) VALUES (?, ?)", [*new.items()])
        known.update(zip(new, ids, strict=True))
        return {text: known[content] for text, content in hashes.items()}

    @override
    def save_prompt(self, prompt: Prompt) -> str:
        content = content_hash(_canonical(prompt))
        self.save_prompts({content: prompt})
        return content

    def save_prompts(self, prompts: Mapping[str, Prompt]) -> None:
        """Store prompts, given by their hashes, that are not stored yet: the more at once, the fewer statements."""
        listed = f"SELECT hash FROM prompts WHERE hash IN {self.file.dialect.given_texts}"
        stored = {row["hash"] for row in self.file.rows(listed, json.dumps([*prompts]))}
        new = {content: prompt for content, prompt in prompts.items() if content not in stored}
        if not new:
            return
        with self.file.joined():
            unit_ids = self.unit_ids(dict.fromkeys(unit_key(unit) for prompt in new.values() for unit in prompt.units))
            self.file.write_all(
                "INSERT INTO prompts (hash, speaker, layout, unit_ids) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (content, prompt.speaker, prompt.layout, _listed(unit_ids[unit_key(unit)] for unit in prompt.units))
                    for content, prompt in new.items()
                ],
            )

    @override
    def prompt(self, content: str) -> Prompt:
        found = self.file.rows("SELECT speaker, layout FROM prompts WHERE hash = ?", content)
        if not found:
            raise self._missing("prompt", content)
        units = self.file.rows(
            f"""SELECT unit AS id, block, kind, text, removable, speaker, picture FROM {self._units_of_prompt}
            JOIN contents ON contents.id = content_id ORDER BY position""",
            content,
        )
        with record_faults(self.path):
            read = [_unit_with_text(**unit) for unit in units]
            prompt = Prompt(units=tuple(unit for unit, _ in read), **found[0])
        verified(hashed_text(prompt.layout, prompt.speaker, (text for _, text in read)), content, self.path)
        return prompt

    def removable_units(self, prompts: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the removable units of prompts, by the prompt's hash.

        Units are read once, in however many of the prompts they stand.

        Raises:
            StorageError: A prompt is missing, or does not match its hash.
        """
        listed = f"FROM prompts WHERE hash IN {self.file.dialect.given_texts}"
        rows = self.file.rows(f"SELECT hash, speaker, layout, unit_ids {listed}", json.dumps(sorted(prompts)))
        for content in set(prompts).difference(row["hash"] for row in rows):
            raise self._missing("prompt", content)
        with record_faults(self.path):
            unit_ids = {row["hash"]: parsed(row["unit_ids"]) for row in rows}
            texts, removable = self._units_as_hashed(sorted({unit for ids in unit_ids.values() for unit in ids}))
            for row in rows:
                units = [texts[unit] for unit in unit_ids[row["hash"]] if unit in texts]
                verified(hashed_text(row["layout"], row["speaker"], units), row["hash"], self.path)
            return {prompt: [removable[unit] for unit in ids if unit in removable] for prompt, ids in unit_ids.items()}

    def _units_as_hashed(self, ids: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
        """Return units as their prompts' hashes cover them, and the ids of those that are removable; by their rows."""
        rows = self.file.rows(
            f"""SELECT units.id AS row, unit AS id, block, kind, text, removable, speaker, picture
            FROM units JOIN contents ON contents.id = content_id WHERE units.id IN {self.file.dialect.given_counts}""",
            json.dumps(ids),
        )
        texts, removable = {}, {}
        for row in rows:
            number, is_removable = row.pop("row"), row.pop("removable")
            held = {name: value for name, value in row.items() if value is not None}
            if is_removable:
                held["removable"], removable[number] = True, row["id"]
            texts[number] = canonical_json(held)  # as `_canonical` has it, at a fifth of the time
        return texts, removable

    def unit_names(self, content: str) -> list[str]:
        """Return the ids of a prompt's units in prompt order; none if there is no such prompt."""
        rows = self.file.rows(f"SELECT unit FROM {self._units_of_prompt} ORDER BY position", content)
        return [row["unit"] for row in rows]

    @property
    def _units_of_prompt(self) -> str:
        """SQL for the units of a prompt, given by its hash as a parameter, with their places."""
        return f"""(
            SELECT place.key AS position, place.value AS unit_id
            FROM prompts{self.file.dialect.joined_counts("unit_ids")} WHERE hash = ?
        ) AS places JOIN units ON units.id = unit_id"""

    def save_passage(self, run: str, turn: int, agent: str, kind: str, text: str) -> None:
        """Add an utterance or a thought to the full-text search; inside a transaction."""
        values = (None, run, turn, agent, kind, searchable(text))
        self.file.write(
            """INSERT INTO passages (start_id, run, turn, agent, kind, text, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (run, turn, agent, kind) DO UPDATE SET text = excluded.text, checksum = excluded.checksum
            WHERE passages.text <> excluded.text""",
            *(*values, checksum(values)),
        )

    def save_start_memories(self, start_id: int, memories: Iterable[tuple[str, str]]) -> None:
        """Add the memories that a run starts from to the full-text search, once; inside a transaction."""
        if not self.file.rows("SELECT 1 FROM passages WHERE start_id = ? LIMIT 1", start_id):
            kept = {"start_id": start_id, "run": None, "turn": 0, "kind": "memory"}
            passages = [{**kept, "agent": agent, "text": searchable(text)} for agent, text in dict.fromkeys(memories)]
            Table(self.file, "passages").insert_all(passages)

    def unit_ids(self, keys: Collection[UnitKey]) -> dict[UnitKey, int]:
        """Return the ids of the rows of units, inserting those that are missing; inside a transaction."""
        hashes = {key: content_hash(key[1]) for key in keys}
        stored = self._known_units({(key[0], content) for key, content in hashes.items()})
        known = {key: stored.get((key[0], content, *key[2:])) for key, content in hashes.items()}
        new = [key for key, row in known.items() if row is None]
        texts = self.text_ids(key[1] for key in new)
        ids = self.file.insert_rows(
            """INSERT INTO units (unit, content_id, block, kind, removable, speaker, picture)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            [(key[0], texts[key[1]], *key[2:]) for key in new],
        )
        return {key: row for key, row in known.items() if row is not None} | dict(zip(new, ids, strict=True))

    def _known_units(self, asked: Collection[tuple[str, str]]) -> dict[tuple[Value, ...], int]:
        """Return the rows of stored units among those with the given ids and text hashes.

        The keys are id, hash, block, kind, removable, speaker and picture.
        """
        known: dict[tuple[Value, ...], int] = {}
        pairs = [*asked]
        for some in (pairs[at : at + _ASKED_AT_ONCE] for at in range(0, len(pairs), _ASKED_AT_ONCE)):
            rows = self.file.rows(
                # CROSS JOIN: in this order, by the indexes.
                f"""SELECT unit, hash, block, kind, removable, speaker, picture, units.id AS row
                FROM (VALUES {", ".join(["(?, ?)"] * len(some))}) AS asked CROSS JOIN contents CROSS JOIN units
                WHERE hash = column2 AND unit = column1 AND content_id = contents.id""",
                *itertools.chain.from_iterable(some),
            )
            known |= {tuple(row.values())[:-1]: row["row"] for row in rows}
        return known

    def verified_texts(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows with texts and their hashes; `StorageError` if a text is missing or does not match its hash."""
        for row in rows:
            if not isinstance(row["hash"], str) or not isinstance(row["text"], str):
                raise damaged(self.path, "a text is missing")
            verified(row["text"], row["hash"], self.path)
        return rows

    def _missing(self, what: str, content: str) -> StorageError:
        return damaged(self.path, f"the {what} {content} is missing")


def unit_key(unit: Unit) -> UnitKey:
    """Return the fields that tell a unit from others."""
    return unit.id, unit.text, unit.block, unit.kind, unit.removable, unit.speaker, unit.picture


def _listed(unit_ids: Iterable[int]) -> str:
    return json.dumps([*unit_ids], separators=(",", ":"))


def _canonical(prompt: Prompt) -> str:
    return hashed_text(prompt.layout, prompt.speaker, map(unit_text, prompt.units))


@lru_cache(maxsize=2048)  # the units of a prompt are those of the prompt before
def _unit_with_text(**fields: Any) -> tuple[Unit, str]:
    unit = Unit(**fields)
    return unit, unit_text(unit)


def unit_text(unit: Unit) -> str:
    """Return the JSON of a unit as the hash of its prompt covers it."""
    # Without defaults, so that a field added later does not change the hashes of stored units.
    return canonical_json(unit.model_dump(exclude_defaults=True))


def canonical_json(value: Mapping[str, Any]) -> str:
    """Return the JSON of a prompt or a unit as the hash of a prompt covers it."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def hashed_text(layout: str, speaker: str, units: Iterable[str]) -> str:
    """Return the canonical JSON of a prompt, from that of its units."""
    return f'{canonical_json({"layout": layout, "speaker": speaker})[:-1]},"units":[{",".join(units)}]}}'
