"""A report as Markdown that reads well as text; the content of tables and names can't break it."""

import re
from collections.abc import Iterator, Mapping

from tertulia.lab.pages.page import Block, Cell, Column, Commands, Figure, Items, Page, Paragraph, Table, shown_cell
from tertulia.views.wording.transcript import escaped

#: Text that begins a list or a rule at the beginning of a line.
_BLOCK_START = re.compile(r"^(?:[-+=]|(\d+)(?=[.)]))")


#: Text that ends a cell of a table, even in code.
_PIPE = re.compile(r"(?<!\\)\|")


def markdown(page: Page, plots: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a page, with the file of each figure's plot by its name; other figures are left out."""
    yield from (f"# {escaped(page.title)}", "")
    for block in page.head:
        yield from _block(block, plots)
    for section in page.sections:
        yield from (f"## {escaped(section.title)}", "")
        for block in section.blocks:
            yield from _block(block, plots)


def _block(block: Block, plots: Mapping[str, str]) -> Iterator[str]:
    match block:
        case Paragraph():
            yield from (f"> **{escaped(block.text)}**" if block.is_warning else _line(block.text), "")
        case Items():
            yield from (
                f"- **{escaped(about)}**: {escaped(text)}" if about else _item(text) for about, text in block.items
            )
            yield from [""] if block.items else []
        case Commands():
            yield from ("```console", *(f"$ {' '.join(line.split())}" for line in block.lines), "```", "")
        case Table() if block.on_page:
            yield from _table(block)
        case Figure() if block.name in plots:
            yield from (f"![{escaped(block.title)}](<{plots[block.name]}>)", "", f"*{escaped(block.title)}*", "")
        case _:
            pass


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{escaped(table.title)}**", "")
    yield f"| {' | '.join(_cell(column.title, column) for column in table.columns)} |"
    yield f"|{'|'.join('---' if column.is_text else '---:' for column in table.columns)}|"
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        yield f"| {' | '.join(_cell(cell, column) for cell, column in cells)} |"
    yield ""


def _cell(cell: Cell, column: Column) -> str:
    shown = shown_cell(cell, column)
    return _PIPE.sub(r"\\|", escaped(shown)) if isinstance(cell, str) else shown


def _item(text: str) -> str:
    return f"- {_line(text)}"


def _line(text: str) -> str:
    """Return text as a line that begins no list, heading or rule."""
    return _BLOCK_START.sub(lambda start: f"{start[1]}\\" if start[1] else f"\\{start[0]}", escaped(text))
