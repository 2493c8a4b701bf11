"""Extension files as users wrote them for earlier versions: a run that names one loads it again, unchanged."""

from pathlib import Path

from tertulia.nodes.machinery.extensions import load_extensions, reload_extensions

AS_WRITTEN_THEN = """
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.node import Node
from tertulia.nodes.retrieve import latest_turns
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding
from tertulia.state.contracts import Context, GenerationRequest, ReplyField, ScoringOptions, Store
from tertulia.state.records import Record

ANSWER = (ReplyField("answer", "text"),)


def ids(store: Store, prompt: str) -> list[str]:
    return [unit.id for unit in store.prompt(prompt).units]


async def score(state, runtime):
    context: Context = runtime.context
    return {"scores": dict.fromkeys(ids(context.store, state["prompt"]), 1.0), "scored_by": "evenly"}


async def listen(view: View) -> Finding:
    return Finding(lines=("They listen.",))


NODES = (Node(name="evenly", place="score", description="all alike", run=score, writes=("scores", "scored_by")),)
MECHANISMS = (Mechanism(name="listen", title="Listen", description="hear", example=(True, "Yes."), run=listen),)
"""


def test_an_extension_with_the_former_imports_is_loaded_again(tmp_path: Path) -> None:
    file = tmp_path / "harbour.py"
    file.write_text(AS_WRITTEN_THEN, encoding="utf-8")
    noted = load_extensions([str(file)]).extensions
    again = reload_extensions(noted, trusted={noted[0].hash: str(file)})
    assert again.extensions == noted
    assert (set(again.own_nodes), set(again.own_mechanisms)) == ({"evenly"}, {"listen"})
