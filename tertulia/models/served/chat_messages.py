"""The messages of a request to a chat model of LangChain: texts, and the pictures of units if it is to see them."""

import operator
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tertulia.prompts.render import as_messages, text_of
from tertulia.prompts.shape import ask_for
from tertulia.state.language_model import GenerationRequest, PictureLookup
from tertulia.state.records import Prompt, Unit
from tertulia.state.text import whole_characters

#: The content of a message: a text, or blocks of LangChain in order.
Content = str | list[dict[str, Any]]


def messages_of(request: GenerationRequest, lookup: PictureLookup | None) -> list[tuple[str, Content]]:
    """Return the messages that ask for a reply; the last one is the user's, and gives the form of the reply.

    The prompt of the request has a source. A model without a `lookup` for the bytes of pictures is sent their captions.

    Raises:
        ModelError: A picture can't be read.
    """
    assert request.prompt.source is not None
    messages = _user_shows_pictures(request.prompt.source) if lookup else as_messages(request.prompt.source)
    made: list[tuple[str, Content]] = [(role, _content(units, lookup)) for role, units in messages]
    last: Content = made.pop()[1] if made[-1][0] == "user" else ""
    asked = ask_for(request.fields, request.language)
    if isinstance(last, str):
        made.append(("user", f"{last}\n{asked}" if last else asked))
    else:
        made.append(("user", [*last, {"type": "text", "text": asked}]))
    return made


def has_repeated_roles(messages: Sequence[tuple[str, Content]]) -> bool:
    """Return whether a role speaks twice on end, or the assistant first."""
    roles = [role for role, _ in messages if role != "system"]
    return roles[:1] == ["assistant"] or any(map(operator.eq, roles, roles[1:]))


def characters_of(messages: Sequence[tuple[str, Content]]) -> int:
    """Return how many characters the texts of messages have."""
    return sum(len(block.get("text", "")) for _, content in messages for block in _blocks(content))


def shows_pictures(messages: Sequence[tuple[str, Content]]) -> bool:
    """Return whether there is a picture in messages."""
    return any(block["type"] == "image" for _, content in messages if isinstance(content, list) for block in content)


def as_taken(
    messages: Sequence[tuple[str, Content]], without_system: bool, alternating: bool
) -> Sequence[tuple[str, Content]]:
    """Return messages as servers take them that know no system role, or only the user's and the model's turns."""
    if without_system:
        messages = [("user" if role == "system" else role, content) for role, content in messages]
    if not (without_system or alternating):
        return messages
    made: list[tuple[str, Content]] = []
    for role, content in messages:
        if made and made[-1][0] == role:
            made[-1] = (role, _joined(made[-1][1], content))
        elif role == "assistant" and all(former == "system" for former, _ in made):
            made += [("user", "…"), (role, content)]
        else:
            made.append((role, content))
    return made


def _joined(first: Content, second: Content) -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n{second}"
    return [block for content in (first, second) for block in _blocks(content)]


def _blocks(content: Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _content(units: Sequence[Unit], lookup: PictureLookup | None) -> Content:
    """Return the texts of units by lines, and their pictures between them."""
    if lookup is None or all(unit.picture is None for unit in units):
        return whole_characters(text_of(units))
    from tertulia.models.picture_bytes import as_base64  # only here: Pillow is not loaded for texts

    blocks: list[dict[str, Any]] = []
    for picture, group in groupby(units, key=lambda unit: unit.picture):
        if picture is None:
            blocks.append({"type": "text", "text": whole_characters(text_of(group))})
            continue
        for _ in group:
            media_type, encoded = as_base64(lookup(picture))
            blocks.append({"type": "image", "base64": encoded, "mime_type": media_type})
    return blocks


def _user_shows_pictures(prompt: Prompt) -> list[tuple[str, list[Unit]]]:
    """Return the units as messages, in which pictures, and system texts after them, have the user's role.

    Servers take pictures in no other message, and many take the system's first or not at all.
    """
    roles: list[tuple[str, Unit]] = []
    shown = False
    for role, units in as_messages(prompt):
        for unit in units:
            shown = shown or unit.picture is not None
            is_users = unit.picture is not None or (shown and role == "system")
            roles.append(("user" if is_users else role, unit))
    return [(role, [unit for _, unit in group]) for role, group in groupby(roles, key=lambda pair: pair[0])]
