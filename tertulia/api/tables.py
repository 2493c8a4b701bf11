"""Records in order, which become a pandas data frame if pandas is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from pydantic import BaseModel

from tertulia.state.errors import MissingPackageError, extra_hint

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
        return Records(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    def frame(self) -> "DataFrame":
        """Return a data frame with a row per record and a column per field; fields within fields are `outer.inner`.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError(
                f"data frames need pandas, which is not installed; run: {extra_hint('frames')}"
            ) from error
        return pandas.json_normalize([as_row(record) for record in self])

    def _repr_html_(self) -> str:
        rows = [as_row(record) for record in self]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Shown(names, [[row.get(name) for name in names] for row in rows]).html()


@dataclass(frozen=True)
class Shown:
    """A table as it is shown: names of columns, and rows of values; `None` is empty."""

    names: Sequence[str]
    rows: Sequence[Sequence[object]]

    def text(self) -> str:
        """Return it as lines, numbers to the right."""
        cells = [[_shown(value) for value in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.names, *cells, strict=True)]
        right = [
            any(isinstance(row[at], int | float) and not isinstance(row[at], bool) for row in self.rows)
            for at in range(len(self.names))
        ]
        lines = [
            "  ".join(
                cell.rjust(width) if is_right else cell.ljust(width)
                for cell, width, is_right in zip(row, widths, right, strict=True)
            )
            for row in [list(self.names), *cells]
        ]
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """Return it as a table of HTML."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.names)
        body = "".join(f"<tr>{''.join(f'<td>{escape(_shown(value))}</td>' for value in row)}</tr>" for row in self.rows)
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
