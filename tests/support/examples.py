"""Checks of the examples that stand in Markdown: commands, Python, YAML, links and names of files. Nothing is run."""

import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
import yaml
from markdown_it import MarkdownIt
from typer.exceptions import Exit, TyperException

import tertulia
from tertulia.cli.main import build_app
from tertulia.nodes.machinery.places import PLACES
from tertulia.runs.catalog.settings import find_settings
from tertulia.state.errors import TertuliaError
from tertulia.state.parameters import Parameters
from tertulia.worlds.catalog import SHIPPED

ROOT = Path(__file__).parents[2]
_OPERATORS = {";", "|", "||", "&", "&&", "(", ")"}
_REDIRECTIONS = {">", ">>", "<"}
_SCENARIO = re.compile(r"SCENARIO|TOWN|ga:\S+|.+\.ya?ml")
#: What examples call a run.
_RUNS = {"run", "other"}
#: What stands in an inline example for something that the reader fills in, or for the rest of it.
_PLACEHOLDER = re.compile(r"[…]|\.\.\.")


def problems_of(text: str, folder: Path) -> Iterator[str]:
    """Yield what is wrong with the examples of a page, a line each.

    Args:
        text: The page, in Markdown.
        folder: The folder that its links start from.
    """
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            yield from _problems_of_block(token.info.strip(), token.content)
        for child in token.children or []:
            if child.type == "code_inline":
                yield from _problems_of_inline(child.content)
            target = child.attrs.get("href", child.attrs.get("src"))
            if target:
                yield from _problems_of_link(str(target), text, folder)


def _problems_of_block(language: str, content: str) -> Iterator[str]:
    if language in ("console", "sh"):
        content = content.replace("\\\n", " ")
        for line in content.splitlines():
            if language == "sh" or line.startswith("$ "):
                yield from problems_of_line(line.removeprefix("$ "))
    elif language == "python":
        yield from problems_of_python(content)
    elif language == "yaml":
        try:
            yaml.safe_load(content)
        except yaml.YAMLError as error:
            yield f"YAML: {error}"


def problems_of_line(line: str) -> Iterator[str]:
    """Yield what is wrong with the commands of a shell line."""
    reader = shlex.shlex(re.sub(r"\$\w+", "1", line), posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words, command = iter([*reader, ";"]), list[str]()
    for word in words:
        if word in _REDIRECTIONS:
            next(words)
            continue
        if word not in _OPERATORS:
            command.append(word)
            continue
        while command and (command[0] == "do" or re.fullmatch(r"\w+=\S*", command[0])):
            command.pop(0)
        yield from (f"{line}: {problem}" for problem in _problems_of_words(command))
        command = []


def _problems_of_words(words: list[str]) -> Iterator[str]:
    match words:
        case ["tertulia", *arguments]:
            yield from problems_of_command(arguments)
        case ["make", *targets]:
            yield from (f"there is no target {target}" for target in targets if target not in _targets())
        case [_, "-m", module, *_] if module.startswith("benchmarks."):
            if not any((ROOT / f"{module.replace('.', '/')}{end}.py").exists() for end in ("", "/__main__")):
                yield f"there is no module {module}"


def problems_of_command(arguments: list[str]) -> Iterator[str]:
    """Yield what is wrong with the arguments of `tertulia`."""
    command: Any = _app()
    path = []
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments[0]]
        path.append(arguments[0])
        arguments = arguments[1:]
    if not path:
        yield f"there is no command {' '.join(arguments[:1])!r}"
        return
    try:
        given = command.make_context(" ".join(path), [_filled_in(word) for word in arguments]).params
    except Exit:  # --help
        return
    except TyperException as error:
        yield error.format_message()
        return
    if path[0] in ("run", "simulate"):
        scenario = given.get("scenario") or given.get("town")
        if scenario is not None and not _SCENARIO.fullmatch(scenario) and scenario not in _shipped():
            yield f"there is no scenario {scenario!r}"
    if path[0] == "settings" and given["name"]:
        try:
            find_settings(given["name"])
        except TertuliaError as error:
            yield str(error)
    yield from _problems_of_settings(given.get("settings") or [])


def _filled_in(word: str) -> str:
    """Return a number for a placeholder of one, and other words as they are."""
    return "1" if re.fullmatch(r"[XNM]", word) else word


def _problems_of_settings(settings: list[str]) -> Iterator[str]:
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator:
            yield f"--set {setting} is not KEY=VALUE"
        elif name.startswith("nodes.") and name.removeprefix("nodes.") not in PLACES:
            yield f"--set {setting}: there is no such place"
        elif name not in ("seed", "key", "KEY", "NAME") and not name.isupper():
            try:
                Parameters().with_settings({name: value})
            except TertuliaError as error:
                if not _PLACEHOLDER.search(value) and not value.isupper():
                    yield f"--set {setting}: {error}"


def problems_of_python(source: str) -> Iterator[str]:
    """Yield what is wrong with Python: syntax, imports, names of `tertulia`, arguments of its functions."""
    try:
        tree = compile(source, "example", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        yield f"Python: {error}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from _problems_of_import(node.module, [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _problems_of_import(alias.name, [])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("tt", "tertulia") and not hasattr(tertulia, node.attr):
                yield f"Python: tertulia has no {node.attr}"
            if node.value.id in _RUNS and not hasattr(tertulia.Run, node.attr) and node.attr not in ("id", "store"):
                yield f"Python: a run has no {node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _problems_of_call(node.func, node)


def _problems_of_call(function: ast.Attribute, call: ast.Call) -> Iterator[str]:
    name = function.value.id if isinstance(function.value, ast.Name) else None
    owner = tertulia if name in ("tt", "tertulia") else tertulia.Run if name in _RUNS else None
    called = getattr(owner, function.attr, None)
    if owner is None or not inspect.isroutine(called):
        return
    known = inspect.signature(called).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg not in known and not takes_any:
            yield f"Python: {function.attr} takes no {keyword.arg}"


def _problems_of_import(module: str, names: list[str]) -> Iterator[str]:
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        if not re.match(r"harbour", module):
            yield f"Python: {error}"
        return
    yield from (f"Python: {module} has no {name}" for name in names if not hasattr(imported, name))


def _problems_of_inline(text: str) -> Iterator[str]:
    """Yield what is wrong with a command, or with the name of a file of the repository, in running text."""
    if text.startswith(("tertulia ", "make ", "python -m benchmarks.")) and not _PLACEHOLDER.search(text):
        yield from (problem for problem in problems_of_line(text) if "Missing argument" not in problem)
    is_path = re.fullmatch(r"[\w.-]+(/[\w.*-]+)+/?|[\w-]+/", text) and text.split("/")[0] in _rooms()
    if is_path and not list(ROOT.glob(text.rstrip("/"))):
        yield f"there is no file {text}"


def _problems_of_link(target: str, text: str, folder: Path) -> Iterator[str]:
    if "://" in target:
        return
    path, _, heading = target.partition("#")
    file = folder / path
    if path and not file.exists():
        yield f"a link to {target}, which is not there"
    elif heading:
        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8") if path else text, re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", name).strip().lower().replace(" ", "-") for name in headings}
        if heading not in slugs:
            yield f"a link to {target}, which is no heading there"


@cache
def _app() -> Any:
    return typer.main.get_command(build_app())


@cache
def _targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def _shipped() -> frozenset[str]:
    return frozenset(SHIPPED)


@cache
def _rooms() -> frozenset[str]:
    return frozenset(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
