"""Between LangChain's messages and the lines of a conversation."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    convert_to_messages,
)
from pydantic import ValidationError

from tertulia.langgraph.errors import ParentStateError
from tertulia.langgraph.states import Utterance
from tertulia.state.names import composed
from tertulia.state.text import first_line
from tertulia.state.wrong_values import wrong_value

#: The key of a message's `response_metadata` under which it says how it came about.
KEY = "tertulia"

#: The speaker of a user's message without a name.
USER = "User"


class Line(NamedTuple):
    """A line of a conversation.

    Attributes:
        speaker: The name of its speaker.
        text: Its words, with single spaces.
        turn: Its turn in the run in which it was said, if one of these graphs has said it.
    """

    speaker: str
    text: str
    turn: int | None = None


def lines_of(state: Mapping[str, Any], names: Sequence[str]) -> list[Line]:
    """Return the lines of the messages in a state, without instructions, calls of tools, and their results.

    Args:
        names: The people; a model's message without a name is theirs if there is only one.

    Raises:
        ParentStateError: The state has no messages, or the speaker of one is unknown.
    """
    lines = []
    for message in messages_of(state):
        if isinstance(message, ChatMessage):
            raise ParentStateError(
                f"a message has the role {message.role!r:.60}; give what a person says as a message of a user, such as "
                f"HumanMessage(…, name={message.role!r:.60})"
            )
        if not isinstance(message, AIMessage | HumanMessage):
            continue
        content = message.content
        text = " ".join((content if isinstance(content, str) else str(message.text)).split())
        if text:
            place = _place(message)
            lines.append(Line(_speaker(message, names), text, None if place is None else place[1]))
    return lines


def messages_of(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the messages in a state; `ParentStateError` if it has none."""
    if "messages" not in state:
        raise ParentStateError(
            "the state of the parent graph has no field `messages`, which holds the conversation: derive it from "
            "langgraph.graph.MessagesState, or declare messages: Annotated[list[AnyMessage], add_messages]; where it "
            "has the field, give it, if only as []"
        )
    given = state["messages"] or []
    if isinstance(given, list) and all(isinstance(message, BaseMessage) for message in given):
        return given
    try:
        if not isinstance(given, list | tuple):
            raise TypeError(f"it is {given!r:.60}")
        return list(convert_to_messages(given))  # type: ignore[arg-type]
    except (ValueError, TypeError, NotImplementedError, KeyError) as error:
        why = wrong_value(error.errors()[0]) if isinstance(error, ValidationError) else first_line(error)
        raise ParentStateError(f"the field `messages` holds no messages: {why[:200]}") from error


def _speaker(message: BaseMessage, names: Sequence[str]) -> str:
    if name := " ".join((message.name or "").split()):
        return composed(name)
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
    return composed(value)


def message_of(utterance: Utterance, task: str) -> AIMessage:
    """Return an utterance as a message.

    Its id follows from its words, its turn, and the task of the parent in which it was said, or, without a parent, its
    run: so it is no other message's, and the same when LangGraph runs the task again.

    Args:
        task: The name of the parent's task; "": there is no parent.
    """
    key = "\n".join((task or utterance["run"], str(utterance["turn"]), utterance["speaker"], utterance["text"]))
    return AIMessage(
        content=utterance["text"],
        name=utterance["speaker"],
        id=f"tertulia-{utterance['turn']}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}",
        response_metadata={KEY: {name: utterance[name] for name in ("run", "turn", "removal_factor", "removed_share")}},
    )


def places_of(state: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield run and turn of the messages that one of these graphs has made, the last first."""
    yield from (place for place in map(_place, reversed(messages_of(state))) if place is not None)


def _place(message: BaseMessage) -> tuple[str, int] | None:
    made = message.response_metadata.get(KEY) if isinstance(message, AIMessage) else None
    if isinstance(made, dict) and isinstance(made.get("run"), str) and isinstance(made.get("turn"), int):
        return made["run"], made["turn"]
    return None
