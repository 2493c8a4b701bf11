"""Every Python example of the README, of the pages of docs/ and of docstrings is run, by a stand-in without weights.

The tutorials, the notebooks and docs/langgraph.md are run by tests of their own.
"""

import ast
import asyncio
import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from support.package import package_files
from support.tiny import tiny_language_model

import tertulia as tt

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: What an example has of the world around it, and what it has here.
ELSEWHERE = {
    'cases=("tidewell:all",)': 'cases=("tidewell:0",), trials=1, rounds=1, model="rehearsal"',
    "s3://group/trials": "shards",
}


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def examples_in_docstrings() -> Iterator[tuple[str, str]]:
    """Yield the place and the code of what follows `::` in docstrings."""
    for file in package_files(".py"):
        text = file.read_text(encoding="utf-8")
        if not re.search(r"::\n\n +\S", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for code in re.findall(r"::\n\n((?:    .*\n|\n)+)", (ast.get_docstring(node) or "") + "\n"):
                yield f"{file.relative_to(ROOT)} {getattr(node, 'name', '')}".strip(), dedent(code)


def execute(code: str, names: dict[str, Any]) -> None:
    """Execute an example, which may await at its top, as in a notebook."""
    for there, here in ELSEWHERE.items():
        code = code.replace(there, here)
    file = Path(f"example_{len(list(Path().glob('example_*.py')))}.py")
    file.write_text(code, encoding="utf-8")  # a node's source is read, and stored with the run
    compiled = compile(code, str(file.absolute()), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(compiled, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def by_a_stand_in(function: Callable[..., Any], **fewer: int) -> Callable[..., Any]:
    """Return a function that runs without weights, and no more than these trials and rounds."""

    def called(*args: Any, **options: Any) -> Any:
        least = {name: min(options[name], most) for name, most in fewer.items() if name in options}
        rehearsed = {} if "model" in options else {"rehearse": True}
        return function(*args, **{**options, **least, **rehearsed})

    return called


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store whose newest run is a meeting, and the files that examples name."""
    folder = tmp_path_factory.mktemp("prepared")
    store = folder / "tertulia.db"
    tt.sweep("tidewell:0", removal_factor=[0, 0.5], trials=1, rounds=1, name="e", rehearse=True, store=store)
    tt.run("team_building", rounds=6, rehearse=True, removal_factor=0.3, store=store, progress=False)
    shutil.copy(store, folder / "worker_3.db")
    (folder / "wilma.png").write_text('{"name": "Wilma", "description": "Wilma keeps the lock."}', encoding="utf-8")
    (folder / "residents.csv").write_text("Full name,Id,age\nInes,7,41\n", encoding="utf-8")
    return folder


@pytest.fixture
def names(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that an example may take for granted, in a folder of its own."""
    for file in prepared.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tt, "run", by_a_stand_in(tt.run))
    monkeypatch.setattr(tt, "stream", by_a_stand_in(tt.stream))
    monkeypatch.setattr(tt, "sweep", by_a_stand_in(tt.sweep, trials=1, rounds=2))
    monkeypatch.setattr("tertulia.attention.open_model", lambda name: tiny_language_model())
    store = tt.open_store("tertulia.db")
    builder = StateGraph(MessagesState)
    builder.add_node("wait", lambda state: {})
    builder.add_edge(START, "wait")
    builder.add_edge("wait", END)
    ines, joao = (tt.Person(name=name, memories=[f"{name} lent out a boat."]) for name in ("Ines", "Joao"))
    return {
        "__name__": "example",
        **{"tertulia": tt, "tt": tt, "run": store.run("@last"), "experiment": store.experiment("e")},
        **{"StateGraph": StateGraph, "MessagesState": MessagesState, "builder": builder, "ines": ines, "joao": joao},
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page) and page.stem != "langgraph"], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, names: dict[str, Any]) -> None:
    for block in blocks_of(page):
        execute(block, names)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "code", [pytest.param(code, id=f"{at}: {place}") for at, (place, code) in enumerate(examples_in_docstrings())]
)
def test_the_example_of_a_docstring_runs(code: str, names: dict[str, Any]) -> None:
    import tertulia.langgraph  # noqa: F401

    execute(code, names)
