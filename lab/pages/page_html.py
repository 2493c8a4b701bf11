"""A report as one HTML page that needs nothing else: plots are in it, nothing is fetched, and no script runs."""

import re
from collections.abc import Iterator, Mapping
from html import escape

from tertulia.lab.pages.page import Block, Cell, Column, Commands, Figure, Items, Page, Paragraph, Table, shown_cell
from tertulia.state.text import clean

#: Nothing may be fetched or executed, whatever a text in the page holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 "DejaVu Sans", "Helvetica Neue", Arial, sans-serif; color: #111; background: #fff;
  max-width: 84rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #bbb; }
p, ul, pre { max-width: 52rem; } li { margin: .15rem 0; }
pre { background: #f3f3f3; padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; font-size: .85rem; }
.warning { border: 2px solid #111; padding: .5rem .8rem; font-weight: bold; }
figure, .table { margin: 1.4rem 0; } figcaption, caption { text-align: left; font-size: .85rem; color: #333; }
caption { font-weight: bold; padding-bottom: .4rem; } figure svg { max-width: 100%; height: auto; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; border-bottom: 2px solid #111; }
th, td { padding: .25rem .6rem .25rem 0; } td { border-bottom: 1px solid #ddd; vertical-align: top; }
.group td { border-top: 2px solid #777; }
.figure { text-align: right; padding-left: .6rem; } td.figure { white-space: nowrap; }
@media print { body { font-size: 10pt; margin: 0; max-width: none; padding: 0; } table { font-size: 7.5pt; }
  h2 { break-after: avoid; } figure, tr, .warning { break-inside: avoid; } thead { display: table-header-group; }
  .table { overflow: visible; } pre { border: 1px solid #bbb; } @page { size: A4 landscape; margin: 15mm; } }
"""

#: Before the drawing: declarations and metadata, which a page has no use for.
_PROLOGUE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_GROUP = ' class="group"'
_WARNING = ' class="warning"'
_ID = re.compile(r'(\bid="|href="#|url\(#)')


def html_page(page: Page, drawings: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a page, with the SVG of a figure by its name (`plots.drawn`); other figures are left out."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(page.title)}</title>"
    yield f"<style>{_STYLE}</style></head>"
    yield f"<body><main><h1>{_text(page.title)}</h1>"
    for block in page.head:
        yield from _block(block, drawings)
    for section in page.sections:
        yield f"<section><h2>{_text(section.title)}</h2>"
        for block in section.blocks:
            yield from _block(block, drawings)
        yield "</section>"
    yield "</main></body></html>"


def _block(block: Block, drawings: Mapping[str, str]) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"<p{_WARNING if block.is_warning else ''}>{_text(block.text)}</p>"
        case Items():
            yield "<ul>"
            for about, text in block.items:
                yield f"<li>{f'<b>{_text(about)}</b>: ' if about else ''}{_text(text)}</li>"
            yield "</ul>"
        case Commands():
            lines = "\n".join(f"$ {_text(line)}" for line in block.lines)
            yield f"<pre>{lines}</pre>"
        case Table() if block.on_page:
            yield from _table(block)
        case Figure() if block.name in drawings:
            drawing = inlined(drawings[block.name], block.name)
            title = _text(block.title)
            yield f'<figure role="img" aria-label="{title}">{drawing}<figcaption>{title}</figcaption></figure>'
        case _:
            pass


def _table(table: Table) -> Iterator[str]:
    yield f'<div class="table"><table><caption>{_text(table.title)}</caption><thead><tr>'
    yield "".join(f"<th{_class(column)}>{_text(column.title)}</th>" for column in table.columns)
    yield "</tr></thead><tbody>"
    group: Cell = None
    for row in table.rows:
        begins = table.is_grouped and row[0] != group
        cells = zip(row, table.columns, strict=True)
        yield f"<tr{_GROUP if begins else ''}>{''.join(_cell(cell, column) for cell, column in cells)}</tr>"
        group = row[0]
    yield "</tbody></table></div>"


def _cell(cell: Cell, column: Column) -> str:
    return f"<td{_class(column)}>{_text(shown_cell(cell, column))}</td>"


def _class(column: Column) -> str:
    return "" if column.is_text else ' class="figure"'


def inlined(drawing: str, name: str) -> str:
    """Return an SVG file as an element of a page, with ids that differ from those of other plots."""
    return _ID.sub(rf"\g<1>{name}-", _PROLOGUE.sub("", drawing)).strip()


def _text(text: str) -> str:
    """Return text of any origin as HTML that reads as this text."""
    return escape(clean(text)).encode("utf-8", "replace").decode()
