"""Edits of the state between inner steps: some are taken, all others are told in one sentence."""

from pathlib import Path
from typing import Any

import pytest
from support.hosted import HELLO, PEOPLE, speaking, thread

import tertulia as tt
import tertulia.langgraph
from tertulia.state.errors import UsageError
from tertulia.views.reading.removal import removal_in_words


def paused(graph: Any) -> Any:
    """The state of the node that has paused."""
    (task,) = graph.get_state(thread(), subgraphs=True).tasks
    return task.state


_FIXED = r", which λ may not remove: a fixed unit, or a text of a block that keeps items; leave it out(\n|$)"


@pytest.mark.parametrize(
    ("step", "edit", "says"),
    [
        ("generate", {"turn": 7}, r"^turn is 7; no edit can change it, as it tells what was done: write 1 again(\n|$)"),
        ("sense", {"round": "x"}, r"^round is 'x'; no edit .*: write 1 again(\n|$)"),
        ("generate", {"speaker": "Zed"}, r"^speaker is 'Zed'; no edit .*: write 'Ana' again(\n|$)"),
        ("retrieve_memory", {"speaker": "Bo"}, r"^speaker is 'Bo'; no edit .*: write 'Ana' again(\n|$)"),
        ("generate", {"run": "zzzz"}, r"^run is 'zzzz'; no edit"),
        ("generate", {"prompt": "abc"}, r"^prompt is 'abc'; no edit"),
        ("score", {"attempt": "x"}, r"^attempt is 'x'; no edit .*: write 0 again(\n|$)"),
        ("generate", {"present": []}, r"^present is \[\]; no edit .*: go on from the checkpoint before(\n|$)"),
        ("generate", {"part": "plan"}, r"^part is 'plan'; no edit .*: go on from the checkpoint before(\n|$)"),
        ("record", {"chosen": 99}, r"^chosen is 99; no edit"),
        ("record", {"removed": []}, r"^removed is \[\]; it can be edited only at a pause before generate: go on from"),
        ("generate", {"scores": {"memory.memory_1": 5}}, r"^scores is .*; it can be edited only at a pause before pru"),
        ("prune", {"scores": {"memory.memory_1": 5}}, r"^scores has none for [a-z_.0-9]+; give every unit"),
        ("prune", {"scores": {"nope": 5}}, r"^scores has 'nope', which is no id of a unit"),
        ("prune", {"scores": {"memory.memory_1": -1}}, r"^scores has -1 for memory\.memory_1; give"),
        ("prune", {"scores": {1: 2.0, "nope": 5}}, r"^scores has 1, which is no id of a unit"),
        ("prune", {"scores": "x"}, r"^scores is 'x'; give every unit"),
        ("prune", {"scores": None}, r"^scores is None; give every unit"),
        ("prune", {"removal_factor": 2}, r"^removal_factor is 2; λ is a number from 0 to 1(\n|$)"),
        ("generate", {"removed": ["opening.text_1"]}, rf"^removed has 'opening\.text_1'{_FIXED}"),
    ],
)
def test_an_edit_that_cannot_be_is_told_and_can_be_undone(tmp_path: Path, step: str, edit: Any, says: str) -> None:
    graph = speaking(tmp_path, interrupt_before=[step])
    graph.invoke(HELLO, thread())
    state = paused(graph)
    (key,) = edit
    config = graph.update_state(state.config, edit)
    with pytest.raises(UsageError, match=says):
        graph.invoke(None, thread())
    if key != "part":
        graph.update_state(config, {key: state.values[key]})
        assert graph.invoke(None, thread())["messages"][-1].name == "Ana"
        (run,) = tt.open_store(tmp_path / "talk.db").runs()
        assert [turn.speaker for turn in run.turns] == ["Ana"]


def test_the_picture_of_an_exchange_cannot_be_changed_once_it_is_found(tmp_path: Path) -> None:
    from hosting.test_talk_as_node import exchanging

    graph = exchanging(tmp_path, interrupt_before=["question"])
    graph.invoke(HELLO, thread())
    graph.update_state(paused(graph).config, {"picture": "a whale"})
    with pytest.raises(UsageError, match=r"^picture is 'a whale'; no edit can change it"):
        graph.invoke(None, thread())


def test_a_meeting_tells_of_edits_as_well(tmp_path: Path) -> None:
    from hosting.test_talk_as_node import talking

    graph = talking(tmp_path, [*PEOPLE, "Cy"], rounds=1, interrupt_before=["begin_utterance"])
    graph.invoke(HELLO, thread())
    state = paused(graph)
    config = graph.update_state(state.config, {"speaker": "Zed"})
    with pytest.raises(UsageError, match=r"^speaker is 'Zed'; no edit"):
        graph.invoke(None, thread())
    graph.update_state(config, {"speaker": state.values["speaker"]})
    assert graph.invoke(None, thread())["messages"]


def removal_of(turn: Any) -> str:
    return " ".join(removal_in_words(turn.details))


def edited(tmp_path: Path, step: str, edit: Any) -> Any:
    """The turn that was said after an edit."""
    graph = speaking(tmp_path, interrupt_before=[step])
    graph.invoke(HELLO, thread())
    state = paused(graph)
    graph.update_state(state.config, edit(state.values))
    said = graph.invoke(None, thread())["utterance"]
    return tt.open_store(tmp_path / "talk.db").run(said["run"]).turn(1)


@pytest.mark.parametrize(
    ("removed", "says"),
    [
        (["memory.memory_1"], "An edit of the state, not λ, left out 1 of "),
        ([], "An edit of the state, not λ, left out nothing"),
    ],
)
def test_units_that_an_edit_left_out_are_not_told_as_those_of_the_factor(
    tmp_path: Path, removed: Any, says: str
) -> None:
    turn = edited(tmp_path, "generate", lambda _: {"removed": removed})
    assert says in turn.why
    assert "λ = 0.5 had taken" not in turn.why
    assert "the state was edited before the line was drawn" in removal_of(turn)
    assert "removed at λ" not in removal_of(turn)


def test_edited_scores_are_told(tmp_path: Path) -> None:
    turn = edited(tmp_path, "prune", lambda state: {"scores": {**state["scores"], "memory.memory_1": 9.0}})
    assert turn.details.record.scores["memory.memory_1"] == 9.0
    assert "λ = 0.5 had taken" in turn.why
    assert ", by edited scores" in turn.why
    assert "the scores were edited before the line was drawn" in removal_of(turn)


def test_another_factor_before_pruning_is_that_of_the_turn(tmp_path: Path) -> None:
    turn = edited(tmp_path, "prune", lambda _: {"removal_factor": 1})
    assert "λ = 1 had taken all" in turn.why
