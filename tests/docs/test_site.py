"""The site of docs/: its navigation has every page once, its links lead somewhere. Without the site's generator."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.examples import problems_of

import tertulia

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "site"


class _AnyTag(yaml.SafeLoader):
    """Reads a file whose tags name Python objects, without them."""


_AnyTag.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
CONFIG: dict[str, Any] = yaml.load((SITE / "mkdocs.yml").read_text(encoding="utf-8"), _AnyTag)

#: Pages that the site has from the repository's root (docs/site/hooks.py).
OF_THE_ROOT = {"CONTRIBUTING.md", "SECURITY.md"}


def pages_of(navigation: list[Any]) -> Iterator[str]:
    """The pages of a navigation, in their order."""
    for entry in navigation:
        (content,) = entry.values()
        if isinstance(content, str):
            yield content
        else:
            yield from pages_of(content)


PAGES = list(pages_of(CONFIG["nav"]))


def source_of(page: str) -> Path:
    """The file that a page of the site is made from."""
    at = (ROOT if page in OF_THE_ROOT else DOCS) / page
    return at if at.exists() else at.with_suffix(".ipynb")


def test_every_page_is_in_the_navigation_once() -> None:
    there = {str(file.relative_to(DOCS)) for ending in ("md", "ipynb") for file in DOCS.rglob(f"*.{ending}")}
    pages = {re.sub(r"\.ipynb$", ".md", name) for name in there}
    assert sorted(PAGES) == sorted(pages | OF_THE_ROOT)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_links_to_is_there(page: str) -> None:
    file = source_of(page)
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = "\n\n".join(re.findall(r"(?<!!)\[[^\]]*\]\([^)]+\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)))
    headings = "\n\n".join(re.findall(r"^#+ .*$", text, re.MULTILINE))
    assert [problem for problem in problems_of(f"{headings}\n\n{links}", file.parent) if "a link" in problem] == []


def test_the_start_leads_to_all_tutorials_and_notebooks() -> None:
    start = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {re.sub(r"\.ipynb$", ".md", target) for target in re.findall(r"\]\(([^)#]+)", start)}
    assert {page for page in PAGES if re.match(r"(tutorials|notebooks?)\b", page)} <= linked
    assert "(docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_begins_with_something_to_type(page: Path) -> None:
    """Lists of names have nothing to type, and the page on LangGraph begins with a table of its graphs."""
    if page.stem in {"reference", "glossary", "langgraph"}:
        return
    head, *commands = page.read_text(encoding="utf-8").partition("\n## ")[0].split("\n```")
    assert commands, "the first section has no code"
    assert len(head.split()) <= 60


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: tertulia\.(\w+)$", page, re.MULTILINE)) == sorted(tertulia.__all__)


def test_the_site_is_strict_and_its_packages_are_pinned() -> None:
    assert CONFIG["strict"] is True
    assert CONFIG["validation"]["links"]["anchors"] == "warn"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"mkdocs build --strict (?!.*--quiet)", makefile)  # --quiet hides warnings from --strict
    lines = (DOCS / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert {"mkdocs", "mkdocs-material", "mkdocstrings-python"} <= {pin.partition("==")[0] for pin in lines}
