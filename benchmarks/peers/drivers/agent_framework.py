"""Microsoft's Agent Framework, AutoGen's successor: a `GroupChatBuilder`, with `FileCheckpointStorage`.

In a meeting an agent leads (it answers in a form that names the next speaker), in a dialogue a function names the two
in turn. A checkpoint follows every step of the workflow, an utterance's the choice of the next speaker; a run goes on
from the latest.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_framework import Agent, FileCheckpointStorage, Message
from agent_framework.openai import OpenAIChatCompletionClient
from agent_framework.orchestrations import GroupChatBuilder

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given

_LEADER = "leader"


class Noted(FileCheckpointStorage):  # type: ignore[misc]  # it has no types in this environment
    """The shipped storage; the watch learns of each utterance that a checkpoint holds."""

    def __init__(self, folder: Path, kept: int, watch: Stopwatch) -> None:
        super().__init__(folder)
        self._known, self._watch = kept, watch

    async def save(self, checkpoint: Any) -> Any:
        """Store a checkpoint."""
        stored = await super().save(checkpoint)
        for _ in range(len(spoken(checkpoint.state)) - self._known):
            self._known += 1
            self._watch.spoken()
        return stored


async def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    client = OpenAIChatCompletionClient(conversation.model, base_url=conversation.address, api_key="none")
    folder = conversation.path / "checkpoints"
    latest = await FileCheckpointStorage(folder).get_latest(workflow_name="talk") if conversation.resumes else None
    kept = spoken(latest.state) if latest else []
    watch = Stopwatch()
    storage = Noted(folder, len(kept), watch)
    opening = conversation.opening or ("", "Begin.")
    task = Message("user", [opening[1]], author_name=named(opening[0]) or None)
    start: Any = {"checkpoint_id": latest.checkpoint_id} if latest else {"message": [task]}
    await group(conversation, client, storage).run(**start)
    last = await storage.get_latest(workflow_name="talk")
    watch.report(spoken(last.state) if last else [], len(kept))


def group(conversation: Conversation, client: Any, storage: FileCheckpointStorage) -> Any:
    """Return the workflow."""
    agents = [agent(person, conversation, client) for person in conversation.people]
    order: dict[str, Any] = {"selection_func": lambda state: agents[state.current_round % 2].name}
    if conversation.is_meeting:
        instructions = "You lead a conversation: you say who speaks next, and never end it."
        order = {"orchestrator_agent": Agent(client, instructions, name=_LEADER)}
    else:
        order["orchestrator_name"] = _LEADER
    return GroupChatBuilder(
        name="talk", participants=agents, max_rounds=conversation.turns, checkpoint_storage=storage, **order
    ).build()


def agent(person: Person, conversation: Conversation, client: Any) -> Any:
    """Return an agent who plays the person."""
    remembered = "\n".join(f"- {memory}" for memory in person.memories)
    instructions = (
        f"You are {person.name}. {person.persona}\nWhat you want: {person.goal}\nYou remember:\n{remembered}\n\n"
        f"{conversation.situation}\nSay what {person.name} says next, in one or two sentences."
    )
    return Agent(client, instructions, name=named(person.name), description=person.summary)


def named(name: str) -> str:
    """Return a name as the protocol allows it."""
    return name.replace(" ", "_")


def spoken(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the utterances in the state of a workflow, without the line that began it and the leader's last one."""
    held: list[Any] = max((of.get("conversation", []) for of in state.get("_executor_state", {}).values()), key=len)
    return [(message.author_name, message.text) for message in held[1:] if message.author_name not in (None, _LEADER)]


if __name__ == "__main__":
    asyncio.run(hold(given()))
