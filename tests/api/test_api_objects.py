"""Nodes and mechanisms handed over as Python objects: taken, refused, asked for again, replaced in a fork."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

import tertulia as tt


@tt.scorer
def longest(units: Any) -> list[int]:
    """Score the longest units highest."""
    return [len(unit.text) for unit in units]


@tt.scorer(name="nearest", description="nearest to the last line")
async def by_name(units: Any, context: Any) -> dict[str, float]:
    return {unit.id: float(context.seed) for unit in units}


@tt.scorer(name="longest")
def shortest(units: Any) -> list[float]:
    """Score the shortest units highest."""
    return [1 / (1 + len(unit.text)) for unit in units]


@tt.mechanism("look for a question that nobody has answered yet")
def open_question(view: Any) -> str | None:
    asked = [line for line in view.lines() if line.text.endswith("?")]
    return f"{asked[-1].speaker} asked: {asked[-1].text}" if asked else None


@tt.node("decide_ending")
def never(state: Any, runtime: Any) -> dict[str, bool]:
    """Let nobody end the conversation."""
    return {"ended": False}


def test_nodes_and_mechanisms_are_handed_over_as_objects() -> None:
    run = tt.run(
        "team_building",
        removal_factor=0.5,
        rounds=3,
        rehearse=True,
        additions=tt.Additions(nodes={"score": longest}, mechanisms=[open_question]),
    )
    spoken = next(turn.turn for turn in run.turns if turn.speaker)
    assert run.turn(spoken).details.record.scored_by == "longest"
    noted = {extension.source: extension.code or "" for extension in run.record.extensions}
    assert list(noted) == ["python:longest", "python:open_question", "tertulia.rules.address"]
    assert "return [len(unit.text) for unit in units]" in noted["python:longest"]
    assert any("open_question" in agent.need.mechanisms for agent in run.turn(1).agents if agent.need)


def test_a_fork_takes_a_scorer_that_is_handed_over_again_as_it_is_now_or_another_in_its_place() -> None:
    run = tt.run("tidewell", rounds=2, rehearse=True, additions=tt.Additions(nodes={"score": longest}))
    with pytest.raises(tt.ExtensionError, match=r"'longest'.*hand"):
        run.fork(at=2)
    assert tt.diff(run, run.fork(at=2, additions=tt.Additions(nodes={"score": longest}))).is_same
    with pytest.raises(tt.ExtensionError, match=r"differs from what was recorded.*accept_changed=True"):
        run.fork(at=2, additions=tt.Additions(nodes={"score": shortest}))
    fork = run.fork(at=2, additions=tt.Additions(nodes={"score": shortest}, accept_changed=True))
    assert "1 / (1 + len(unit.text))" in (fork.record.extensions[0].code or "")
    other = run.fork(at=2, additions=tt.Additions(nodes={"score": "length"}))
    assert (list(other.record.extensions), other.parameters.nodes) == ([], {"score": "length"})
    with pytest.raises(tt.ExtensionError, match="'longest' was handed over in Python"):
        run.fork(at=2, removal_factor=0.9)


class Twice:
    """Score every unit with two."""

    def __call__(self, units: Any) -> list[int]:
        return [2] * len(units)


@pytest.mark.parametrize(
    ("decorate", "words"),
    [
        (lambda: tt.scorer(Twice()), "has no name as a function has; give one with name="),
        (lambda: tt.scorer(cast(Any, 3)), r"^3: a function is expected"),
        (lambda: tt.scorer(name="f")(lambda: []), r"node 'f': a scorer takes the units.*not \(\)"),
        (
            lambda: tt.node("decide_ending", name="f")(lambda x: {}),
            r"node 'f': its function takes the state and the runtime, not \(x\)",
        ),
        (
            lambda: tt.node("decide_ending", name="f", reads="turn")(lambda state, runtime: {}),
            r"reads is a list of state keys: reads=\['turn'\]",
        ),
        (
            lambda: tt.mechanism("it", name="f")(lambda: None),
            r"mechanism 'f': its function takes the view, not \(\)",
        ),
        (lambda: tt.node(cast(Any, never.run)), r"place is named by a text: @tertulia\.node\('decide_ending'\)"),
        (lambda: tt.mechanism(cast(Any, never.run)), r"description is a text: @tertulia\.mechanism\('what for'\)"),
        (lambda: tt.node("decide_ending", reads=cast(Any, 3)), "reads is a list"),
    ],
)
def test_a_decorator_says_what_it_can_not_take(decorate: Callable[[], object], words: str) -> None:
    with pytest.raises(tt.ExtensionError, match=words):
        decorate()


@pytest.mark.parametrize(
    ("condition", "words"), [(lambda view: 3, "returned 3; it returns a reason"), (lambda view: 1 / 0, "failed: ZeroD")]
)
def test_a_condition_that_fails_is_named(condition: Any, words: str) -> None:
    mechanism = tt.mechanism("it", name="unsteady", condition=condition)(lambda view: None)
    with pytest.raises(tt.NodeError, match=f"^round 1: the condition of the mechanism 'unsteady' {words}"):
        tt.run("team_building", rounds=1, rehearse=True, additions=tt.Additions(mechanisms=[mechanism]))


class Patient:
    """Take a moment, then let nobody end the conversation."""

    async def __call__(self, state: Any, runtime: Any) -> dict[str, bool]:
        await asyncio.sleep(0)
        return {"ended": False}


@tt.scorer
def powers(units: Any, power: int = 2) -> list[int]:
    """Take no context: the second argument has a default."""
    return [power for _ in units]


@pytest.mark.parametrize(("scorer", "score", "name"), [(by_name, 3.0, "nearest"), (powers, 2.0, "powers")])
def test_a_scorer_may_be_async_take_the_context_and_score_by_id(scorer: Any, score: float, name: str) -> None:
    ending = tt.node("decide_ending", name="patient")(Patient())
    run = tt.run(
        "tidewell",
        rounds=2,
        rehearse=True,
        seed=3,
        additions=tt.Additions(nodes={"score": scorer, "decide_ending": ending}),
    )
    assert {unit.score for unit in run.turn(1).units} == {score}
    assert run.turn(1).details.record.scored_by == name
    assert [turn.ended for turn in run.turns] == [False, False], "an object that is called asynchronously is awaited"
