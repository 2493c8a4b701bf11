"""What a user's node or mechanism declares: refused at definition if it is wrong, and kept while a run goes on."""

import asyncio
import time
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from pydantic import Field
from support.dialogue_case import a_context
from support.meeting_case import a_quay, held
from support.scripted import ScriptedModel
from support.user_nodes import a_mechanism, a_node, ends, without_addresses

import tertulia as tt
from tertulia.nodes.machinery.guard import guarded
from tertulia.nodes.machinery.places import PLACES
from tertulia.nodes.machinery.registry import NODES
from tertulia.prompts.ending import assemble_ending
from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Bid, Floor
from tertulia.state.context import Context
from tertulia.state.errors import ExtensionError, ModelError, NodeError
from tertulia.state.records import Prompt, Record, Unit

MOMENT: dict[str, Any] = {"round": 2, "turn": 2, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 4.0}


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
        ({"parameters": dict}, "derived from tertulia.state.records.Record"),
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
        ({"run": ends}, "run is called with (view)"),
        ({"condition": lambda: None}, "condition is called with (view)"),
    ],
    ids=without_addresses,
)
def test_a_wrong_mechanism_is_refused_at_definition(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ExtensionError) as refused:
        a_mechanism(**changes)
    assert words in str(refused.value)


# --- guarding -------------------------------------------------------------------------------------------------------


async def test_shipped_nodes_keep_what_they_declare() -> None:
    """Guarded, they see the keys that they declare and write what their places take; nothing comes out otherwise."""
    guarded_nodes = {node.place: guarded(node) for node in NODES.values() if node.name in (node.place, "attention")}
    assert set(guarded_nodes) == {place for place in PLACES if not place.startswith(("after_", "read_address"))}
    settings: dict[str, Any] = {"removal_factor": 0.6, "max_turns": 4}
    context, turns = await held(a_quay(), **settings)
    fresh = a_context(start=a_quay(), **settings)
    with_guard = replace(fresh, nodes={**fresh.nodes, **guarded_nodes})
    await drive(with_guard, InMemorySaver())
    assert with_guard.store.turns("k3f9") == turns
    assert [with_guard.store.turn_record("k3f9", turn.turn) for turn in turns] == [
        context.store.turn_record("k3f9", turn.turn) for turn in turns
    ]
    for step, kind in (("bid", Bid), ("floor", Floor)):
        assert with_guard.store.steps("k3f9", step, kind) == context.store.steps("k3f9", step, kind)


async def guarded_update(update: Any, **declared: Any) -> Any:
    """Return the update of a guarded node in the place of decide_ending that returns this."""

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
        ({}, "did not return ended"),
        ({"ended": True, "removed": []}, "returned 'removed'; it may return ended"),
        ({"ended": True, 3: 1}, "returned 3; it may return ended"),
        ({"ended": np.bool_(True)}, "ended is a numpy.bool, which can't be checkpointed"),
        ({"ended": Slow()}, "Slow, which can't be checkpointed"),
        ({"ended": "no"}, "ended takes true or false, not 'no'"),
        ({"ended": None}, "takes true or false, not None"),
        (lambda state: state["chosen"], "reads 'chosen': add it to its reads=['chosen']"),
        (lambda state: {}["chosen "], "failed: KeyError"),
        (lambda state: 1 / 0, "failed: ZeroDivisionError: division by zero (line "),
        (lambda state: state["present"].clear(), "changed the state that it was given"),
        (lambda state: state.update(ended=True) or {"ended": True}, "changed the state that it was given"),
    ],
    ids=without_addresses,
)
async def test_what_a_node_may_not_do_stops_the_run_with_words(update: Any, words: str) -> None:
    with pytest.raises(NodeError) as stopped:
        await guarded_update(update)
    assert words in str(stopped.value)
    assert str(stopped.value).startswith("round 2: the node 'mine', in the place decide_ending, ")
    assert "\n" not in str(stopped.value)
    assert MOMENT["present"] == ["Mara", "Piotr"]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"a": 1.0, "one": 1.0, "two": 1.0}, "scores has one for 'a', which is no unit"),
        ({}, "scores has none for 2 of 2 units, the first of them 'one'"),
        ({"one": 1.0, "two": -0.5}, "scores['two'] is -0.5; a score is 0 or more"),
        (
            {"one": 1e308, "two": 1.5e308},
            "scores add up to inf, the highest of them 1.5e+308 of 'two'; make them smaller",
        ),
        ({"one": 1.0, "two": float("nan")}, "scores['two'] is nan; numbers are finite"),
        ({"one": 1.0, "two": np.float64(1.0)}, "scores['two'] is a numpy.float64"),
        ({"one": 1.0, 2: 1.0}, "scores has the key 2, a int"),
        ({"one": 1.0, "two": "much"}, "scores['two'] takes a number, not 'much'"),
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


@pytest.mark.parametrize(("found", "lines"), [("", ()), (" ", ()), (["", "It leaks."], ("It leaks.",)), (None, ())])
async def test_an_empty_text_is_no_finding(found: Any, lines: tuple[str, ...]) -> None:
    mine = tt.mechanism("look", name="mine")(lambda view: found)
    assert (await mine.run(cast(Any, None))).lines == lines


@pytest.mark.parametrize("found", [5, [5, None], {"a": 1}, b"x"])
async def test_findings_that_are_no_texts_are_told(found: Any) -> None:
    mine = tt.mechanism("look", name="mine")(lambda view: found)
    with pytest.raises(ValueError, match=r"^mine returned .*; it returns a text, a list of texts, or None$"):
        await mine.run(cast(Any, None))


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
