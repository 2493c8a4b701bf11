#!/usr/bin/env bash
# LangGraph 1.2.22 with CPython's asyncio: an event loop that is made in a node keeps the whole graph of that node, with
# its state and its checkpointer, for as long as the loop lives.
#
# Guess: a loop made once and kept for later (in a thread of its own, as for a client that must not block) knows nothing
# of who made it; the graph goes when its last name goes. Seen: a loop reads its own waking pipe by a handle, the handle
# holds the context in which the loop was made, and there LangGraph has put the configuration of the run, which holds
# the loop of its steps, its nodes and its channels. Made in an empty context, the loop keeps nothing. Output seen, as
# is checked below:
#   a loop made in a node: the graph is kept, the state is kept
#   made in an empty context: the graph is gone, the state is gone
#   made in a node, and closed: the graph is gone, the state is gone
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.22
cat > "$folder/loops.py" << 'PYTHON'
import asyncio
import contextvars
import gc
import platform
import weakref
from importlib.metadata import version
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class Document:
    pass


class State(TypedDict):
    document: Document


def left(make):
    """Return whether graph and state are alive after all of their names are gone, and the loop."""
    made = []

    def node(state):
        made.append(make())
        return {}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    graph, document = builder.compile(), Document()
    graph.invoke({"document": document})
    of_graph, of_state, loop = weakref.ref(graph), weakref.ref(document), made.pop()
    del builder, graph, document, node
    gc.collect()
    return [of_graph() is not None, of_state() is not None], loop


def shown(kept):
    words = ["kept" if each else "gone" for each in kept]
    return f"the graph is {words[0]}, the state is {words[1]}"


def closed():
    loop = asyncio.new_event_loop()
    loop.close()
    return loop


print(f"langgraph {version('langgraph')}, Python {platform.python_version()}")
in_node, loop = left(asyncio.new_event_loop)
print("a loop made in a node:", shown(in_node))
in_empty, other = left(lambda: contextvars.Context().run(asyncio.new_event_loop))
print("made in an empty context:", shown(in_empty))
in_closed, _ = left(closed)
print("made in a node, and closed:", shown(in_closed))
loop.close()
other.close()
assert all(in_node) and not any(in_empty) and not any(in_closed), "this has changed"
PYTHON
"$folder/venv/bin/python" "$folder/loops.py"
