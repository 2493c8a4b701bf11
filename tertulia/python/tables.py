"""Records in order, which become a pandas data frame where pandas is installed."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from pydantic import BaseModel

from tertulia.state.errors import UsageError, extra_hint

if TYPE_CHECKING:
    from pandas import DataFrame

Item = TypeVar("Item")


class Records(tuple[Item, ...]):
    """A tuple of records of one kind."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "Records[Item]": ...
    def __getitem__(self, index: SupportsIndex | slice) -> "Item | Records[Item]":
        """Return a record, or those of a range."""
        return Records(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    def frame(self) -> "DataFrame":
        """Return a data frame with a row per record and a column per field; fields within fields are `outer.inner`.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise UsageError(f"data frames need pandas, which is not installed; run: {extra_hint('frames')}") from error
        return pandas.json_normalize([as_row(record) for record in self])

    def _repr_html_(self) -> str:
        """Return the records as a table, as notebooks show them."""
        rows = [as_row(record) for record in self]
        names = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_shown(row.get(name)))}</td>' for name in names)}</tr>" for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_row(record: object) -> dict[str, Any]:
    """Return the fields of a record by name."""
    if isinstance(record, BaseModel):
        return record.model_dump()
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    if isinstance(record, Mapping):
        return dict(record)
    return {name: getattr(record, name) for name in getattr(record, "columns", ())}


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
