"""The documents of stored candidates, read from their JSON at once: a long album chat has a hundred thousand."""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from tertulia.state.records import Origin


class _Stored(TypedDict):
    """The JSON of a candidate's row: its `Reply`, and the other fields of `Candidate`."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    text: str
    tokens: list[int]
    text_tokens: Annotated[list[int], Field(min_length=2, max_length=2)]
    fields: dict[str, str | bool | int]
    information: float | None
    origin: Origin
    rewritable: bool | None
    faults: list[str] | None
    probability: float | None
    string_seed: str | None
    remark: str | None


def candidate_document(row: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a `Candidate` as JSON has it, from its row and its text.

    Raises:
        ValueError: The row is not a candidate's.
    """
    attempt, inconsistency = row["attempt"], row["inconsistency"]
    stored: dict[str, Any] = _reader(_Stored).validate_json(row["reply"])
    if attempt < 0 or type(inconsistency) is int:
        raise ValueError(attempt, inconsistency)
    return {
        "attempt": attempt,
        "text": text,
        "reply": {
            "text": stored["text"],
            "tokens": stored["tokens"],
            "text_tokens": stored["text_tokens"],
            "fields": stored["fields"],
            "information": stored["information"],
        },
        "origin": stored["origin"],
        "inconsistency": inconsistency,
        "inconsistency_runs": [*_figures(row["inconsistency_runs"])],
        "comment": row["comment"],
        "rewritable": stored["rewritable"],
        "faults": stored["faults"],
        "probability": stored["probability"],
        "string_seed": stored["string_seed"],
        "remark": stored["remark"],
    }


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    """Return an adapter that reads JSON as values of a kind; built at its first use."""
    return TypeAdapter(kind)


@lru_cache(maxsize=1024)  # mostly there is none
def _figures(text: str) -> tuple[float, ...]:
    figures: list[float] = _reader(list[float]).validate_json(text)
    return tuple(figures)
