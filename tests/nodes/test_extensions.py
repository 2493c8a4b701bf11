"""Nodes and mechanisms of a user's own: what is refused at definition, at loading, and while a run goes on."""

import asyncio
import hashlib
import inspect
import linecache
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from pydantic import Field
from support.dialogue_case import a_context
from support.meeting_case import a_quay, held
from support.scripted import ScriptedModel

from graphs.dialogue import build_dialogue_graph
from nodes.floor import appointed, contenders_of, give_floor
from nodes.generate import generate
from nodes.machinery import extensions
from nodes.machinery.extensions import load_extensions, load_module, reload_extensions
from nodes.machinery.guard import guarded
from nodes.machinery.node import Node
from nodes.machinery.places import FORMER_NAMES, PLACES
from nodes.machinery.registry import NODES, Registry
from nodes.mechanisms.mechanism import Mechanism
from nodes.retrieve import retrieve_memory
from nodes.rollback import select_candidate
from nodes.view import View
from prompts.cognition import Question
from prompts.ending import assemble_ending
from state.cognition import Bid, Finding, Floor
from state.context import Context
from state.errors import ExtensionError, ModelError, NodeError, NotFoundError, UsageError
from state.language_model import ReplyField
from state.parameters import Parameters
from state.records import Extension, Prompt, Record, Unit
from tertulia.conversation import drive

BEGINNING: dict[str, Any] = {"turn": 0, "round": 0, "speaker": "", "sim_time_s": 0.0, "finished": False}
MOMENT: dict[str, Any] = {"round": 2, "turn": 2, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 4.0}


def without_addresses(value: object) -> str:
    """Return a test id that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


async def ends(state: Any, runtime: Any) -> dict[str, Any]:
    """A node in the place of decide_ending, which says that nothing ends."""
    return {"ended": False}


def a_node(run: Any = ends, **changes: Any) -> Node:
    known = {"name": "mine", "place": "decide_ending", "description": "says no", "run": run, "writes": ("ended",)}
    return Node(**{**known, **changes})


async def recalls(view: View) -> Finding:
    return Finding(lines=(f"{view.name} has heard something.",))


def a_mechanism(run: Any = recalls, **changes: Any) -> Mechanism:
    known = {"name": "gossip", "title": "Gossip", "description": "think of what is said", "example": (True, "I do.")}
    return Mechanism(**{**known, "run": run, **changes})


class Window(Record):
    window: int = 3


class Open(Record):
    window: int


class Nested(Record):
    windows: dict[str, int] = Field(default={})


# --- declarations ---------------------------------------------------------------------------------------------------


def not_async(state: Any, runtime: Any) -> dict[str, Any]:
    return {}


async def without_runtime(state: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "My Node"}, "small letters"),
        ({"name": "nodes"}, "is taken"),
        ({"place": "decide_endng"}, "did you mean 'decide_ending'"),
        ({"description": " "}, "description is one line"),
        ({"description": "two\nlines"}, "description is one line"),
        ({"run": not_async}, "is not async"),
        ({"run": without_runtime}, "run is called with (state, runtime)"),
        ({"run": "ends"}, "run is a function"),
        ({"reads": "chosen"}, "reads is a tuple"),
        ({"reads": ("chosn",)}, "did you mean 'chosen'"),
        ({"writes": ()}, "writes ended as well"),
        ({"writes": ("ended", "removed")}, "which decide_ending does not have"),
        ({"parameters": dict}, "derived from state.records.Record"),
        ({"parameters": Open}, "'window' has no default"),
        ({"parameters": Nested}, "'windows' takes one value"),
        ({"timeout_s": 0}, "above 0"),
        ({"timeout_s": float("inf")}, "above 0"),
        ({"timeout_s": True}, "above 0"),
    ],
    ids=without_addresses,
)
def test_a_wrong_node_is_refused_at_definition(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ExtensionError) as refused:
        a_node(**changes)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "floor"}, "is taken"),
        ({"title": ""}, "title is one line"),
        ({"description": ""}, "description is one line"),
        ({"example": True}, "(on, why)"),
        ({"example": (True, " ")}, "(on, why)"),
        ({"run": not_async}, "is not async"),
        ({"run": ends}, "run is called with (view)"),
        ({"condition": lambda: None}, "condition is called with (view)"),
        ({"parameters": Open}, "'window' has no default"),
        ({"timeout_s": -1}, "above 0"),
    ],
    ids=without_addresses,
)
def test_a_wrong_mechanism_is_refused_at_definition(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ExtensionError) as refused:
        a_mechanism(**changes)
    assert words in str(refused.value)


async def test_an_object_may_be_the_function() -> None:
    class Ending:
        def __init__(self, ended: Any) -> None:
            self.ended = ended

        async def __call__(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"ended": 1 / self.ended > 0}

    runtime = Runtime(context=a_context())
    assert await guarded(a_node(Ending(1)))(MOMENT, runtime) == {"ended": True}
    with pytest.raises(NodeError, match=r"ZeroDivisionError: division by zero \(line \d+ of .*test_extensions\.py\)"):
        await guarded(a_node(Ending(0)))(MOMENT, runtime)
    with pytest.raises(NodeError, match="failed: TypeError"):
        await guarded(a_node(partial(Ending("no").__call__)))(MOMENT, runtime)


# --- loading --------------------------------------------------------------------------------------------------------

HEAD = """
from nodes.mechanisms.mechanism import Mechanism
from nodes.machinery.node import Node
from state.cognition import Finding

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


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(b"\xff\xfe\x00NODES = ()")
    with pytest.raises(ExtensionError, match=r"mine\.py"):
        load_extensions([str(tmp_path / "mine.py")])
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ExtensionError, match="can't be read"):
        load_extensions([str(tmp_path / "folder.py")])
    with pytest.raises(NotFoundError, match="no extension"):
        load_extensions([str(tmp_path / "nowhere.py")])


def test_two_files_may_not_share_a_name(write: Callable[..., str]) -> None:
    one, other = (write("NODES = (node('mine'),)", name) for name in ("one.py", "other.py"))
    with pytest.raises(ExtensionError, match=r"other\.py: 'mine' is there already, from .*one\.py"):
        load_extensions([one, other])


def test_annotations_may_be_postponed(write: Callable[..., str]) -> None:
    head = "from __future__ import annotations\nfrom state.records import Record\n" + HEAD
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
    assert reload_extensions(noted).extensions == noted
    write(f"NODES = (node('mine'),)\nopen({str(marker)!r}, 'w')")
    with pytest.raises(ExtensionError, match=r"changed since the run began.*extensions=\["):
        reload_extensions(noted)
    assert not marker.exists(), "nothing that changed is executed"
    assert reload_extensions(noted, [source]).extensions != noted
    assert marker.exists()
    Path(source).unlink()
    with pytest.raises(NotFoundError, match="no extension"):
        reload_extensions(noted)


def test_another_extension_may_come_in_later(write: Callable[..., str]) -> None:
    noted = load_extensions([write("NODES = (node('mine'),)", "one.py")]).extensions
    registry = reload_extensions(noted, [write("NODES = (node('yours'),)", "other.py")])
    assert set(registry.own_nodes) == {"mine", "yours"}
    assert registry.extensions[0] == noted[0]


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
    assert reload_extensions(registry.extensions).origins == {"tide": "harbour"}
    assert extensions.installed() == ["gone", "harbour"]
    package.write_text(package.read_text(encoding="utf-8") + "\n# other", encoding="utf-8")
    with pytest.raises(ExtensionError, match="changed since"):
        reload_extensions(registry.extensions)


def test_entry_points_that_are_not_there_are_told(package: Path) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'harbour'"):
        load_extensions(["harbor"])
    with pytest.raises(NotFoundError, match="install its package again"):
        load_extensions(["gone"])
    assert set(load_module("harbour_of_tests.nodes").own_nodes) == {"tide"}
    with pytest.raises(NotFoundError, match="no module"):
        load_module("harbour_of_tests.nowhere")


def test_a_store_can_not_name_any_module(package: Path) -> None:
    with pytest.raises(NotFoundError, match="no installed package has an entry point"):
        reload_extensions([Extension(source="harbour_of_tests.nodes", hash="0" * 32)])


# --- choosing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nodes.scor": "length"}, "no place 'scor' (did you mean 'score'?)"),
        ({"nodes.score": "lenght"}, "no node 'lenght' (did you mean 'length'?)"),
        ({"nodes.after_assess": "mine"}, "there is no node 'mine'; one of your own comes with extensions=['FILE']"),
        ({"nodes.prune": "length"}, "length stands in the place score"),
        ({"nodes.race": "race", "order": "random"}, "with order=random there is no race"),
        ({"windowed.windw": 2}, "did you mean 'window'"),
        ({"windowed.window": "wide"}, "windowed.window=wide: Input should be a valid integer"),
        ({"length.window": 2}, "length takes none"),
        ({"windwed.window": 2}, "did you mean 'windowed'"),
    ],
    ids=without_addresses,
)
def test_a_wrong_choice_is_told(settings: dict[str, Any], words: str) -> None:
    registry = Registry(own_nodes={"windowed": a_node(name="windowed", parameters=Window)})
    with pytest.raises(UsageError) as refused:
        registry.functions(Parameters().with_settings(settings), "group_chat")
    assert words in str(refused.value)


def test_a_dialogue_has_no_places_of_meetings() -> None:
    with pytest.raises(UsageError, match="a dialogue of two has no place 'race'"):
        Registry().functions(Parameters().with_settings({"nodes.race": "race"}), "dialogue")


def test_settings_come_over_one_another() -> None:
    first = Parameters().with_settings({"nodes.score": "length", "mine.window": "2", "mine.word": "no"})
    assert first.nodes == {"score": "length"}
    assert first.node_settings == {"mine": {"window": 2, "word": False}}
    then = first.with_settings({"nodes.score": "null", "nodes.judge": "mine", "mine.window": 4})
    assert (then.nodes, then.node_settings["mine"]["window"]) == ({"judge": "mine"}, 4)
    assert Parameters.model_validate_json(then.model_dump_json()) == then
    with pytest.raises(UsageError, match=r"write nodes\.PLACE=NAME"):
        first.with_settings({"nodes.": "length"})


async def test_a_node_gets_its_own_parameters() -> None:
    class Shown(Record):
        window: int = 3
        word: str = "yes"

    context = a_context(**{"mine.window": 5})
    assert context.settings("mine", Shown) == Shown(window=5)
    assert context.settings("yours", Shown) == Shown()


# --- guarding -------------------------------------------------------------------------------------------------------


async def test_shipped_nodes_keep_what_they_declare() -> None:
    """Guarded, they see the keys that they declare and write what their places take; nothing comes out otherwise."""
    own = {node.place: guarded(node) for node in NODES.values() if node.name in (node.place, "attention")}
    assert set(own) == {place for place in PLACES if not place.startswith("after_")}
    settings: dict[str, Any] = {"removal_factor": 0.6, "max_turns": 6}
    context, turns = await held(a_quay(), **settings)
    with_guard = replace(a_context(start=a_quay(), **settings), nodes=own)
    await drive(with_guard, InMemorySaver())
    assert with_guard.store.turns("k3f9") == turns
    assert [with_guard.store.turn_record("k3f9", turn.turn) for turn in turns] == [
        context.store.turn_record("k3f9", turn.turn) for turn in turns
    ]
    for step, kind in (("bid", Bid), ("floor", Floor)):
        assert with_guard.store.steps("k3f9", step, kind) == context.store.steps("k3f9", step, kind)


async def said(update: Any, **declared: Any) -> Any:
    """What a guarded node in the place of decide_ending comes to that returns this."""

    async def run(state: Any, runtime: Any) -> Any:
        return update(state) if callable(update) else update

    return await guarded(a_node(run, **declared))(MOMENT, Runtime(context=a_context()))


class Slow:
    """Something that can't be checkpointed."""


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (None, "returned a NoneType, not a dict"),
        ([("ended", True)], "returned a list, not a dict"),
        ({}, "did not write ended"),
        ({"ended": True, "removed": []}, "wrote 'removed', which it does not declare"),
        ({"ended": True, 3: 1}, "wrote 3, which it does not declare"),
        ({"ended": np.bool_(True)}, "ended is a numpy.bool, which can't be checkpointed"),
        ({"ended": Slow()}, "Slow, which can't be checkpointed"),
        ({"ended": "no"}, "ended is 'no': Input should be a valid boolean"),
        ({"ended": None}, "Input should be a valid boolean"),
        (lambda state: state["chosen"], "reads 'chosen': declare it in reads"),
        (lambda state: {}["chosen "], "failed: KeyError"),
        (lambda state: 1 / 0, "failed: ZeroDivisionError: division by zero (line "),
        (lambda state: state["present"].clear(), "changed the state that it was given"),
        (lambda state: state.update(ended=True) or {"ended": True}, "changed the state that it was given"),
    ],
    ids=without_addresses,
)
async def test_what_a_node_may_not_do_stops_the_run_with_words(update: Any, words: str) -> None:
    with pytest.raises(NodeError) as stopped:
        await said(update)
    assert words in str(stopped.value)
    assert str(stopped.value).startswith("round 2: the node 'mine', in the place decide_ending, ")
    assert "\n" not in str(stopped.value)
    assert MOMENT["present"] == ["Mara", "Piotr"]


async def test_a_key_that_is_declared_but_not_there_yet_is_told() -> None:
    with pytest.raises(NodeError, match="reads 'chosen': nothing has written it at this point"):
        await said(lambda state: state["chosen"], reads=("chosen",))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"a": 1.0, "one": 1.0, "two": 1.0}, "scores has one for 'a', which is no unit"),
        ({}, "scores has none for 2 of 2 units, the first of them 'one'"),
        ({"one": 1.0, "two": -0.5}, "scores['two'] is -0.5; a score is 0 or more"),
        ({"one": 1.0, "two": float("nan")}, "scores['two'] is nan; numbers are finite"),
        ({"one": 1.0, "two": np.float64(1.0)}, "scores['two'] is a numpy.float64"),
        ({"one": 1.0, 2: 1.0}, "scores has the key 2, a int"),
        ({"one": 1.0, "two": "much"}, "scores['two'] is 'much': Input should be a valid number"),
        (None, "None stands for neither"),
    ],
    ids=without_addresses,
)
async def test_scores_that_lambda_could_not_use_are_refused(scores: Any, words: str) -> None:
    async def score(state: Any, runtime: Any) -> dict[str, Any]:
        return {"scores": scores, "scored_by": "mine"}

    context = a_context()
    units = tuple(Unit(id=name, block="memory", kind="item", text="x", removable=True) for name in ("one", "two"))
    prompt = context.store.save_prompt(Prompt(units=units, speaker="Mara", layout="single_message"))
    node = a_node(score, place="score", reads=("prompt",), writes=("scores", "scored_by"))
    with pytest.raises(NodeError) as stopped:
        await guarded(node)({**MOMENT, "prompt": prompt}, Runtime(context=context))
    assert words in str(stopped.value)


async def test_tuples_become_lists_and_whole_numbers_do_for_others() -> None:
    async def select_candidate(state: Any, runtime: Any) -> dict[str, Any]:
        return {"inconsistency": (1, 2), "conflict": False, "judged_by": None}

    node = a_node(
        select_candidate, place="judge", reads=("inconsistency",), writes=("inconsistency", "conflict", "judged_by")
    )
    state = {**MOMENT, "inconsistency": [1.0], "attempt": 1}
    update = await guarded(node)(state, Runtime(context=a_context()))
    assert update["inconsistency"] == [1.0, 2.0]
    assert [type(figure) for figure in update["inconsistency"]] == [float, float]


async def test_a_node_over_its_time_limit_stops_the_run() -> None:
    async def waits(state: Any, runtime: Any) -> Any:
        await asyncio.sleep(5)

    async def blocks(state: Any, runtime: Any) -> Any:
        time.sleep(0.05)
        return {"ended": False}

    for run in (waits, blocks):
        with pytest.raises(NodeError, match=r"took longer than its limit of 0\.01 s"):
            await guarded(a_node(run, timeout_s=0.01))(MOMENT, Runtime(context=a_context()))


async def test_waiting_for_the_model_does_not_count() -> None:
    class Thoughtful(ScriptedModel):
        async def probabilities(self, prompt: Any, options: Any) -> list[float]:
            await asyncio.sleep(0.1)
            return [0.5, 0.5]

    async def asks(state: Any, runtime: Runtime[Context]) -> dict[str, Any]:
        model = runtime.context.asked_by(state["speaker"], state["round"], "mine")
        prompt, options = assemble_ending(None, "Good night.", model.tokenizer)
        await asyncio.gather(*(model.probabilities(prompt, options) for _ in range(2)))
        return {"ended": False}

    update = await guarded(a_node(asks, timeout_s=0.05))(MOMENT, Runtime(context=a_context(Thoughtful())))
    assert update == {"ended": False}


async def test_a_failure_of_the_model_stays_its_own() -> None:
    async def fails(state: Any, runtime: Any) -> Any:
        raise ModelError("the model went away")

    with pytest.raises(ModelError, match="went away"):
        await guarded(a_node(fails))(MOMENT, Runtime(context=a_context()))


# --- in a conversation ----------------------------------------------------------------------------------------------


def with_own(*nodes: Node, mechanisms: tuple[Mechanism, ...] = ()) -> Registry:
    return Registry(
        own_nodes={node.name: node for node in nodes},
        own_mechanisms={mechanism.name: mechanism for mechanism in mechanisms},
    )


async def held_with(registry: Registry, model: ScriptedModel | None = None, **settings: Any) -> Context:
    """Hold a meeting at the quay with nodes and mechanisms of one's own."""
    meeting = a_quay(mechanisms=tuple(registry.own_mechanisms) or a_quay().mechanisms)
    context = a_context(model, start=meeting, **{"max_turns": 4, "removal_factor": 0, **settings})
    chosen = registry.functions(context.parameters, "group_chat")
    context = replace(context, nodes=chosen, mechanisms=registry.own_mechanisms)
    await drive(context, InMemorySaver())
    return context


async def test_a_node_stands_in_the_place_of_another() -> None:
    async def never(state: Any, runtime: Any) -> dict[str, Any]:
        return {"ended": True}

    registry = with_own(a_node(never))
    context = a_context(ScriptedModel(endings=repeat(False)), **{"nodes.decide_ending": "mine"})
    chosen = registry.functions(context.parameters, "dialogue")
    await build_dialogue_graph(chosen=chosen).ainvoke(BEGINNING, context=context)
    assert [turn.ended for turn in context.store.turns("k3f9")] == [True]


async def test_a_node_stands_behind_another() -> None:
    async def frighten(state: Any, runtime: Any) -> dict[str, Any]:
        return {"mind": {**state["mind"], "emotion": "afraid", "emotion_strength": 1.0}}

    node = a_node(frighten, place="after_assess", writes=("mind",))
    context = await held_with(with_own(node), **{"nodes.after_assess": "mine"})
    bids = context.store.steps("k3f9", "bid", Bid)
    assert {bid.parts.emotion for bid in bids.values()} == {1.0}


async def test_a_race_of_ones_own_gives_the_floor() -> None:
    async def last_first(state: Any, runtime: Any) -> Any:
        context = runtime.context
        outcome = appointed(state, context, contenders_of(state, context), state["present"][-1])
        return give_floor(state, context, outcome)

    node = a_node(last_first, place="race", reads=("minds", "bids"), writes=("speaker", "sim_time_s", "minds"))
    context = await held_with(with_own(node), **{"nodes.race": "mine"})
    assert {turn.speaker for turn in context.store.turns("k3f9")} == {"Dee"}


async def test_perceiving_and_deciding_of_ones_own_keep_nobody_waiting() -> None:
    """Others do not wait for the calls of an agent whose node does not say that it makes no more."""

    async def decides(state: Any, runtime: Any) -> dict[str, Any]:
        bid = {"topic": 0.5, "goal": 0.5, "emotion": 0.5, "personality": 0.5, "similarity": 0.0, "similarity_max": None}
        return {"minds": {state["agent"]: state["mind"]}, "bids": {state["agent"]: bid}}

    async def perceives(state: Any, runtime: Any) -> dict[str, Any]:
        return {"mind": {**state["mind"], "noticed": [0]}}

    registry = with_own(
        a_node(decides, name="decides", place="decide", writes=("minds", "bids")),
        a_node(perceives, name="perceives", place="perceive", writes=("mind",)),
    )
    model = ScriptedModel()
    async with asyncio.timeout(20):
        context = await held_with(registry, model, **{"nodes.decide": "decides", "nodes.perceive": "perceives"})
    assert len(context.store.turns("k3f9")) == 4
    assert max(len(batch) for batch in model.asked("generate_batch")) >= 4


async def test_a_mechanism_of_ones_own_is_chosen_by_its_description_and_finds_its_last_finding() -> None:
    found: list[Any] = []

    class Depth(Record):
        deep: int = 1

    async def run(view: View) -> Finding:
        last = view.finding("gossip")
        found.append(last and last.data["count"])
        settings = view.context.settings("gossip", Depth)
        return Finding(lines=("So it is said.",), data={"count": settings.deep + (last.data["count"] if last else 0)})

    mechanism = a_mechanism(run, parameters=Depth)
    model = ScriptedModel(endings=repeat(True))
    context = await held_with(with_own(mechanisms=(mechanism,)), model, **{"gossip.deep": 2})
    assert {None, 2, 4} <= set(found)
    prompts = [context.store.prompt(call.prompt) for call in context.store.calls("k3f9") if call.prompt]
    texts = [unit.text for prompt in prompts for unit in prompt.units]
    assert any("think of what is said" in text for text in texts)
    assert any("So it is said." in text for text in texts)


async def test_a_mechanism_has_a_time_limit_of_its_own() -> None:
    async def waits(view: View) -> Finding:
        await asyncio.sleep(5)
        return Finding()

    async def asks(view: View) -> Finding:
        question = Question("recall", form={"recall": "what"}, example={"recall": "that"})
        await view.ask("quick", question, [ReplyField("recall", "text")])
        return Finding(lines=("In time.",))

    async def returns_text(view: View) -> Any:
        return "So it is said."

    registry = with_own(
        mechanisms=tuple(
            a_mechanism(run, name=name, condition=lambda view: "always", timeout_s=0.05)
            for name, run in (("slow", waits), ("quick", asks), ("wrong", returns_text))
        )
    )
    context = await held_with(registry, max_turns=1)
    slow, quick, wrong = (context.store.step("k3f9", 1, "Bo", name, Finding) for name in ("slow", "quick", "wrong"))
    assert slow is not None
    assert slow.problem == "slow took longer than 0.05 s"
    assert quick is not None
    assert quick.problem is None
    assert wrong is not None
    assert wrong.problem == "wrong returned a str, not a Finding"


# --- former names ---------------------------------------------------------------------------------------------------


async def select_first(state: Any, runtime: Any) -> dict[str, Any]:
    return {"chosen": 0, "rollbacks": 0}


def test_a_place_is_found_by_its_former_name() -> None:
    assert set(FORMER_NAMES.values()) <= set(PLACES)
    node = a_node(select_first, place="settle", writes=("chosen", "rollbacks"))
    assert node.place == "select_candidate"
    registry = with_own(node)
    for place in ("settle", "select_candidate"):
        stored = Parameters.model_validate({"nodes": {place: "mine"}})
        assert set(registry.functions(stored, "dialogue")) == {"select_candidate"}
    shipped = Parameters().with_settings({"nodes.settle": "settle"})
    assert Registry().functions(shipped, "dialogue") == {"select_candidate": select_candidate}
    with pytest.raises(UsageError, match=r"nodes\.settle=length: length stands in the place score"):
        Registry().functions(Parameters().with_settings({"nodes.settle": "length"}), "dialogue")


async def test_nodes_that_reset_the_scores_themselves_go_on_working() -> None:
    """In earlier versions a retriever and a generator wrote what every utterance begins with."""

    async def retrieve(state: Any, runtime: Any) -> Any:
        scores: dict[str, Any] = {"scores": None, "scored_by": None, "removed": [], "scoring_wanted": True}
        return {**scores, "prompt": (await retrieve_memory(state, runtime))["prompt"]}

    async def draw(state: Any, runtime: Any) -> Any:
        await generate(state, runtime)
        first: dict[str, Any] = {"attempt": 0, "inconsistency": [], "conflict": False, "judged_by": None}
        return {**first, "judging_wanted": True}

    registry = with_own(
        a_node(
            retrieve,
            name="mine",
            place="retrieve_memory",
            writes=("prompt", "scores", "scored_by", "removed", "scoring_wanted"),
        ),
        a_node(
            draw,
            name="yours",
            place="generate",
            reads=("prompt", "removed"),
            writes=("attempt", "inconsistency", "conflict", "judged_by", "judging_wanted"),
        ),
    )
    settings: dict[str, Any] = {"max_turns": 2, "removal_factor": 0.5}
    shipped = a_context(ScriptedModel(endings=repeat(False)), **settings)
    await build_dialogue_graph().ainvoke(BEGINNING, context=shipped)
    chosen = {"nodes.retrieve_memory": "mine", "nodes.generate": "yours"}
    context = a_context(ScriptedModel(endings=repeat(False)), **settings, **chosen)
    functions = registry.functions(context.parameters, "dialogue")
    await build_dialogue_graph(chosen=functions).ainvoke(BEGINNING, context=context)
    for turn in (1, 2):
        assert context.store.turn_record("k3f9", turn) == shipped.store.turn_record("k3f9", turn)


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
    with pytest.raises(ExtensionError, match=r"'mine' was handed over in Python.*`tertulia\.resume\(run, nodes=…\)`"):
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
    later = reload_extensions(noted, nodes=[a_node()], mechanisms=[a_mechanism()])
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
