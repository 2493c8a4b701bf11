"""CAMEL: two `ChatAgent`s who answer each other, each saved by `save_memory` after every turn.

Its `RolePlaying` gives an assistant a task that a user instructs it to solve, and so is no dialogue between two people.
Texts are counted by their words, for its counter of tokens would be fetched from a network.
"""

from typing import Any

from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.types import ModelPlatformType
from camel.utils import BaseTokenCounter

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given


class Words(BaseTokenCounter):  # type: ignore[misc]  # it has no types in this environment
    """Counts words."""

    def count_tokens_from_messages(self, messages: list[Any]) -> int:
        """Return how many words messages have."""
        return sum(len(str(message.get("content")).split()) for message in messages)

    def encode(self, text: str) -> list[int]:
        """Return a number for each word."""
        return [*range(len(text.split()))]

    def decode(self, token_ids: list[int]) -> str:
        """Return as many words."""
        return " ".join(map(str, token_ids))


def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    model = ModelFactory.create(
        model_platform=ModelPlatformType.OPENAI_COMPATIBLE_MODEL,
        model_type=conversation.model,
        url=conversation.address,
        api_key="none",
        token_counter=Words(),
    )
    agents = [ChatAgent(role(person, conversation), model=model) for person in conversation.people]
    files = [conversation.path / f"{person.name.replace(' ', '_')}.json" for person in conversation.people]
    if conversation.resumes:
        for agent, file in zip(agents, files, strict=True):
            if file.exists():
                agent.load_memory_from_path(str(file))
    turns = spoken(agents, conversation)
    kept, watch = len(turns), Stopwatch()
    while len(turns) < conversation.turns:
        number = len(turns) % 2
        line = agents[number].step(turns[-1][1] if turns else "Begin.").msg.content
        turns.append((conversation.people[number].name, line))
        agents[number].save_memory(str(files[number]))
        watch.spoken()
    watch.report(turns, kept)


def role(person: Person, conversation: Conversation) -> str:
    """Return the system message of a person."""
    remembered = "\n".join(f"- {memory}" for memory in person.memories)
    return (
        f"You are {person.name}. {person.persona}\nWhat you want: {person.goal}\nYou remember:\n{remembered}\n\n"
        f"{conversation.situation}\nSay what {person.name} says next, in one or two sentences."
    )


def spoken(agents: list[Any], conversation: Conversation) -> list[tuple[str, str]]:
    """Return the utterances that the agents remember to have made, in turn."""
    lines = [[m["content"] for m in agent.memory.get_context()[0] if m["role"] == "assistant"] for agent in agents]
    in_turn = [(number % 2, number // 2) for number in range(sum(map(len, lines)))]
    return [(conversation.people[who].name, lines[who][which]) for who, which in in_turn]


if __name__ == "__main__":
    hold(given())
