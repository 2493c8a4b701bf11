"""CONTRIBUTING.md names only paths, targets, modules and names that there are."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_architecture import ROOMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"`([^`\n]+)`", PAGE)

#: What CI runs once a browser, a database or the page's packages are installed.
FOLDERS = ("docs", "tests", "benchmarks", ".ci", "tertulia", "graphs", "nodes", "prompts", "state")


def test_every_path_is_there() -> None:
    paths = {text for text in QUOTED if re.fullmatch(rf"({'|'.join(map(re.escape, FOLDERS))})/[\w./]*", text)}
    paths |= {text for text in QUOTED if re.fullmatch(r"[\w.]+\.(toml|lock|md|yaml)", text)}
    paths |= set(re.findall(r"\]\(([^)]+)\)", PAGE))
    assert len(paths) > 40
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_every_target_of_make_is_there_and_every_target_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w[\w-]*):", makefile, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    named = {text.removeprefix("make ") for text in QUOTED if text.startswith("make ")}
    assert named <= targets == set(phony.split())
    assert targets - named == {"clean"}


def test_every_module_that_is_run_is_there() -> None:
    modules = [text.removeprefix("python -m ") for text in QUOTED if text.startswith("python -m ")]
    assert len(modules) == 5
    assert all(find_spec(module) for module in modules)


def test_the_map_has_every_room_in_order() -> None:
    rows = re.findall(r"^\| `([\w/]+)/` \|", PAGE, re.MULTILINE)
    assert tuple(row.removeprefix("tertulia/") for row in rows) == ROOMS


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("NODES", "nodes/machinery/registry.py"),
        ("MECHANISM", "nodes/mechanisms/time_analysis.py"),
        ("PANELS", "tertulia/cli/main.py"),
        ("TABLES", "tertulia/storage/schema.py"),
        ("SCHEMA_VERSION", "tertulia/storage/schema.py"),
        ("TertuliaError", "state/errors.py"),
    ],
)
def test_every_name_is_where_it_is_said_to_be(name: str, file: str) -> None:
    assert f"`{name}`" in PAGE
    assert re.search(rf"^(def |class )?{name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_markers_are_those_of_the_project() -> None:
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert [marker.partition(":")[0] for marker in markers["markers"]] == [
        "full",
        "slow",
        "gpu",
        "browser",
        "postgres",
        "access",
    ]
