"""What a node of a cognition sees and writes besides its state, as docs/extending.md says it."""

import json
import re
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
from support.commands import Cli

import tertulia as tt
from tertulia.nodes.machinery.key_table import key_table
from tertulia.nodes.machinery.places import PLACES
from tertulia.state.errors import ExtensionError, NodeError
from tertulia.state.graph_state import CognitionInput, Mind
from tertulia.state.observed import Observed
from tertulia.views.reading.traces import read_visits

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
SEEN: list[dict[str, Any]] = []


@tt.node("after_assess", reads=["heard", "last_bids", "mechanisms", "situation", "thought", "active"])
def critic(state: Any, runtime: Any) -> dict[str, Any]:
    """Say what it sees, and think something else."""
    SEEN.append(dict(state))
    return {"thought": f"Rather not: {state['thought']}", "mind": {**state["mind"], "emotion_strength": 1.0}}


def meeting(store: Any, node: Any = critic, rounds: int = 3) -> tt.Run:
    added = tt.Additions(nodes={node.place: node})
    return tt.run("team_building", additions=added, rounds=rounds, rehearse=True, store=store, progress=False)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tt.Run:
    SEEN.clear()
    return meeting(tmp_path_factory.mktemp("held") / "tertulia.db")


def test_the_table_is_the_types() -> None:
    (shown,) = re.findall(r"key_table -->\n(.*?)\n<!-- end", PAGE, re.DOTALL)
    assert shown == key_table(), "docs/extending.md: paste what tertulia.nodes.machinery.key_table.key_table() returns"


def test_every_key_has_a_row() -> None:
    for kind, prefix in ((CognitionInput, ""), (Observed, ""), (Mind, "mind.")):
        assert [key for key in get_type_hints(kind) if f"| `{prefix}{key}` |" not in key_table()] == []
    cognition = [place for place in PLACES.values() if place.graph == "cognition"]
    written = [key for place in cognition for key in (*place.writes, *place.may_write)]
    assert [key for key in written if f"| `{key}` |" not in key_table()] == []


def test_a_critic_sees_the_thought_and_its_reasons(held: tt.Run) -> None:
    seen = {(state["round"], state["agent"]): state for state in SEEN}
    with held.store.opened() as store:
        trace = store.trace(held.id, 3)
    assert trace is not None
    for visit in trace.visits:
        if visit.node != "after_assess":
            continue
        state = seen[3, visit.agent]
        assert state["thought"]
        assert state["situation"]
        assert {name for name, found in state["mechanisms"].items() if found["active"]} == set(state["active"])
        assert all(found["reason"] for found in state["mechanisms"].values() if found["active"])
        assert set(state["last_bids"]) <= set(state["present"])
        assert sum(bid["won"] for bid in state["last_bids"].values()) <= 1
        assert {line["text"] for line in state["heard"]} <= {turn.text for turn in held.turns} | {opening(held)}


def opening(run: tt.Run) -> str:
    with run.store.opened() as store:
        return cast(Any, store.start(run.id)).opening.text


def test_a_rewritten_thought_is_the_thought_and_the_state_stays_small(held: tt.Run) -> None:
    for turn in (1, 2, 3):
        for agent in held.turn(turn).document()["cognition"]:
            assert agent["thought"].startswith("Rather not: ")
    with held.store.opened() as store:
        trace = store.trace(held.id, 2)
        shown = read_visits(store, held.record, 2, "critic")
    assert trace is not None
    assert "Rather not" not in trace.model_dump_json()
    for _, visit in shown:
        assert visit.update is not None
        assert visit.update["thought"] == f"Rather not: {visit.before['thought']}"
        assert visit.update["mind"]["emotion_strength"] == 1.0
        (given,) = [state for state in SEEN if (state["round"], state["agent"]) == (2, visit.agent)]
        assert visit.before == given


@pytest.mark.parametrize("name", ["critic", "after_assess", "perceive", "decide", "race", "goal_summary", "generate"])
def test_every_node_and_mechanism_is_shown_by_its_name(held: tt.Run, name: str) -> None:
    with held.store.opened() as store:
        assert read_visits(store, held.record, node=name)


def test_a_node_that_was_not_chosen_says_which_was(held: tt.Run) -> None:
    with held.store.opened() as store, pytest.raises(tt.NotFoundError, match="'attention' was chosen in place of 'len"):
        read_visits(store, held.record, node="length")


def test_errors_speak_of_what_a_decorated_node_has(tmp_path: Path) -> None:
    @tt.node("after_assess")
    def unread(state: Any, runtime: Any) -> dict[str, Any]:
        """Read what it does not name."""
        return {"thought": state["thought"]}

    @tt.node("after_assess")
    def unknown(state: Any, runtime: Any) -> dict[str, Any]:
        """Return what no place has."""
        return {"opinion": "none"}

    with pytest.raises(NodeError, match=re.escape("reads 'thought': add it to its reads=['thought']")):
        meeting(tmp_path / "a.db", unread, 1)
    with pytest.raises(NodeError, match="returned 'opinion'; it may return mind, situation, thought"):
        meeting(tmp_path / "b.db", unknown, 1)
    with pytest.raises(ExtensionError, match="reads has 'thought', which after_perceive does not have"):
        tt.node("after_perceive", reads=["thought"])(unread.run)


def test_the_recipe_of_the_page_runs_as_written(cli: Cli) -> None:
    section = PAGE.partition("## A critic after a thought")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ tertulia (.*)$", section, re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    Path("critic.py").write_text(code, encoding="utf-8")
    results = [cli(*command.split()) for command in commands]
    assert [result.code for result in results] == [0, 0, 0]
    visits = cli("show", "@last", "--turn", "2", "--node", "critic", "--json").json["visits"]
    assert len(visits) == 5
    assert all(visit["update"]["thought"] != visit["before"]["thought"] for visit in visits)
    assert all("minds" not in visit["before"] and "bids" not in visit["before"] for visit in visits)
    cognition = cli("show", "@last", "--turn", "2", "--json").json["cognition"]
    assert {agent["agent"]: agent["thought"] for agent in cognition} == {
        visit["agent"]: visit["update"]["thought"] for visit in visits
    }
    assert json.dumps(visits)
