"""The built front end: small, and made of its three files alone."""

import re

import pytest

from tertulia.viewer.server import BUILT

NAMES = ("index.html", "viewer.js", "viewer.css")

#: Namespaces of XML, which nobody loads.
_NAMESPACES = "http://www.w3.org/"


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: (BUILT / name).read_text(encoding="utf-8") for name in NAMES}


def test_it_is_three_files_below_600_kb() -> None:
    assert sorted(file.name for file in BUILT.iterdir()) == sorted(NAMES)
    assert sum(file.stat().st_size for file in BUILT.iterdir()) < 600_000


def test_it_names_no_address_that_it_would_load(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        addresses = re.findall(r"(?:https?|wss?|ftp)://[^\s\"'`)]*", text)
        assert [address for address in addresses if not address.startswith(_NAMESPACES)] == [], name
    assert set(re.findall(r"url\((.{5})|@import", texts["viewer.css"])) <= {"data:", '"data'}
    assert set(re.findall(r'(?:src|href)="([^"]*)"', texts["index.html"])) == {"./viewer.js", "./viewer.css", "data:,"}


def test_an_inlined_script_can_be_escaped(texts: dict[str, str]) -> None:
    """`html_file` writes `<` as `\\x3c` where HTML would stop reading: only strings and patterns may hold it."""
    for match in re.finditer(r"<(/?script|!--)", texts["viewer.js"], re.IGNORECASE):
        before = texts["viewer.js"][: match.start()].rpartition("\n")[2]
        assert any(before.count(quote) % 2 for quote in "\"'`"), before[-80:]
