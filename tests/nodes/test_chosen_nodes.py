"""Nodes and mechanisms that a run chooses: which may be chosen, by which names, and what they do in a conversation."""

import asyncio
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.scripted import ScriptedModel
from support.user_nodes import a_mechanism, a_node, without_addresses

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.machinery.registry import Registry
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.contenders import appointed, contenders_of, give_floor
from tertulia.nodes.meeting.view import View
from tertulia.prompts.cognition import Question
from tertulia.runs.driving.conversation import drive
from tertulia.state.cognition import Finding
from tertulia.state.context import Context
from tertulia.state.errors import UsageError
from tertulia.state.language_model import ReplyField
from tertulia.state.parameters import Parameters
from tertulia.state.records import Record


class Window(Record):
    window: int = 3


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
        ({"windowed.window": "wide"}, "windowed.window=wide: takes a whole number"),
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


# --- in a conversation ----------------------------------------------------------------------------------------------


def registry_of(*nodes: Node, mechanisms: tuple[Mechanism, ...] = ()) -> Registry:
    return Registry(
        own_nodes={node.name: node for node in nodes},
        own_mechanisms={mechanism.name: mechanism for mechanism in mechanisms},
    )


async def hold_meeting(registry: Registry, model: ScriptedModel | None = None, **settings: Any) -> Context:
    """Hold a meeting at the quay with the nodes and mechanisms of a registry."""
    meeting = a_quay(mechanisms=tuple(registry.own_mechanisms) or a_quay().mechanisms)
    context = a_context(model, start=meeting, **{"max_turns": 4, "removal_factor": 0, **settings})
    chosen = registry.functions(context.parameters, "group_chat")
    context = replace(context, nodes=chosen, mechanisms=registry.own_mechanisms)
    await drive(context, InMemorySaver())
    return context


async def test_a_race_of_ones_own_gives_the_floor() -> None:
    async def last_first(state: Any, runtime: Any) -> Any:
        context = runtime.context
        outcome = appointed(state, context, contenders_of(state, context), state["present"][-1])
        return give_floor(state, context, outcome)

    node = a_node(last_first, place="race", reads=("minds", "bids"), writes=("speaker", "sim_time_s", "minds"))
    context = await hold_meeting(registry_of(node), **{"nodes.race": "mine"})
    assert {turn.speaker for turn in context.store.turns("k3f9")} == {"Dee"}


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
    context = await hold_meeting(registry_of(mechanisms=(mechanism,)), model, **{"gossip.deep": 2})
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

    registry = registry_of(
        mechanisms=tuple(
            a_mechanism(run, name=name, condition=lambda view: "always", timeout_s=0.05)
            for name, run in (("slow", waits), ("quick", asks), ("wrong", returns_text))
        )
    )
    context = await hold_meeting(registry, max_turns=1)
    slow, quick, wrong = (context.store.step("k3f9", 1, "Bo", name, Finding) for name in ("slow", "quick", "wrong"))
    assert slow is not None
    assert slow.problem == "slow took longer than 0.05 s"
    assert quick is not None
    assert quick.problem is None
    assert wrong is not None
    assert wrong.problem == "wrong returned a str, not a Finding"
