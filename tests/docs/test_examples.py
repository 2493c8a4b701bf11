"""Every example of the README and of docs/ is true: commands, options, parameters, imports, links, names of files."""

import re
from pathlib import Path

import pytest
from support.examples import problems_of

import tertulia

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_the_examples_of_a_page_are_true(page: Path) -> None:
    assert list(problems_of(page.read_text(encoding="utf-8"), page.parent)) == []


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        ("```console\n$ tertulia run tidewell --lamda 0.5\n```", "No such option: --lamda"),
        ("```console\n$ tertulia ruin tidewell\n```", "no command 'ruin'"),
        ("```console\n$ for l in 0 1; do tertulia run tidwell --lambda $l; done\n```", "no scenario 'tidwell'"),
        ("```console\n$ tertulia run tidewell --set tempreature=1\n```", "unknown parameter 'tempreature'"),
        ("```console\n$ tertulia run tidewell --set judge=perhaps\n```", "judge"),
        ("```console\n$ tertulia run tidewell --set nodes.nowhere=length\n```", "no such place"),
        ("```console\n$ tertulia settings jugde\n```", "jugde"),
        ("```console\n$ tertulia show\n```", "Missing argument"),
        ("```console\n$ printf 'x' | tertulia run team_building --seet Bob\n```", "No such option: --seet"),
        ("```console\n$ make everything\n```", "no target everything"),
        ("A `tertulia diff A B --exitcode` of two.", "No such option: --exitcode"),
        ("See `nodes/sorcerers/` for more.", "no file nodes/sorcerers/"),
        ("See [there](nowhere.md).", "nowhere.md"),
        ("See [there](docs/runs.md#nowhere).", "no heading"),
        ("```python\nfrom tertulia.nodes.machinery.node import Nod\n```", "has no Nod"),
        ("```python\nimport tertulia as tt\ntt.runn('tidewell')\n```", "tertulia has no runn"),
        ("```python\nimport tertulia as tt\nrun = tt.run('tidewell', lamda=1)\n```", "run takes no lamda"),
        ("```python\nrun.fork(at=3, removal=1)\n```", "fork takes no removal"),
        ("```python\nasync for event in\n```", "Python"),
        ("```yaml\na: [1\n```", "YAML"),
    ],
)
def test_a_wrong_example_is_found(example: str, problem: str) -> None:
    (found,) = problems_of(example, ROOT)
    assert problem in found


def test_every_public_name_is_explained() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in tertulia.__all__ if not re.search(rf"\b{name}\b", page)] == []
