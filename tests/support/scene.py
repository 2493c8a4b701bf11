"""A meeting before a round, and one agent whose steps of cognition a test takes."""

from typing import Any, cast

from langgraph.runtime import Runtime
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.scripted import ScriptedModel

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.meeting.prepare import prepare
from tertulia.nodes.meeting.rounds import read_address
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionInput, GroupState, first_state
from tertulia.state.meeting import Meeting
from tertulia.state.records import Turn, TurnRecord


class Scene:
    """A meeting before a round, with what was said until then, and one agent whose steps a test takes."""

    def __init__(self, meeting: Meeting | None = None, model: ScriptedModel | None = None, **settings: Any) -> None:
        self.meeting = meeting or a_quay()
        self.context: Context = a_context(model, start=self.meeting, removal_factor=0, **settings)
        self.speakers: list[str | None] = []

    def says(self, *lines: tuple[str, str] | None) -> "Scene":
        """Store turns: pairs of speaker and text, or a silence."""
        for line in lines:
            speaker, text = line or (None, "")
            number = len(self.speakers) + 1
            turn = Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=8.0 * number, ended=False)
            self.context.store.save_turn("k3f9", TurnRecord(turn=turn))
            self.speakers.append(speaker)
        return self

    def state(self, name: str = "Ana", **mind: Any) -> dict[str, Any]:
        known = cast(GroupState, first_state(self.meeting))["minds"][name]
        return {
            "round": len(self.speakers) + 1,
            "agent": name,
            "present": list(self.meeting.names),
            "sim_time_s": 8.0 * (len(self.speakers) + 1),
            "silence_s": 0.0,
            "spoken": {agent: self.speakers.count(agent) for agent in self.meeting.names},
            "mind": {**dict(known), **mind},
        }

    async def after(self, *steps: Any, name: str = "Ana", **mind: Any) -> dict[str, Any]:
        """The state of the agent behind these steps, prepared beforehand."""
        state = self.state(name, **mind)
        for agent in self.meeting.names:
            self._alone(0)
            before: Any = {**self.state(agent), "round": 0}
            await prepare(before, Runtime(context=self.context))
        self._alone(len(self.speakers) + 1)
        state["address"] = await read_address(self.context, state["round"], state["present"], state["silence_s"])
        for step in steps:
            state = {**state, **await step(state, Runtime(context=self.context))}
        return state

    def _alone(self, round: int) -> None:
        """Nobody else thinks here: a call waits for no others."""
        self.context.broker.clear()
        self.context.broker.seat(round, ())

    async def view(self, name: str = "Ana", **mind: Any) -> View:
        return View.of(cast(CognitionInput, await self.after(name=name, **mind)), self.context)

    def step(self, node: str, kind: Any, name: str = "Ana") -> Any:
        return self.context.store.step("k3f9", len(self.speakers) + 1, name, node, kind)

    async def find(self, mechanism: str, name: str = "Ana", **mind: Any) -> Finding:
        return await MECHANISMS[mechanism].run(await self.view(name, **mind))
