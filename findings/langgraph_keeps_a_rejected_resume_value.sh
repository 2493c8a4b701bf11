#!/usr/bin/env bash
# LangGraph 1.2.22: a node that raises over the value with which it was resumed gets that value again at each later resume.
#
# Guess: `Command(resume=...)` after the error gives the node the new value. Seen: the first value is kept with the thread
# (it is a pending write of the task), so a node that validates by raising can never be resumed with a better one. It has
# to call `interrupt` again instead, in a loop: then each resume answers one call. Output seen, as is checked below:
#   raising: 'old' refused, then 36 -> 'old' refused, then 36 -> 'old' refused
#   asking again: 'old' asks again, then 36 -> 36
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.22 langgraph-checkpoint==4.3.2 langchain-core==1.7.2
cat > "$folder/resume.py" << 'PYTHON'
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict, total=False):
    age: int


def raising(state: State) -> State:
    given = interrupt("age")
    if not given.isdecimal():
        raise ValueError(f"{given} refused")
    return {"age": int(given)}


def asking_again(state: State) -> State:
    while not (given := interrupt("age")).isdecimal():
        pass
    return {"age": int(given)}


def answers(node, values):
    builder = StateGraph(State)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    graph, config = builder.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "one"}}
    graph.invoke({}, config)
    for value in values:
        try:
            state = graph.invoke(Command(resume=value), config)
            yield "asks" if "__interrupt__" in state else state["age"]
        except ValueError as error:
            yield str(error)


print("langgraph", version("langgraph"))
seen = list(answers(raising, ["old", "36", "36"])), list(answers(asking_again, ["old", "36"]))
print(*seen, sep="\n")
assert seen == (["old refused"] * 3, ["asks", 36]), "this has changed"
PYTHON
"$folder/venv/bin/python" "$folder/resume.py"
