"""A spoken line as a served model writes it: without marks of chat templates, labels, and other people's lines.

1. Marks of chat templates are never spoken: signs of their shapes (`<|…|>`, `<｜…｜>`, `[|…|]`), and a list of others.
   A message ends with some of them, and another begins with some: the line is the text before, if it has words. A
   message of another role is passed over.
2. The speaker's own label (`Ines:`, `**Ines:**`) goes. The line ends at the label of another person: at the beginning
   of a line, or behind a sentence if a capital follows; names quoted within a sentence stay. If no other name is known,
   and the speaker's own label is there, any line that begins with a name and a colon is another person's.
3. Remarks out of character go: `(OOC: …)`.

Everything else stays as it was written: actions (`state.spoken`), sums, code, addresses, Markdown.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from tertulia.state.sentences import SPACED_ENDS, UNSPACED_ENDS
from tertulia.state.text import folded, folded_words

_LISTED = (
    r"s|eos|bos|pad|unk|mask|sep|cls|eo[dtmp]|so[ps]|gmask|sop|(?:start|end|beginning)_of_\w{1,20}|im_(?:start|end|sep)|"
    r"(?:end|start)oftext|extra_id_\d+|unused\d+|reserved_\w{1,30}|special_\d+|_(?:user|bot|system)|0x[0-9a-f]{2}"
)
_MARK = re.compile(
    r"(?P<struck>(?<=\w )<s>[^<>\n]{1,200}</s>)|"  # words, in HTML
    r"<\|[^\s<>|]{1,60}\|?>|<[^\s<>|]{1,60}\|>|<｜[^\n<>｜]{1,60}｜>|\[\|[\w ]{1,40}\|\]"
    rf"|</?(?:{_LISTED})>|<<\/?SYS>>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|EOS|gMASK)\]"
    r"|<role>\w{1,20}</role>|\]~!?b\[|\]~b\]|\[e~\["
    r"|(?<![^\n])### (?:Instruction|Input|Response):"  # Alpaca
    rf"|(?<=[{SPACED_ENDS}{UNSPACED_ENDS}\"”]) (?-i:USER|ASSISTANT):"  # Vicuna
    r"|<\|\w{0,60}\|?$|</s$",  # cut off in the middle
    re.IGNORECASE,
)
#: Marks with which a message ends or begins; others are passed over.
_BORDER = re.compile(
    r"end|start|begin|eo[stmdp]\b|bos\b|stop|return|call|user|assistant|system|human|bot\b|turn|header|inst|role|</?s\b|"
    r"\]~|\[e~|im_|sys|###",
    re.IGNORECASE,
)
#: Marks and roles with which the text of another begins, and the model's own.
_THEIRS = re.compile(r"user|human|system(?:\b|_)|\[INST|### In", re.IGNORECASE)
_OURS = re.compile(r"assistant|bot\b|bot_|model|\[/INST|response", re.IGNORECASE)
_THEIR_ROLE = re.compile(r"\s*(?:user|human|system|tool)[ \t]*(?:\n|(?=<)|$)", re.IGNORECASE)
_ROLE = re.compile(r"\s*(?:assistant|model|chatbot)\b(?:[ \t]*\n|(?=<)|$)|\s*(?:assistant|model)(?=\n)", re.IGNORECASE)

_ROLES = ("user", "human", "assistant", "system", "narrator")
#: Before a name at the beginning of a line, and behind it; emphasis, a heading, a quotation, a manner of speaking.
_BEFORE, _BEHIND = (
    r"[ \t>]*(?:#{1,4} )?[*_\[]{0,3}",
    r"[*_\]]{0,3}(?: ?\([^()\n]{1,40}\))?[*_]{0,3} ?[:：][*_]{0,3}[ \t]*",
)
_NAME_LIKE = r"[^\W\d_][^\n:：*_()\[\]]{0,40}?"
#: Behind a sentence, with the white space that its script needs.
_BEHIND_SENTENCE = rf"(?:(?<=[{SPACED_ENDS}\"”*)])[ \t]+|(?<=[{UNSPACED_ENDS}”」』）])[ \t]*)"

_OOC = re.compile(r"[(\[{]{1,2}\s*OOC\b[^()\[\]{}]*[)\]}]{0,2}|(?:^|(?<=\n))[ \t]*OOC[ \t]*:[^\n]*", re.IGNORECASE)


class _Label(NamedTuple):
    """The label of a line in a script: its place, the end of it, and whether it is the speaker's own."""

    start: int
    end: int
    is_own: bool


def line_of(written: str, speaker: str, others: Collection[str] = ()) -> str:
    """Return the speaker's line in a text, line breaks and all; empty if there is none.

    Args:
        others: The names of the others; empty if they are not known.
    """
    text = without_marks(re.sub(r"\r\n?|[\u2028\u2029\x85]", "\n", written))
    return _OOC.sub("", _own_lines(text, speaker, others)).strip()


def without_marks(text: str) -> str:
    """Return a text without the marks of chat templates: the model's first message in it that has words."""
    kept, end, begins, is_theirs = "", 0, False, False
    for mark in (*_MARK.finditer(text), None):
        if mark is not None and mark["struck"]:
            continue
        piece = text[end : mark.start() if mark else None]
        if begins and _ROLE.match(piece):
            piece, is_theirs = _ROLE.sub("", piece, count=1), False
        elif begins and _THEIR_ROLE.match(piece):
            is_theirs = True
        kept += "" if is_theirs else piece
        if mark is None:
            break
        end, begins = mark.end(), bool(_BORDER.search(mark[0]))
        if begins and folded_words(kept[-200:]):
            break
        is_theirs = not _OURS.search(mark[0]) and (is_theirs or bool(_THEIRS.search(mark[0])))
    return kept


def _own_lines(text: str, speaker: str, others: Collection[str]) -> str:
    labels = [*_labels(text, speaker, others)]
    if not labels:
        return text
    before = text[: labels[0].start]
    lines = [before] if folded_words(before) else []
    for label, following in zip(labels, [*labels[1:], None], strict=True):
        if label.is_own:
            lines.append(text[label.end : following.start if following else None])
        elif lines:
            break
    if not lines and len(labels) == 1 and text[labels[0].end :][:1].islower():
        return text  # `Joao: listen to me.` addresses him
    return "\n".join(lines)


def _labels(text: str, speaker: str, others: Collection[str]) -> Iterator[_Label]:
    own, at_line, in_line, in_script = _patterns(speaker, tuple(sorted(others)))
    found = [*at_line.finditer(text), *in_line.finditer(text)]
    if not others and any(folded(match[1]) in own for match in found):
        found += [match for match in in_script.finditer(text) if _is_name(match[1])]
    end = 0
    for match in sorted(found, key=lambda match: match.span()):
        if match.start() >= end:
            yield _Label(match.start(), match.end(), folded(match[1]) in own)
            end = match.end()


@lru_cache(maxsize=256)  # the same for all lines of a speaker
def _patterns(
    speaker: str, others: tuple[str, ...]
) -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the speaker's names, and patterns of labels: at a line's beginning, behind a sentence, in a script."""
    first = {name.split()[0] for name in (speaker, *others) if name.split()}
    names = sorted({speaker, *others, *first} - {""}, key=len, reverse=True)
    known = "|".join(map(re.escape, [*names, *_ROLES]))
    present = "|".join(map(re.escape, names)) or r"(?!)"
    at_line = re.compile(rf"(?:^|(?<=\n)){_BEFORE}({known}){_BEHIND}", re.IGNORECASE)
    in_line = re.compile(rf"{_BEHIND_SENTENCE}[*_\[]{{0,3}}({present}){_BEHIND}(?=[^\sa-z\"“])")
    in_script = re.compile(rf"(?:^|(?<=\n)){_BEFORE}({_NAME_LIKE}){_BEHIND}(?=\S)")
    own = frozenset({folded(speaker), *(folded(word) for word in speaker.split()[:1])})
    return own, at_line, in_line, in_script


def _is_name(label: str) -> bool:
    """Return whether a label looks like a name: a few words, each with a capital, or of a script without any."""
    words = label.split()
    return len(words) <= 3 and all(word[0].isalpha() and not word[0].islower() for word in words)
