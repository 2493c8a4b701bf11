"""Extensions, from files, packages and Python objects: what is loaded, what is refused, and what a run goes on with."""

import hashlib
import inspect
import linecache
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from support.dialogue_case import BEGINNING, a_context
from support.scripted import ScriptedModel
from support.user_nodes import a_mechanism, a_node, ends, recalls

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.nodes.machinery import extensions
from tertulia.nodes.machinery.extensions import load_extensions, reload_extensions
from tertulia.nodes.machinery.objects import source_hash
from tertulia.nodes.machinery.registry import Registry
from tertulia.nodes.meeting.view import View
from tertulia.state.errors import ExtensionError, NotFoundError, TrustError
from tertulia.state.records import Extension

# --- loading --------------------------------------------------------------------------------------------------------

HEAD = """
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.machinery.node import Node
from tertulia.state.cognition import Finding

async def ends(state, runtime):
    return {"ended": False}

async def recalls(view):
    return Finding()

def node(name):
    return Node(name, "decide_ending", "says no", ends, writes=("ended",))

def mechanism(name):
    return Mechanism(name, "Title", "what it is for", (True, "why"), recalls)
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(body: str, name: str = "mine.py", head: str = HEAD) -> str:
        (tmp_path / name).write_text(head + body, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_a_file_declares_nodes_and_mechanisms(write: Callable[..., str]) -> None:
    source = write('NODES = (node("mine"),)\nMECHANISMS = [mechanism("gossip")]')
    registry = load_extensions([source, source])
    assert set(registry.own_nodes) == {"mine"}
    assert set(registry.mechanisms) > {"gossip", "goal_summary"}
    assert registry.origins == {"mine": source, "gossip": source}
    (noted,) = registry.extensions
    assert (noted.source, len(noted.hash)) == (source, 32)
    assert not list(Path(source).parent.glob("__pycache__"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("NODES = (", "line 17: SyntaxError: '(' was never closed"),
        ("\nraise ValueError('no\\nway')", "line 18: ValueError: no"),
        ("import nowhere_at_all", "line 17: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("import sys; sys.exit(3)", "line 17: SystemExit: 3"),
        ("Node('mine', 'decide_ending', 'says no', ends)", "line 17: node 'mine': a node in the place"),
        ("", "declares nothing"),
        ("NODES = ()", "declares nothing"),
        ("NODES = (node('mine'))", "NODES is a tuple, not a Node; mind the comma"),
        ("NODES = (ends,)", "NODES has a function; it takes a Node"),
        ("NODES = (mechanism('gossip'),)", "NODES has a Mechanism"),
        ("NODES = (node('mine'), node('mine'))", "'mine' is there already"),
        ("NODES = (node('mine'),)\nMECHANISMS = (mechanism('mine'),)", "'mine' is there already"),
        ("NODES = (node('attention'),)", "is the name of a shipped one"),
        ("MECHANISMS = (mechanism('goal_summary'),)", "is the name of a shipped one"),
        ("MECHANISMS = (mechanism('assess'),)", "is the name of a shipped one"),
        ("MECHANISMS = (mechanism('after_assess'),)", "is the name of a shipped one"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused(write: Callable[..., str], body: str, words: str) -> None:
    source = write(body)
    with pytest.raises(ExtensionError) as refused:
        load_extensions([source])
    assert words in str(refused.value)
    assert str(refused.value).startswith(source)
    assert "\n" not in str(refused.value)


def test_annotations_may_be_postponed(write: Callable[..., str]) -> None:
    head = "from __future__ import annotations\nfrom tertulia.state.records import Record\n" + HEAD
    body = """
class Settings(Record):
    word: str | None = None

NODES = (Node("mine", "decide_ending", "says no", ends, writes=("ended",), parameters=Settings),)
"""
    assert load_extensions([write(body, head=head)]).own_nodes["mine"].parameters is not None


def test_a_run_goes_on_with_the_same_content_only(write: Callable[..., str], tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    source = write("NODES = (node('mine'),)")
    noted = load_extensions([source]).extensions
    trusted = {noted[0].hash: source}
    assert reload_extensions(noted, trusted=trusted).extensions == noted
    write(f"NODES = (node('mine'),)\nopen({str(marker)!r}, 'w')")
    with pytest.raises(ExtensionError, match=r"changed since the run began.*extensions=\["):
        reload_extensions(noted, trusted=trusted)
    assert not marker.exists(), "nothing that changed is executed"
    assert reload_extensions(noted, [source]).extensions != noted
    assert marker.exists()
    Path(source).unlink()
    with pytest.raises(NotFoundError, match="no extension"):
        reload_extensions(noted, trusted=trusted)


def test_nothing_is_executed_or_read_that_is_neither_named_nor_trusted(tmp_path: Path) -> None:
    marker, pipe = tmp_path / "executed", tmp_path / "pipe.py"
    evil = tmp_path / "evil.py"
    evil.write_text(f"NODES = ()\nopen({str(marker)!r}, 'w')", encoding="utf-8")
    recorded = Extension(source=str(evil), hash=source_hash(evil.read_bytes()))
    with pytest.raises(TrustError, match=r"the run names the extension .*evil.py.*tertulia trust .*evil.py"):
        reload_extensions([recorded])
    with pytest.raises(TrustError, match=r"the scenario names the extension .*evil.py"):
        load_extensions([], [str(evil)])
    os.mkfifo(pipe)
    with pytest.raises(TrustError):
        reload_extensions([Extension(source=str(pipe), hash=recorded.hash)])
    with pytest.raises(ExtensionError, match="it is a pipe"):
        load_extensions([], [str(pipe)])
    assert not marker.exists()


def test_what_has_moved_is_known_by_its_content(write: Callable[..., str], tmp_path: Path) -> None:
    source = write("NODES = (node('mine'),)")
    (noted,) = load_extensions([source]).extensions
    moved = tmp_path / "elsewhere.py"
    Path(source).rename(moved)
    expected = (Extension(source=str(moved), hash=noted.hash),)
    assert reload_extensions([noted], [str(moved)]).extensions == expected
    assert reload_extensions([noted], trusted={noted.hash: str(moved)}).extensions == expected
    assert load_extensions([str(moved)], [str(moved)]).extensions == expected
    assert load_extensions([], [str(moved)], {noted.hash: source}).extensions == expected


def test_what_is_executed_is_what_was_hashed(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    source, read = write("NODES = (node('mine'),)"), extensions.read_bytes
    (noted,) = load_extensions([source]).extensions

    def read_and_replaced(path: Path, most_bytes: int) -> bytes:
        content = read(path, most_bytes)
        path.write_text("raise AssertionError", encoding="utf-8")
        return content

    monkeypatch.setattr(extensions, "read_bytes", read_and_replaced)
    assert set(reload_extensions([noted], trusted={noted.hash: source}).own_nodes) == {"mine"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with a module of nodes, `harbour.nodes`, and an entry point for it."""
    folder = tmp_path / "site" / "harbour_of_tests"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "nodes.py").write_text(HEAD + "NODES = (node('tide'),)", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))
    found = EntryPoints(
        [
            EntryPoint("harbour", "harbour_of_tests.nodes", extensions.ENTRY_POINTS),
            EntryPoint("gone", "harbour_of_tests.gone", extensions.ENTRY_POINTS),
        ]
    )
    monkeypatch.setattr(extensions, "entry_points", lambda **wanted: found.select(**wanted))
    return folder / "nodes.py"


def test_a_package_brings_nodes_by_an_entry_point(package: Path) -> None:
    registry = load_extensions(["harbour"])
    assert registry.origins == {"tide": "harbour"}
    trusted = {registry.extensions[0].hash: "harbour"}
    assert reload_extensions(registry.extensions, trusted=trusted).origins == {"tide": "harbour"}
    assert extensions.installed() == ["gone", "harbour"]
    package.write_text(package.read_text(encoding="utf-8") + "\n# other", encoding="utf-8")
    with pytest.raises(ExtensionError, match="changed since"):
        reload_extensions(registry.extensions, trusted=trusted)


def test_a_store_can_not_name_any_module(package: Path) -> None:
    with pytest.raises(NotFoundError, match="no installed package has an entry point"):
        reload_extensions([Extension(source="harbour_of_tests.nodes", hash="0" * 32)], trusted={"0" * 32: "harbour"})


# --- handed over in Python ------------------------------------------------------------------------------------------


def test_an_object_is_noted_with_its_source() -> None:
    registry = Registry().including_objects([a_node()], [a_mechanism(condition=named)])
    assert registry.origins == {"mine": "python:mine", "gossip": "python:gossip"}
    node, mechanism = registry.extensions
    assert node.code == inspect.getsource(ends)
    assert node.hash == hashlib.blake2b(node.code.encode(), digest_size=16).hexdigest()
    assert mechanism.code == f"{inspect.getsource(recalls)}\n\n{inspect.getsource(named)}"
    assert Extension.model_validate_json(node.model_dump_json()) == node
    with pytest.raises(ExtensionError, match="python:mine: 'mine' is there already, from python:mine"):
        registry.including_objects([a_node()])


def named(view: View) -> str | None:
    return "named"


def test_what_is_called_like_a_function_is_noted_with_its_source() -> None:
    class Ending:
        async def __call__(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"ended": False}

    for run in (Ending(), partial(ends), Ending().__call__):
        (noted,) = Registry().including_objects([a_node(run)]).extensions
        assert noted.code is not None
        assert '{"ended": False}' in noted.code


def in_a_cell(code: str) -> Any:
    """Define `run` as a notebook does: its source is known to the interpreter, and in no file."""
    name = f"<cell {hashlib.blake2b(code.encode(), digest_size=4).hexdigest()}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(code, name, "exec"), namespace)
    return namespace["run"]


CELL = 'async def run(state, runtime):\n    return {"ended": False}\n'


def test_a_function_without_source_is_refused() -> None:
    assert Registry().including_objects([a_node(in_a_cell(CELL))]).extensions[0].code == CELL
    namespace: dict[str, Any] = {}
    exec(CELL, namespace)
    with pytest.raises(ExtensionError, match=r"node 'mine': the source .* can't be read; write it in a file"):
        Registry().including_objects([a_node(namespace["run"])])


def test_a_run_goes_on_with_the_same_object_only() -> None:
    noted = Registry().including_objects([a_node(in_a_cell(CELL))]).extensions
    words = r"'mine' was handed over in Python.*resume\(run, additions=.*nodes=…\)\)`"
    with pytest.raises(ExtensionError, match=words):
        reload_extensions(noted)
    assert reload_extensions(noted, nodes=[a_node(in_a_cell(CELL))]).extensions == noted
    changed = a_node(in_a_cell(CELL.replace("False", "True")))
    with pytest.raises(ExtensionError, match=r"the source of 'mine' differs.*accept_changed=True"):
        reload_extensions(noted, nodes=[changed])
    registry = reload_extensions(noted, nodes=[changed], accept_changed=True)
    assert registry.own_nodes == {"mine": changed}
    assert registry.extensions != noted


def test_objects_and_files_stand_side_by_side(write: Callable[..., str]) -> None:
    source = write('NODES = (node("written"),)')
    noted = load_extensions([source]).including_objects([a_node()]).extensions
    trusted = {noted[0].hash: source}
    later = reload_extensions(noted, trusted=trusted, nodes=[a_node()], mechanisms=[a_mechanism()])
    assert later.origins == {"written": source, "mine": "python:mine", "gossip": "python:gossip"}
    assert later.extensions[:2] == noted


def test_the_code_of_an_object_is_never_executed_from_a_store(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    with pytest.raises(ExtensionError, match="not executed from the store"):
        reload_extensions([Extension(source="python:mine", hash="0" * 32, code=f"open({str(marker)!r}, 'w')")])
    assert not marker.exists()


async def test_a_run_with_an_object_is_driven(tmp_path: Path) -> None:
    registry = Registry().including_objects([a_node()])
    context = a_context(ScriptedModel(endings=repeat(True)), **{"nodes.decide_ending": "mine", "max_turns": 2})
    chosen = registry.functions(context.parameters, "dialogue")
    await build_dialogue_graph(chosen=chosen).ainvoke(BEGINNING, context=context)
    assert [turn.ended for turn in context.store.turns("k3f9")] == [False, False]
