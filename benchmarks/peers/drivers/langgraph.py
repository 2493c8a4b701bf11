"""Plain LangGraph: a program such as its users write, with a node for each person, a `SqliteSaver` and OpenAI's client.

In a meeting the model names the next speaker, in a dialogue the two take turns. A checkpoint follows every node; a
thread that was killed goes on from its last, as LangGraph's documentation of persistence says.
"""

import operator
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from openai import OpenAI

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given


class State(TypedDict):
    """The lines, each with its speaker, and who speaks next."""

    lines: Annotated[list[tuple[str, str]], operator.add]
    speaker: str


def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    client = OpenAI(base_url=conversation.address, api_key="none")
    ask = partial(answer, client, conversation.model)
    thread: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 10 * conversation.turns}
    opening = [conversation.opening] if conversation.opening else []
    with SqliteSaver.from_conn_string(str(conversation.path / "checkpoints.db")) as saver:
        graph = built(conversation, ask).compile(saver)
        resumes = conversation.resumes and bool(graph.get_state(thread).values)
        kept = len(graph.get_state(thread).values["lines"]) - len(opening) if resumes else 0
        watch = Stopwatch()
        start = None if resumes else State(lines=list(opening), speaker="")
        for step in graph.stream(start, thread, stream_mode="updates"):
            if any("lines" in update for update in step.values()):
                watch.spoken()
        watch.report(graph.get_state(thread).values["lines"][len(opening) :], kept)


def built(conversation: Conversation, ask: Callable[[str, str], str]) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph: choose a speaker, let that person speak, and again, until all turns are spoken."""
    names = [person.name for person in conversation.people]
    last = conversation.turns + bool(conversation.opening)

    def choose(state: State) -> dict[str, str]:
        if not conversation.is_meeting:
            return {"speaker": names[len(state["lines"]) % 2]}
        people = "\n".join(f"{person.name}: {person.summary}" for person in conversation.people)
        question = f"Read the conversation, then select the next role from {names} to play. Only return the role."
        answer = ask(f"{conversation.situation}\n{people}", f"{talk(state)}\n\n{question}")
        return {"speaker": next((name for name in names if name in answer), names[0])}

    def speak(person: Person, state: State) -> dict[str, list[tuple[str, str]]]:
        return {"lines": [(person.name, ask(role(person, conversation), talk(state)))]}

    graph = StateGraph(State)
    graph.add_node("choose", choose)
    graph.add_edge(START, "choose")
    graph.add_conditional_edges("choose", lambda state: state["speaker"], names)
    for person in conversation.people:
        graph.add_node(person.name, partial(speak, person))
        graph.add_conditional_edges(person.name, lambda s: END if len(s["lines"]) >= last else "choose")
    return graph


def role(person: Person, conversation: Conversation) -> str:
    """Return the system message of a person."""
    remembered = "\n".join(f"- {memory}" for memory in person.memories)
    return (
        f"You are {person.name}. {person.persona}\nWhat you want: {person.goal}\nYou remember:\n{remembered}\n\n"
        f"{conversation.situation}\nSay what {person.name} says next, in one or two sentences."
    )


def talk(state: State) -> str:
    """Return what was said so far."""
    return "\n".join(f"{name}: {text}" for name, text in state["lines"]) or "Begin."


def answer(client: OpenAI, model: str, system: str, user: str) -> str:
    """Return what the model answers."""
    messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return client.chat.completions.create(model=model, messages=messages).choices[0].message.content or ""


if __name__ == "__main__":
    hold(given())
