"""A report as one HTML page that needs nothing else: plots are in it, nothing is fetched, and no script runs.

It looks as the page of `tertulia view` does: `tokens.css` and `elements.css` are the sheets of both. Drawings take
the colours of the page too, and so follow its theme, which is the system's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import ceil

from tertulia.lab.pages.page import Block, Cell, Column, Commands, Figure, Items, Page, Paragraph, Table, shown_cell
from tertulia.lab.pages.plots import FONT_SIZE, PUBLISHED, STYLES, lighter
from tertulia.state.text import clean

#: Nothing may be fetched or executed, whatever a text in the page holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_SHEETS = ("tokens.css", "elements.css", "report.css")

#: The dark colours, which the page of the viewer takes by its button and a report by the system's theme.
_DARK = re.compile(r':root\[data-theme="dark"\] (\{[^}]*\})')

#: By the colour of a series in a drawing, the page's.
_SERIES = dict(
    zip(
        (style.color for style in STYLES),
        ("ink", *(f"speaker-{number}" for number in (0, 1, 2, 3, 4, 7, 5, 6))),
        strict=True,
    )
)

#: By a colour of drawings, its variable on the page.
_COLORS = {
    "#ffffff": "none",
    PUBLISHED: "var(--muted)",
    **{lighter(color): f"color-mix(in srgb, var(--{name}) 33%, var(--paper))" for color, name in _SERIES.items()},
    **{color: f"var(--{name})" for color, name in _SERIES.items()},
}

#: The least size of a letter on the page, in pixels, as `--text-s`.
_LEAST_PX = 13

#: Before the drawing: declarations and metadata, which a page has no use for.
_PROLOGUE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_GROUP = ' class="group"'
_WARNING = ' class="notice bad"'
_ID = re.compile(r'(\bid="|href="#|url\(#)')
_SIZE = re.compile(r'<svg\b([^>]*?) width="([\d.]+)pt" height="[\d.]+pt"')
_FILL = re.compile(r'\bfill="(#[0-9a-f]{6})"')
_STYLE = re.compile(r'\bstyle="[^"]*"')
_COLOR = re.compile(r"#[0-9a-f]{6}\b")


def html_page(page: Page, drawings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a page, with the panels of a figure by its name (`drawn_panels`); others are left out."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{_text(page.title)}</title>"
    yield f"<style>\n{_sheet()}</style></head>"
    yield '<body><header class="top"><span class="brand">Tertulia</span></header>'
    yield f'<main class="report"><h1>{_text(page.title)}</h1>'
    for block in page.head:
        yield from _block(block, drawings)
    for section in page.sections:
        yield f"<section><h2>{_text(section.title)}</h2>"
        for block in section.blocks:
            yield from _block(block, drawings)
        yield "</section>"
    yield "</main></body></html>"


def _block(block: Block, drawings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"<p{_WARNING if block.is_warning else ''}>{_text(block.text)}</p>"
        case Items():
            yield from _items(block)
        case Commands():
            lines = "\n".join(f"$ {_text(line)}" for line in block.lines)
            yield f"<pre>{lines}</pre>"
        case Table() if block.on_page:
            yield from _table(block)
        case Figure() if block.name in drawings:
            title = _text(block.title)
            yield f"<figure><figcaption>{title}</figcaption>{_scroller(title)}"
            for at, (panel, drawing) in enumerate(zip(block.panels, drawings[block.name], strict=True)):
                label = f"{_text(panel.title)}: {title}" if panel.title else title
                svg = inlined(drawing, f"{block.name}-{at}")
                yield svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
            yield "</div></figure>"
        case _:
            pass


def _items(items: Items) -> Iterator[str]:
    if all(about for about, _ in items.items):
        yield "<dl>"
        yield from (f"<dt>{_text(about or '')}</dt><dd>{_text(text)}</dd>" for about, text in items.items)
        yield "</dl>"
        return
    yield "<ul>"
    for about, text in items.items:
        yield f"<li>{f'<b>{_text(about)}</b>: ' if about else ''}{_text(text)}</li>"
    yield "</ul>"


def _table(table: Table) -> Iterator[str]:
    title = _text(table.title)
    yield f"{_scroller(title)}<table><caption><span>{title}</span></caption><thead><tr>"
    yield "".join(f'<th scope="col"{_class(column)}>{_text(column.title)}</th>' for column in table.columns)
    yield "</tr></thead><tbody>"
    group: Cell = None
    for row in table.rows:
        begins = table.is_grouped and row[0] != group
        cells = zip(row, table.columns, strict=True)
        shown = (_cell(cell, column, is_head=place == 0) for place, (cell, column) in enumerate(cells))
        yield f"<tr{_GROUP if begins else ''}>{''.join(shown)}</tr>"
        group = row[0]
    yield "</tbody></table></div>"


def _scroller(title: str) -> str:
    """Return the beginning of a frame that scrolls sideways if it is wider than the window, by the keyboard too."""
    return f'<div class="scroller" tabindex="0" role="group" aria-label="{title}">'


def _cell(cell: Cell, column: Column, is_head: bool) -> str:
    shown = _text(shown_cell(cell, column))
    return f'<th scope="row"{_class(column)}>{shown}</th>' if is_head else f"<td{_class(column)}>{shown}</td>"


def _class(column: Column) -> str:
    return "" if column.is_text else ' class="number"'


@cache
def _sheet() -> str:
    """Return the stylesheet of a report: the page's, in the theme of the system."""
    folder = files("tertulia.lab") / "pages"
    sheet = "\n".join((folder / name).read_text(encoding="utf-8") for name in _SHEETS)
    return _DARK.sub(r"@media screen and (prefers-color-scheme: dark) { :root \1 }", sheet)


def inlined(drawing: str, name: str) -> str:
    """Return an SVG file as an element of a page.

    Its ids differ from those of other plots, its colours are the page's, and its letters have at least 13 pixels.
    """
    drawing = _ID.sub(rf"\g<1>{name}-", _PROLOGUE.sub("", drawing)).strip()
    drawing = _SIZE.sub(_sized, drawing, count=1)
    return _STYLE.sub(lambda style: _recolored(style.group()), _FILL.sub(r'style="fill: \1"', drawing))


def _sized(svg: re.Match[str]) -> str:
    return f'<svg{svg[1]} width="{ceil(float(svg[2]) * _LEAST_PX / FONT_SIZE)}"'


def _recolored(style: str) -> str:
    return _COLOR.sub(lambda color: _COLORS.get(color.group(), color.group()), style)


def _text(text: str) -> str:
    """Return text of any origin as HTML that reads as this text."""
    return escape(clean(text)).encode("utf-8", "replace").decode()
