"""Rendering: units to messages to tokens, with the exact token span of every unit.

Each unit is tokenised by itself, so that no token straddles two units and nothing in a unit's text is read as chat
markup, or as a picture. Line breaks between units and the markup around messages belong to no unit; between the pieces
of an item (`prompts/cut.py`) there are none. The tokens of a unit with a picture are the picture's if the tokenizer
has some, else those of its text.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from tertulia.prompts.cut import by_item, joined
from tertulia.state.language_model import RenderedPrompt, Role, SeeingTokenizer, Tokenizer
from tertulia.state.records import Prompt, Reply, Unit


def render(prompt: Prompt, tokenizer: Tokenizer, reply_prefix: str = "", shared_units: int = 0) -> RenderedPrompt:
    """Return the prompt as fed to a model.

    Args:
        prompt: The units in order; the layout says how they become messages.
        reply_prefix: A beginning of the reply, put at the end of the prompt.
        shared_units: The number of units at the beginning that other prompts share.
    """
    messages = as_messages(prompt)
    markup = tokenizer.chat_markup(tuple(role for role, _ in messages))
    line_break = tokenizer.encode("\n")
    tokens: list[int] = []
    spans: dict[str, tuple[int, int]] = {}
    pictures: list[tuple[int, str]] = []
    for before, (_, units) in zip(markup, messages, strict=False):
        tokens += before
        for index, (_, pieces) in enumerate(by_item(units)):
            if index:
                tokens += line_break
            for unit in pieces:
                start = len(tokens)
                if unit.picture is not None and isinstance(tokenizer, SeeingTokenizer):
                    pictures.append((start, unit.picture))
                    tokens += tokenizer.encode_picture(unit.picture)
                else:
                    tokens += tokenizer.encode(unit.text)
                spans[unit.id] = (start, len(tokens))
    tokens += markup[-1]
    tokens += tokenizer.encode(reply_prefix)
    blocks = {unit.id: unit.block for unit in prompt.units}
    shared_prefix = spans[prompt.units[shared_units - 1].id][1] if shared_units else 0
    return RenderedPrompt(
        input_ids=tuple(tokens),
        token_spans=spans,
        unit_blocks=blocks,
        reply_prefix=reply_prefix,
        shared_prefix=shared_prefix,
        source=prompt,
        pictures=tuple(pictures),
    )


def retokenized(tokenizer: Tokenizer, reply: Reply, reply_prefix: str = "") -> Reply:
    """Return a reply of another model in the reader's tokens, without the prefix that ends the reader's prompt."""
    written = reply.text.removeprefix(reply_prefix)
    first = next((value for value in reply.fields.values() if isinstance(value, str)), None)
    quoted = written if first is None else json.dumps(first, ensure_ascii=False)[1:-1]
    before, found, after = written.partition(quoted)
    parts = [tokenizer.encode(part) for part in (before, found, after)]
    first_token = len(parts[0])
    return Reply(
        text=reply.text,
        tokens=tuple(chain.from_iterable(parts)),
        text_tokens=(first_token, first_token + len(parts[1])),
        fields=reply.fields,
    )


def tokens_of_texts(tokenizer: Tokenizer, tokens: Sequence[int], texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return which tokens of a reply hold each of these text fields, which it has in this order; all, if it has not.

    A token that holds the end of a text and more behind it counts as the text's.
    """
    ends = [len(tokenizer.decode(tokens[: place + 1])) for place in range(len(tokens))]
    written, at, spans = tokenizer.decode(tokens), 0, []
    for text in texts:
        quoted = json.dumps(text, ensure_ascii=False)[1:-1]
        found = written.find(f'"{quoted}"', at)
        if found < 0 or not quoted:
            return [(0, len(tokens))]
        first, at = found + 1, found + 1 + len(quoted)
        spans.append((bisect_right(ends, first), bisect_left(ends, at) + 1))
    return spans


def text_of(units: Iterable[Unit]) -> str:
    """Return units as text, as a message has them."""
    return "\n".join(unit.text for unit in joined(units))


def as_messages(prompt: Prompt) -> list[tuple[Role, list[Unit]]]:
    """Return the units as messages.

    `single_message` is a single message of the user. In `chat_turns` the speaker's lines are the assistant's and all
    other lines the user's; units without a speaker are the system's before the first line, and the user's behind it.
    """
    if prompt.layout != "chat_turns":
        return [("user", list(prompt.units))]
    roles: list[tuple[Role, Unit]] = []
    spoken = False
    for unit in prompt.units:
        spoken = spoken or unit.speaker is not None
        is_speakers = unit.speaker is not None and unit.speaker == prompt.speaker
        roles.append(("assistant" if is_speakers else "user" if spoken else "system", unit))
    return [(role, [unit for _, unit in group]) for role, group in groupby(roles, key=lambda pair: pair[0])]
