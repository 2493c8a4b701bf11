"""Every tutorial of docs/tutorials/ runs from top to bottom: its Python, its files and its commands, in their order."""

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from support.commands import Cli
from support.examples import problems_of
from support.protocol_server import Served

pytestmark = pytest.mark.full

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
TUTORIALS = sorted(FOLDER.glob("*.md"))

#: The server of served_models.md.
ADDRESS = "http://localhost:8000/v1#NAME"


def named_file(content: str) -> str | None:
    """The name of the file that a block is, by its first line; `None`: of none."""
    match = re.match(r"# (\w+\.(?:py|yaml))\n", content)
    return match[1] if match else None


def test_there_are_seven() -> None:
    assert len(TUTORIALS) == 7


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_its_examples_are_true(page: Path) -> None:
    assert list(problems_of(page.read_text(encoding="utf-8"), page.parent)) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_it_runs(page: Path, cli: Cli, served: Served, without_weights: None) -> None:
    text = page.read_text(encoding="utf-8").replace(ADDRESS, served.model)
    blocks = [(token.info, token.content) for token in MarkdownIt().parse(text) if token.type == "fence"]
    for _, content in blocks:
        if name := named_file(content):
            Path(name).write_text(content, encoding="utf-8")
    names: dict[str, Any] = {"__name__": page.stem}
    first = ""
    for language, content in blocks:
        if language == "python" and not named_file(content):
            exec(compile(content, str(page), "exec"), names)
        for line in content.splitlines() if language == "console" else []:
            result = cli(*words_of(line, first))
            assert result.code == 0, f"{line}\n{result.err}"
            first = first or (re.findall(r"^run (\w+)", result.out + result.err, re.MULTILINE) or [""])[0]
    assert blocks


def words_of(line: str, run: str) -> list[str]:
    """The arguments of a line, with the id of the first run for `RUN`."""
    import shlex

    command, *words = shlex.split(line.removeprefix("$ "), comments=True)
    assert command == "tertulia"
    return [run if word == "RUN" else word for word in words]
