"""What goes on in agents: the steps of their cognition, and the model calls that these made."""

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from state.cognition import Call
from state.contracts import AnyRecord
from state.errors import StorageError
from state.records import Record, Reply
from storage.database import StoreFile
from storage.faults import DAMAGED, storage_faults

_CALLS = "SELECT round, agent, node, attempt, model, prompt, replies, tokens FROM calls WHERE run = ?"


class Cognition:
    """The part of a store file that holds steps and calls; every row has a deterministic key."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        """Store what a step came to, in place of what was stored under its key.

        Raises:
            ValueError, TypeError: The record holds what JSON can't, such as NaN.
        """
        self._file.write(
            "INSERT OR REPLACE INTO steps (run, round, agent, node, record) VALUES (?, ?, ?, ?, ?)",
            *(run, round, agent, node, _json(record.model_dump())),
        )

    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return what that step came to, read as a record of that kind; `None` if it was not taken."""
        rows = self._file.rows(
            "SELECT record FROM steps WHERE run = ? AND round = ? AND agent = ? AND node = ?", run, round, agent, node
        )
        return self._record(kind, rows[0]["record"]) if rows else None

    def steps(self, run: str, node: str, kind: type[AnyRecord]) -> dict[tuple[int, str], AnyRecord]:
        """Return what a step came to wherever it was taken, by round and agent, in their order."""
        rows = self._file.rows(
            "SELECT round, agent, record FROM steps WHERE run = ? AND node = ? ORDER BY round, agent", run, node
        )
        return {(row["round"], row["agent"]): self._record(kind, row["record"]) for row in rows}

    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        """Store calls, all of them or none; one that is stored already stays as it is."""
        with self._file.transaction():
            for call in calls:
                self._file.write(
                    """INSERT INTO calls (run, round, agent, node, attempt, model, prompt, replies, tokens)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING""",
                    *(run, call.round, call.agent, call.node, call.attempt, call.model, call.prompt),
                    *_packed(call.replies),
                )

    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        """Return the call of that key; `None` if it was not made."""
        key = "AND round = ? AND agent = ? AND node = ? AND attempt = ?"
        rows = self._file.rows(f"{_CALLS} {key}", run, round, agent, node, attempt)
        return self._call(rows[0]) if rows else None

    def calls(self, run: str, round: int | None = None) -> list[Call]:
        """Return the calls of a run, or of one of its rounds, in the order in which they were stored."""
        rows = self._file.rows(f"{_CALLS} AND (? IS NULL OR round = ?) ORDER BY id", run, round, round)
        return [self._call(row) for row in rows]

    def _record(self, kind: type[AnyRecord], text: str) -> AnyRecord:
        with storage_faults(self._file.path):
            return kind.model_validate(json.loads(text))

    def _call(self, row: dict[str, Any]) -> Call:
        try:
            replies = _unpacked(row["replies"], row.pop("tokens"))
            return Call(**{**row, "replies": replies})
        except (zlib.error, ValueError) as error:
            cause = f"a call does not read: {str(error).splitlines()[0]}"
            raise StorageError(DAMAGED.format(path=self._file.path, cause=cause)) from error


class _StoredReply(Record):
    """A reply without its tokens, and without fields that its text holds."""

    text: str
    text_tokens: tuple[int, int]
    fields: dict[str, str | bool | int] | None


_STORED_REPLIES = TypeAdapter(tuple[_StoredReply, ...])


def _packed(replies: Sequence[Reply]) -> tuple[str, str]:
    """Return replies as readable JSON, and their tokens packed."""
    rows = [
        {
            "text": one.text,
            "text_tokens": one.text_tokens,
            "fields": None if _is_json_of(one.text, one.fields) else one.fields,
        }
        for one in replies
    ]
    tokens = zlib.compress(_json([one.tokens for one in replies]).encode())
    return _json(rows), base64.b85encode(tokens).decode("ascii")


def _unpacked(replies: str, tokens: str) -> tuple[Reply, ...]:
    """Return the replies that were packed; `ValueError` or `zlib.error` if they were damaged since."""
    rows = _STORED_REPLIES.validate_python(json.loads(replies))
    own_tokens = json.loads(zlib.decompress(base64.b85decode(tokens)))
    return tuple(
        Reply(
            text=row.text,
            tokens=own,
            text_tokens=row.text_tokens,
            fields=json.loads(row.text) if row.fields is None else row.fields,
        )
        for row, own in zip(rows, own_tokens, strict=True)
    )


def _is_json_of(text: str, fields: dict[str, str | bool | int]) -> bool:
    """Whether a text, read as JSON, gives these fields: in this order, and with 1, 1.0 and true told apart."""
    try:
        return json.dumps(json.loads(text)) == json.dumps(fields)
    except (ValueError, RecursionError):
        return False


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
