"""The thoughts in a served model's answer: text between marks, which is taken out of what the model says.

A server may put reasoning into a field of its own (`server_answers.thought_in`); without a parser for the family it
leaves it in the text, between the family's marks. A local model's marks are in its chat template; a server does not
tell them, so all that are known are looked for.

* Marks of a pair: `<think>` and its like, `[THINK]`, `◁think▷`, `<|START_THINKING|>`, `<|begin_of_thought|>`, a
  channel of Gemma's. They may be nested. If the opening mark is in the prompt, all before the closing one is thought.
* Channels of gpt-oss (harmony), with their marks or without: only the final one is said; without one, commentary is.
* The headings of Granite 3: `Here is my thought process:`, `Here is my response:`.
* Keys of the reply beside those asked for, such as `reasoning` (`is_thought_key`).

A thought that does not end is cut off: no line follows it.
Sources: the reasoning parsers of vLLM 0.10 and SGLang; llama.cpp, common/chat.cpp; the models' chat templates.
"""

import re
from dataclasses import dataclass

from tertulia.state.text import folded

#: Number of characters of a thought that are kept.
LONGEST_THOUGHT = 50_000

_TAGS = (
    r"think(?:ing|_fast|_faster)?|thoughts?|reason(?:ing)?|reflection|seed:(?:think|cot_budget_reflect)|mm:think|"
    r"analysis|scratchpad|inner[_ ]?(?:monologue|thoughts?)|antthinking|longcat_think|chain[_ ]of[_ ]thought|cot"
)
_LESS, _MORE = r"(?:<|&lt;)\s?", r"\s?(?:>|&gt;)"
_PAIR = re.compile(
    rf"(?P<opening>{_LESS}(?:{_TAGS})(?:\s[^<>&]{{0,80}})?{_MORE}|\[THINK(?:ING)?\]|◁think▷|<\|(?:{_TAGS})\|>|"
    r"<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|inner_prefix\|>|<\|channel>thought\b)"
    rf"|{_LESS}/\s?(?:{_TAGS}){_MORE}|\[/THINK(?:ING)?\]|◁/think▷|<\|/(?:{_TAGS})\|>|"
    r"<\|end_of_thought\|>|<\|END_THINKING\|>|<\|inner_suffix\|>|<channel\|>",
    re.IGNORECASE,
)
#: The name of a mark, which its opening and its closing one have in common.
_NAME = re.compile(rf"{_TAGS}|inner|channel", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w*)(?:(?!<\|message\|>)[^\n]){0,200}<\|message\|>", re.IGNORECASE)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>", re.IGNORECASE)
#: Channels without their marks, as a server writes them that drops special tokens. A word would have a space behind it.
_BARE_CHANNEL = re.compile(r"\s*(?:assistant)?analysis(?!\s[a-z]|[a-z'’,.;:])")
_BARE_FINAL = re.compile(r"assistant(?:final|commentary)(?:\s?to=\S{1,40}\s?(?:json)?)?")
_HEADING = re.compile(r"\s*here(?:'s| is) my thought process:", re.IGNORECASE)
_RESPONSE = re.compile(r"here(?:'s| is) my response:", re.IGNORECASE)

_KEYS = frozenset(
    key.replace("_", " ")
    for key in (
        *("thought", "thoughts", "think", "thinking", "thought_process", "reasoning", "reason", "reflection", "plan"),
        *("analysis", "rationale", "scratchpad", "cot", "chain_of_thought", "inner_monologue", "inner_thought"),
        *("inner_thoughts", "internal_thought"),
    )
)


@dataclass(frozen=True)
class Split:
    """An answer without its thoughts.

    Attributes:
        is_open: Whether the last thought does not end.
    """

    thought: str
    rest: str
    is_open: bool = False


def is_thought_key(key: str) -> bool:
    """Return whether a key of an answer names a thought, in any spelling."""
    return folded(key) in _KEYS


def split_thought(written: str) -> Split:
    """Return the thoughts of an answer and the rest of it; the time is linear in the answer."""
    first = _of_channels(written) or _under_headings(written) or Split("", written)
    second = _between_marks(first.rest)
    thought = "\n".join(filter(None, (first.thought, second.thought)))[:LONGEST_THOUGHT]
    return Split(thought, second.rest, first.is_open or second.is_open)


def has_marks(written: str) -> bool:
    """Return whether there is a mark of a thought in a text."""
    return _PAIR.search(written) is not None or _CHANNEL.search(written) is not None


def _of_channels(written: str) -> Split | None:
    """Return the answer by its channels; `None` if it has none."""
    opened = [*_CHANNEL.finditer(written)]
    if not opened:
        return _of_bare_channels(written)
    before = re.sub(r"<\|[^<>|]{1,20}\|>(?:assistant)?", "", written[: opened[0].start()]).strip()
    messages = [("before", before)] if before else []  # of a channel that the prompt opened
    for place, mark in enumerate(opened):
        limit = opened[place + 1].start() if place + 1 < len(opened) else len(written)
        end = _CHANNEL_END.search(written, mark.end(), limit)
        messages.append((mark[1].lower(), written[mark.end() : end.start() if end else limit].strip()))
    said = next((name for name in ("final", "commentary") if any(name == channel for channel, _ in messages)), "")
    rest = [text for channel, text in messages if channel == said]
    thoughts = [text for channel, text in messages if channel != said]
    return Split("\n".join(thoughts), rest[-1] if rest else "", is_open=not rest)


def _of_bare_channels(written: str) -> Split | None:
    analysis = _BARE_CHANNEL.match(written)
    if analysis is None:
        return None
    final = [*_BARE_FINAL.finditer(written)]
    if not final:
        return Split(written[analysis.end() :].strip(), "", is_open=True)
    return Split(written[analysis.end() : final[-1].start()].strip(), written[final[-1].end() :])


def _under_headings(written: str) -> Split | None:
    heading = _HEADING.match(written)
    if heading is None:
        return None
    response = _RESPONSE.search(written, heading.end())
    thought = written[heading.end() : response.start() if response else None].strip()
    return Split(thought, written[response.end() :] if response else "", is_open=response is None)


def _between_marks(written: str) -> Split:
    """Return the answer without the texts between marks.

    A closing mark without an opening one ends a thought that began in the prompt. If more marks of a name open than
    close, the last closing one ends the thought: a model may name its marks while it thinks.
    """
    marks = [*_PAIR.finditer(written)]
    names = [_name(mark) for mark in marks]
    thoughts: list[str] = []
    rest: list[str] = []
    end = place = 0
    while place < len(marks):
        rest.append(written[end : marks[place].start()])
        if marks[place]["opening"] is None:
            thoughts, rest, closing = [*thoughts, *rest], [], place
        else:
            found = _closing(marks, names, place)
            if found is None:
                return Split(_joined([*thoughts, written[marks[place].end() :]]), "".join(rest), is_open=True)
            closing = found
            thoughts.append(written[marks[place].end() : marks[closing].start()])
        end, place = marks[closing].end(), closing + 1
    return Split(_joined(thoughts), "".join([*rest, written[end:]]))


def _name(mark: re.Match[str]) -> str:
    found = _NAME.search(mark[0].replace("_of_", " "))
    return found[0].lower() if found else ""


def _closing(marks: list[re.Match[str]], names: list[str], opening: int) -> int | None:
    """Return the place of the mark that closes one, or of the last that could; `None` if none does."""
    depth, last = 0, None
    for place in range(opening, len(marks)):
        if names[place] != names[opening]:
            continue
        if marks[place]["opening"] is not None:
            depth += 1
            continue
        depth, last = depth - 1, place
        if depth == 0:
            break
    return last


def _joined(thoughts: list[str]) -> str:
    return "\n".join(filter(None, map(str.strip, thoughts)))
