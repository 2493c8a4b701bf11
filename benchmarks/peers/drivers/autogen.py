"""AutoGen: a `SelectorGroupChat`, and a `RoundRobinGroupChat` of two.

Its documentation saves the state of a team that stands still, and pauses a team with `max_turns`: so one turn is run at
a time, and the state saved after each. (One `run` over all turns, as in most of its examples, leaves nothing before its
end.)
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given

#: What the server knows; AutoGen asks for it where the name of the model is not one of OpenAI's.
ABILITIES = {
    "vision": False,
    "function_calling": False,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


async def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    client = OpenAIChatCompletionClient(
        model=conversation.model, base_url=conversation.address, api_key="none", model_info=ABILITIES
    )
    agents = [agent(person, conversation, client) for person in conversation.people]
    if conversation.is_meeting:
        team = SelectorGroupChat(agents, model_client=client, max_turns=1)
    else:
        team = RoundRobinGroupChat(agents, max_turns=1)
    file = conversation.path / "team.json"
    watch, turns = Stopwatch(), list[tuple[str, str]]()
    task = (
        TextMessage(source=conversation.opening[0], content=conversation.opening[1]) if conversation.opening else None
    )
    if conversation.resumes and file.exists():
        state = json.loads(file.read_text(encoding="utf-8"))
        await team.load_state(state)
        turns, task = spoken(state, conversation), None
    kept = len(turns)
    while len(turns) < conversation.turns:
        result = await team.run(task=task or ("Begin." if not turns else None))
        turns.append((result.messages[-1].source, result.messages[-1].content))
        task = None
        file.write_text(json.dumps(await team.save_state()), encoding="utf-8")
        watch.spoken()
    watch.report(turns, kept)
    await client.close()


def agent(person: Person, conversation: Conversation, client: Any) -> Any:
    """Return an agent who plays the person."""
    remembered = "\n".join(f"- {memory}" for memory in person.memories)
    prompt = (
        f"You are {person.name}. {person.persona}\nWhat you want: {person.goal}\nYou remember:\n{remembered}\n\n"
        f"{conversation.situation}\nSay what {person.name} says next, in one or two sentences."
    )
    return AssistantAgent(person.name.replace(" ", "_"), client, description=person.summary, system_message=prompt)


def spoken(state: Mapping[str, Any], conversation: Conversation) -> list[tuple[str, str]]:
    """Return the utterances of a saved team, without the line that began it."""
    managers = [state["agent_states"][name] for name in state["agent_states"] if name.endswith("Manager")]
    thread: Sequence[Mapping[str, Any]] = managers[0]["message_thread"]
    return [(message["source"], message["content"]) for message in thread[1:]]


if __name__ == "__main__":
    asyncio.run(hold(given()))
