"""Between LangChain's messages and the lines of a conversation."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, convert_to_messages

from tertulia.langgraph.errors import ParentStateError
from tertulia.langgraph.states import Utterance

#: The key of a message's `response_metadata` under which it says how it came about.
KEY = "tertulia"

#: The speaker of a user's message without a name.
USER = "User"

Line = tuple[str, str]


def lines_of(state: Mapping[str, Any], names: Sequence[str]) -> list[Line]:
    """Return the lines of the messages in a state as pairs of speaker and text, without instructions and tools.

    Args:
        names: The people; a model's message without a name is theirs if there is only one.

    Raises:
        ParentStateError: The state has no messages, or the speaker of one is unknown.
    """
    lines = []
    for message in messages_of(state):
        text = " ".join(str(message.text).split())
        if isinstance(message, AIMessage | HumanMessage) and text:
            lines.append((_speaker(message, names), text))
    return lines


def messages_of(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the messages in a state; `ParentStateError` if it has none."""
    if "messages" not in state:
        raise ParentStateError(
            "the state of the parent graph has no field `messages`, which holds the conversation: derive it from "
            "langgraph.graph.MessagesState, or declare messages: Annotated[list[AnyMessage], add_messages]; where it "
            "has the field, give it, if only as []"
        )
    return list(convert_to_messages(state["messages"] or []))  # type: ignore[arg-type]


def _speaker(message: BaseMessage, names: Sequence[str]) -> str:
    if message.name:
        return str(message.name)
    if isinstance(message, HumanMessage):
        return USER
    if len(names) == 1:
        return names[0]
    raise ParentStateError(
        f"a message of a model has no name ({str(message.text)!r:.60}), so nobody can tell who said it; give it one, "
        f"such as AIMessage(…, name={names[0]!r})"
    )


def text_field(state: Mapping[str, Any], field: str) -> str | None:
    """Return an optional text of a parent's state; `ParentStateError` if it is something else."""
    value = state.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ParentStateError(f"the field `{field}` of the parent's state is {value!r:.60}, and takes a text")
    return value


def message_of(utterance: Utterance) -> AIMessage:
    """Return an utterance as a message.

    Its id follows from its words and its place, so that a graph that runs again has the same.
    """
    key = f"{utterance['turn']}\n{utterance['speaker']}\n{utterance['text']}"
    return AIMessage(
        content=utterance["text"],
        name=utterance["speaker"],
        id=f"tertulia-{utterance['turn']}-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}",
        response_metadata={KEY: {name: utterance[name] for name in ("run", "turn", "removal_factor", "removed_share")}},
    )


def last_place(state: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return run and turn of the last message that one of these graphs has made; `None` if there is none."""
    for message in reversed(messages_of(state)):
        made = message.response_metadata.get(KEY) if isinstance(message, AIMessage) else None
        if isinstance(made, dict) and isinstance(made.get("run"), str) and isinstance(made.get("turn"), int):
            return made["run"], made["turn"]
    return None
