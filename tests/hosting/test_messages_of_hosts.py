"""What a host does to its messages: it removes, trims, summarises and edits them, and puts others between."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from support.hosted import HELLO, PEOPLE, graph_of, speaking, thread

import tertulia as tt
import tertulia.langgraph
from tertulia.langgraph import ParentStateError
from tertulia.langgraph.matching import Spoken, matched
from tertulia.langgraph.messages import Line


def place_of(message: Any) -> tuple[str, int]:
    made = message.response_metadata["tertulia"]
    return made["run"], made["turn"]


def read_by(folder: Path, message: Any) -> str:
    """The full prompt of a line."""
    run, turn = place_of(message)
    return " ".join(unit.text for unit in tt.open_store(folder / "talk.db").run(run).turn(turn).units)


def remove(graph: Any, *messages: Any) -> None:
    graph.update_state(thread(), {"messages": [RemoveMessage(id=message.id) for message in messages]})


def test_removed_lines_are_not_heard_and_the_run_keeps_them(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for word in ("zebra", "walrus", "kingfisher"):
        messages = graph.invoke({"messages": [HumanMessage(f"Look, a {word}!")]}, thread())["messages"]
    remove(graph, messages[2])
    said = graph.invoke({"messages": []}, thread())["messages"]
    heard = read_by(tmp_path, said[-1])
    assert ("zebra" in heard, "walrus" in heard, "kingfisher" in heard) == (True, False, True)
    run = tt.open_store(tmp_path / "talk.db").run(place_of(said[-1])[0])
    assert [turn.text for turn in run.turns] == [*(message.content for message in messages), said[-1].content]
    assert {place_of(message)[0] for message in said if isinstance(message, AIMessage)} == {run.id}


@pytest.mark.parametrize("people", [2, 3])
def test_a_trimmed_thread_stays_one_run_and_loses_no_line(tmp_path: Path, people: int) -> None:
    def trim(state: MessagesState) -> dict[str, Any]:
        kept = trim_messages(state["messages"], max_tokens=4, token_counter=len, strategy="last")
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    speak = tertulia.langgraph.utterance(
        [*PEOPLE, {"name": "Cy"}][:people], model="rehearsal", removal_factor=0.5, store=str(tmp_path / "talk.db")
    )
    builder = StateGraph(MessagesState)
    builder.add_node("trim", trim)
    builder.add_node("speak", speak)
    builder.add_edge(START, "trim")
    builder.add_edge("trim", "speak")
    builder.add_edge("speak", END)
    graph, state, spoken = builder.compile(), {"messages": []}, []
    for number in range(8):
        given = [*state["messages"], HumanMessage(f"Line {number} of the zebra{number}.")]
        state = graph.invoke({"messages": given})
        spoken += [given[-1].content, state["messages"][-1].content]
    assert len(state["messages"]) == 5
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert [turn.text for turn in run.turns] == spoken
    heard = read_by(tmp_path, state["messages"][-1])
    assert [number for number in range(8) if f"zebra{number}" in heard] == [6, 7]


@pytest.mark.parametrize("node", ["utterance", "group_chat"])
def test_trimmed_lines_are_in_no_prompt_of_a_meeting_in_any_form(tmp_path: Path, node: str) -> None:
    options: Any = {"model": "rehearsal", "removal_factor": 0.5, "store": str(tmp_path / "talk.db")}
    graph = graph_of(getattr(tertulia.langgraph, node)(["Ana", "Bo"], **options), InMemorySaver())
    for number in range(6):
        messages = graph.invoke({"messages": [HumanMessage(f"Ana, Bo: a zebra{number}?")]}, thread())["messages"]
    gone, kept = messages[:-2], messages[-2:]
    remove(graph, *gone)
    while len(said := graph.invoke({"messages": []}, thread())["messages"]) < 3:
        pass
    heard = read_by(tmp_path, said[-1])
    run, turn = place_of(said[-1])
    turns = tt.open_store(tmp_path / "talk.db").run(run).turns[: turn - 1]
    first = max(at for at, line in enumerate(turns) if line.text == kept[0].content)
    assert heard.count("silence)") == sum(later.speaker is None for later in turns[first:])
    assert not [message.content for message in gone if f"{message.name or 'User'}: {message.content}" in heard]
    assert kept[-1].content in heard


def test_a_summary_and_an_edited_line_begin_a_run_that_keeps_how_lines_came_about(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for _ in range(4):
        messages = graph.invoke(HELLO, thread())["messages"]
    first, *kept = messages
    summary = HumanMessage("So far they spoke of the zebra.", name="Narrator", id=first.id)  # takes its place
    graph.update_state(thread(), {"messages": [summary]})
    said = graph.invoke(HELLO, thread())["messages"]
    run = tt.open_store(tmp_path / "talk.db").run(place_of(said[-1])[0])
    assert [(turn.speaker, turn.text) for turn in run.turns] == [(m.name, m.content) for m in said]
    assert "zebra" in read_by(tmp_path, said[-1])
    scored = [run.turn(number).details.record.scores is not None for number in range(1, 5)]
    assert scored == [False, True, True, True]
    before = tt.open_store(tmp_path / "talk.db").run(place_of(kept[0])[0])
    assert run.turn(3).details.record.scores == before.turn(3).details.record.scores


def test_the_last_line_is_removed_to_say_another(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    for _ in range(3):
        messages = graph.invoke(HELLO, thread())["messages"]
    remove(graph, messages[-1])
    again = graph.invoke({"messages": [], "speaker": "Bo"}, thread())["messages"]
    assert [message.name for message in again] == ["Ana", "Bo", "Bo"]
    runs = tt.open_store(tmp_path / "talk.db").runs()
    assert sorted(len(run.turns) for run in runs) == [3, 3]
    assert len([run for run in runs if run.parent]) == 1


@pytest.mark.parametrize(("name", "speaker"), [(" ", "User"), (" Dora  Day ", "Dora Day")])
def test_a_blank_name_is_none_and_spaces_around_a_name_are_none_of_it(tmp_path: Path, name: str, speaker: str) -> None:
    graph = speaking(tmp_path)
    said = graph.invoke({"messages": [HumanMessage("A zebra!", name=name)]}, thread())["messages"]
    assert tt.open_store(tmp_path / "talk.db").run(place_of(said[-1])[0]).turns[0].speaker == speaker


def test_a_speaker_whose_lines_are_gone_is_still_there(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    first = graph.invoke({"messages": [HumanMessage("A zebra!", name="Dora")]}, thread())["messages"]
    remove(graph, first[0])
    said = graph.invoke({"messages": []}, thread())["messages"]
    assert place_of(said[0])[0] == place_of(said[1])[0]
    assert "A zebra!" not in read_by(tmp_path, said[-1])


def test_tools_and_pictures_between_are_no_lines(tmp_path: Path) -> None:
    graph = speaking(tmp_path)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    between: list[Any] = [
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Look at this zebra."}, picture]),
        AIMessage("", name="Ana", tool_calls=[{"name": "look", "args": {}, "id": "1"}]),
        ToolMessage("a walrus", tool_call_id="1"),
        HumanMessage([picture]),
    ]
    said = graph.invoke({"messages": between}, thread())["messages"]
    graph.invoke({"messages": between[2:4]}, thread())
    (run,) = tt.open_store(tmp_path / "talk.db").runs()
    assert [turn.speaker for turn in run.turns] == ["User", "Ana", "Bo"]
    assert run.turns[0].text == "Look at this zebra."
    assert len(said) == 6


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([ChatMessage("Hm.", role="critic")], r"^a message has the role 'critic'; give .*name='critic'\)"),
        ([{"role": "critic", "content": "Hm."}], r"^the field `messages` holds no messages: Unexpected message type"),
        ("Hello", r"^the field `messages` holds no messages: it is 'Hello'"),
        (7, r"^the field `messages` holds no messages: it is 7"),
    ],
)  # fmt: skip
def test_messages_that_nobody_can_have_said_are_told(tmp_path: Path, messages: Any, says: str) -> None:
    class State(MessagesState):
        pass

    State.__annotations__["messages"] = Any
    with pytest.raises(ParentStateError, match=says):
        speaking(tmp_path, state=State).invoke({"messages": messages}, thread())


def test_an_unknown_place_is_a_new_conversation(tmp_path: Path) -> None:
    made = {"tertulia": {"run": "none", "turn": 7}}
    line = AIMessage("The boat is gone.", name="Ana", response_metadata=made)
    said = speaking(tmp_path).invoke({"messages": [line]}, thread())["messages"]
    assert [message.name for message in said] == ["Ana", "Bo"]
    assert place_of(said[-1])[1] == 2


def test_two_graphs_of_other_settings_on_one_thread_have_a_run_each(tmp_path: Path) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()
    one, other = (speaking(tmp_path, saver, removal_factor=factor) for factor in (0.5, 1.0))
    one.invoke(HELLO, thread())
    other.invoke(HELLO, thread())
    said = one.invoke(HELLO, thread())["messages"]
    assert [message.name for message in said] == ["Ana", "Bo", "Ana"]
    assert len({place_of(message)[0] for message in said}) == 3


def test_a_function_of_the_users_calls_it_and_has_all_messages(tmp_path: Path) -> None:
    speak = tertulia.langgraph.utterance(PEOPLE, model="rehearsal", store=str(tmp_path / "talk.db"))

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": speak.invoke(speak.invoke({"messages": state["messages"]}))["messages"]}

    said = graph_of(node).invoke({"messages": [("user", "Hello?")]})["messages"]
    assert [message.name for message in said] == [None, "Ana", "Bo"]


# --- matching -------------------------------------------------------------------------------------------------------


SPOKEN = [Spoken(("Ana", "Bo")[place % 2], text, place + 1) for place, text in enumerate("abcabcabc")]


@given(st.sets(st.integers(0, 8), min_size=1), st.booleans())
def test_lines_that_stayed_are_found_in_their_places(kept: set[int], are_placed: bool) -> None:
    lines = [Line(*SPOKEN[place][:2], SPOKEN[place].turn if are_placed else None) for place in sorted(kept)]
    found = matched(SPOKEN, lines)
    assert [SPOKEN[place][:2] for place in found] == [line[:2] for line in lines]
    assert found == sorted(set(found))
    if are_placed:
        assert found == sorted(kept)


@given(st.sets(st.integers(0, 8), min_size=2), st.integers(0, 8))
def test_a_strange_line_ends_what_is_found(kept: set[int], at: int) -> None:
    lines = [Line(*SPOKEN[place][:2], SPOKEN[place].turn) for place in sorted(kept)]
    at = min(at, len(lines))
    found = matched(SPOKEN, [*lines[:at], Line("Ana", "something else"), *lines[at:]])
    assert found == sorted(kept)[: len(found)]
    assert len(found) == at


def test_graphs_of_other_kinds_in_one_thread_have_a_run_each(tmp_path: Path) -> None:
    def options(seed: int) -> Any:
        return {"model": "rehearsal", "removal_factor": 0.5, "seed": seed, "store": str(tmp_path / "talk.db")}

    owners = [{"name": name, "album": ["a red boat", "a grey cat"]} for name in ("Ana", "Bo")]
    builder = StateGraph(MessagesState)
    builder.add_node("speak", tertulia.langgraph.utterance(PEOPLE, **options(1)))
    builder.add_node("show", tertulia.langgraph.exchange(owners, **options(1)))
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "show")
    graph, state = builder.compile(), {"messages": []}
    for _ in range(3):
        state = graph.invoke({"messages": state["messages"]})
    lengths = sorted(len(run.turns) for run in tt.open_store(tmp_path / "talk.db").runs())
    assert lengths == [3, 7]  # the exchanges; the lines, and the exchanges between them
