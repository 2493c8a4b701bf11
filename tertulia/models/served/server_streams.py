"""Answers that come as server-sent events, read into the object that an answer in one piece would be."""

import json
from collections.abc import Iterator
from typing import Any

#: The first bytes of a line of events.
_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")

_TEXTS = ("content", "reasoning_content", "reasoning")


def is_stream(body: bytes) -> bool:
    """Return whether a body consists of events, whatever was asked and whatever its header says."""
    return body.lstrip().startswith(_BEGINNINGS)


def joined_stream(body: bytes) -> dict[str, Any]:
    """Return the answer of a stream of chat completions: the first choice with its texts joined, and the usage.

    An event that is an error is the answer.

    Raises:
        json.JSONDecodeError: The stream breaks off, or an event is no JSON.
    """
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    arguments: list[str] = []
    usage = finish = None
    ends = False
    for event in _events(body):
        if event is None:
            ends = True
            break
        if event.get("error"):
            return event
        usage = event.get("usage") or usage
        delta, reason = _delta(event)
        finish = reason or finish
        for name, pieces in texts.items():
            if isinstance(piece := delta.get(name), str):
                pieces.append(piece)
        arguments += _argument_pieces(delta.get("tool_calls"))
    if not ends and finish is None:
        raise json.JSONDecodeError("the stream breaks off", "", 0)
    message: dict[str, Any] = {name: "".join(pieces) for name, pieces in texts.items() if pieces}
    if arguments:
        message["tool_calls"] = [{"function": {"arguments": "".join(arguments)}}]
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _events(body: bytes) -> Iterator[dict[str, Any] | None]:
    """Yield the objects of events; `None` for the mark of the end."""
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == b"[DONE]":
            yield None
        elif data:
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _delta(event: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the addition of an event to the first choice, and why the answer ends; empty for other events."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    if first.get("index") not in (None, 0):
        return {}, None
    delta = first.get("delta") or first.get("message")
    return delta if isinstance(delta, dict) else {}, first.get("finish_reason")


def _argument_pieces(calls: object) -> Iterator[str]:
    """Yield the pieces of the first tool call's arguments in a delta."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) and not call.get("index") else None
        piece = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(piece, str):
            yield piece
