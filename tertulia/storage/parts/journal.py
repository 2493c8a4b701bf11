"""The journal of model calls: every call with its request, its replies and its cost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import override

from tertulia.state.cognition import Call
from tertulia.state.records import Record, Reply
from tertulia.state.store import CallStore
from tertulia.state.text import first_line
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.faults import damaged
from tertulia.storage.parts.cognition import NO_LIMIT, Cognition
from tertulia.storage.parts.contents import at_one_moment, verified
from tertulia.storage.tables import Table
from tertulia.storage.values import json_text, packed, parsed, unpacked

#: The fields of a call that columns hold as they are.
_AS_STORED = [name for name in Call.model_fields if name not in ("parameters", "replies", "values")]

_PARAMETERS = "LEFT JOIN contents ON contents.id = parameters_id"


class Journal(Cognition, CallStore):
    """Calls of a store file."""

    @override
    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        with self.file.joined():
            Table(self.file, "calls").insert_all([self._row(run, call) for call in calls], replace=True)

    def _row(self, run: str, call: Call) -> dict[str, Any]:
        replies, tokens = _packed(call.replies)
        return {
            "run": run,
            **call.model_dump(exclude={"parameters", "replies", "values"}),
            "parameters_id": self.text_id(json_text(call.parameters)),
            "replies": replies,
            "tokens": tokens,
            "results": json_text(call.values),
        }

    @override
    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        key = "WHERE run = ? AND round = ? AND agent = ? AND node = ? AND attempt = ?"
        rows = Table(self.file, "calls").select(
            f"{_PARAMETERS} {key}", run, round, agent, node, attempt, also="hash, text"
        )
        return self._call(rows[0]) if rows else None

    @override
    def calls(self, run: str, round: int | None = None, without_shared: bool = False) -> list[Call]:
        first, last = (0, NO_LIMIT) if round is None else (round, round)
        return self.calls_between(run, first, last, without_shared)

    @at_one_moment
    @override
    def calls_between(
        self, run: str, first: int, last: int, without_shared: bool = False, agent: str | None = None
    ) -> list[Call]:
        rows = self._call_rows(run, first, last, without_shared)
        return [self._call(row) for row in rows if agent in (None, row["agent"])]

    @at_one_moment
    @override
    def calls_in_brief(self, run: str, first: int, last: int | None = None, without_shared: bool = False) -> list[Call]:
        rows = self._call_rows(run, first, NO_LIMIT if last is None else last, without_shared)
        with call_faults(self.path):
            return [Call.model_validate({name: row[name] for name in _AS_STORED}) for row in rows]

    def _call_rows(self, run: str, first: int, last: int, without_shared: bool) -> list[dict[str, Any]]:
        self.check_run(run, first, last, ("calls",))
        rows = Table(self.file, "calls").select(
            f"""{_PARAMETERS} JOIN lineage ON ancestor = calls.run AND round <= rounds
            WHERE lineage.run = ? AND round BETWEEN ? AND ? AND (depth = 0 OR ? = 0)
            ORDER BY depth DESC, calls.id""",
            *(run, first, last, without_shared),
            also="hash, text",
        )
        return [*{(row["round"], row["agent"], row["node"], row["attempt"]): row for row in rows}.values()]

    @at_one_moment
    @override
    def unsent(self, run: str) -> dict[str, frozenset[str]]:
        self.check_run(run, 0, NO_LIMIT, ("calls",))
        rows = self.file.rows(
            """SELECT DISTINCT calls.model, replies, tokens FROM calls
            JOIN lineage ON ancestor = calls.run AND round <= rounds WHERE lineage.run = ? AND replies LIKE ?""",
            *(run, '%"unsent"%'),
        )
        found: dict[str, frozenset[str]] = {}
        with call_faults(self.path):
            for row in rows:
                left_out = [name for reply in _unpacked(row["replies"], row["tokens"]) for name in reply["unsent"]]
                found[row["model"]] = found.get(row["model"], frozenset()) | {*left_out}
        return found

    def _call(self, row: dict[str, Any]) -> Call:
        with call_faults(self.path):
            return Call.model_validate(call_fields(row, self._parameters(row)))

    def _parameters(self, row: dict[str, Any]) -> str:
        if row["text"] is None:
            raise ValueError("its parameters are missing")
        return verified(row["text"], row["hash"], self.path)


class _StoredReply(Record):
    """A reply without its tokens, and without fields that its text holds."""

    text: str
    text_tokens: tuple[int, int]
    fields: dict[str, str | bool | int] | None
    information: float | None = None
    unsent: tuple[str, ...] = ()
    thought: str | None = None
    with_actions: dict[str, str] | None = None
    remark: str | None = None


#: Fields that few replies have.
_RARE = ("thought", "with_actions", "remark")

_STORED_REPLIES = TypeAdapter(tuple[_StoredReply, ...], config=ConfigDict(defer_build=True))


def _packed(replies: Sequence[Reply]) -> tuple[str, bytes]:
    """Return replies as readable JSON, and their tokens packed."""
    rows = [
        {
            "text": reply.text,
            "text_tokens": reply.text_tokens,
            "fields": None if _is_json_of(reply.text, reply.fields) else reply.fields,
            **({} if reply.information is None else {"information": reply.information}),
            **({"unsent": reply.unsent} if reply.unsent else {}),
            **{name: value for name in _RARE if (value := getattr(reply, name)) is not None},
        }
        for reply in replies
    ]
    tokens = packed(json_text([reply.tokens for reply in replies]))
    return json_text(rows), tokens


def call_fields(row: Mapping[str, Any], parameters: str) -> dict[str, Any]:
    """Return the fields of a call from its row and the JSON of its parameters; inside `call_faults`."""
    return {
        **{name: row[name] for name in _AS_STORED},
        "parameters": parsed(parameters),
        "replies": _unpacked(row["replies"], row["tokens"]),
        "values": parsed(row["results"]),
    }


@contextmanager
def call_faults(path: StoreAddress | str) -> Iterator[None]:
    """Re-raise as a `StorageError` that a call does not read."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise damaged(path, f"a call does not read: {first_line(error)}") from error


def _unpacked(replies: str, tokens: bytes) -> list[dict[str, Any]]:
    """Return the fields of replies that were packed; `ValueError` or `TypeError` if they were damaged since."""
    rows = _STORED_REPLIES.validate_python(parsed(replies))
    tokens_of_each = parsed(unpacked(tokens))
    return [
        {
            "text": row.text,
            "tokens": reply_tokens,
            "text_tokens": row.text_tokens,
            "fields": parsed(row.text) if row.fields is None else row.fields,
            "information": row.information,
            "unsent": row.unsent,
            **{name: getattr(row, name) for name in _RARE},
        }
        for row, reply_tokens in zip(rows, tokens_of_each, strict=True)
    ]


def _is_json_of(text: str, fields: dict[str, str | bool | int]) -> bool:
    """Whether a text, read as JSON, gives these fields: in this order, and with 1, 1.0 and true distinguished."""
    try:
        return repr(json.loads(text)) == repr(fields)
    except (ValueError, RecursionError):
        return False
