"""The grammar of a spoken line: its words, and the actions in it, such as `*sets down her cup*` and `(laughs)`.

A line is a row of parts, which together are the line, sign for sign:

* Words: all that is no action, quotes, Markdown, sums, code and addresses among them.
* An action: text in `*…*`, `_…_` (two words or more), `(…)`, `[…]`, `（…）` or `【…】` at the beginning of the line or
  behind the end of a sentence or another action. Elsewhere the signs are emphasis, an aside, an index or a sum: `I
  *never* said so`, `the boat (mine)`, `don't [whisper] lie`. Three more are words at the beginning, too: a text within
  which no word begins (`(3)`, `[x]`); one with a capital that the sentence goes on from (`*Never* say so`); a whole
  sentence in round brackets (`(I saw it.)`). In doubt, a text is words: a person's words are not lost.
"""

import re
from typing import Literal, NamedTuple

from tertulia.state.sentences import SPACED_ENDS, UNSPACED_ENDS
from tertulia.state.text import one_line

#: The closing sign of an action by its opening one.
_CLOSING = {"*": "*", "_": "_", "(": ")", "[": "]", "（": "）", "【": "】"}
#: Code in backticks, which is passed over, or text between two signs. No alternative crosses its own signs, so the time
#: is linear in the line.
_SPAN = re.compile(
    r"`[^`]*`"
    r"|(?<![\w*\\])\*(?![\s*])[^*`]+(?<!\s)\*(?![\w*])"
    r"|(?<![\w\\])_(?![\s_])[^_`]+(?<![\s_])_(?!\w)"
    r"|(?<![\w\\])\([^()]+\)"
    r"|(?<![\w\\])\[[^\[\]]+\](?![(:\[])"
    r"|（[^（）]+）|【[^【】]+】"
)
#: Before an action: the end of a sentence (in Greek, `;` asks), and quotes that close it.
_ENDS = re.compile(rf"(?:[{SPACED_ENDS}{UNSPACED_ENDS}~]|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e])['\"’”»)」』]*$")
#: Characters around an action that are looked at.
_NEAR = 8
#: Letters of a word: three, but one of a script without spaces, of Korean, or of India, where a letter is a syllable.
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0900-\u0eff]")


class Part(NamedTuple):
    """A part of a line, signs included: words, or an action."""

    kind: Literal["words", "action"]
    text: str

    @property
    def inner(self) -> str:
        """The text of an action without its signs."""
        return self.text[1:-1].strip() if self.kind == "action" else self.text


def parts_of(line: str) -> tuple[Part, ...]:
    """Return the parts of a line in order; their texts joined are the line."""
    parts: list[Part] = []
    end = 0  # of the parts so far
    for found in _SPAN.finditer(line):
        before = line[max(end, found.start() - _NEAR) : found.start()].rstrip()
        begins = bool(_ENDS.search(before)) if before else True  # the beginning, or an action right before
        if not (begins and _is_action(found[0], line[found.end() : found.end() + _NEAR])):
            continue
        if between := line[end : found.start()]:
            parts.append(Part("words", between))
        parts.append(Part("action", found[0]))
        end = found.end()
    return (*parts, Part("words", line[end:])) if end < len(line) else tuple(parts)


def words_of(line: str) -> str:
    """Return the words of a line without its actions, on one line; empty if it has none."""
    return one_line(" ".join(part.text for part in parts_of(line) if part.kind == "words"))


def has_actions(line: str) -> bool:
    """Return whether there is an action in a line."""
    return any(part.kind == "action" for part in parts_of(line))


def _is_action(span: str, after: str) -> bool:
    """Return whether a span at the beginning of a sentence is an action, from the text behind it, too."""
    opening, inner = span[0], span[1:-1].strip()
    if opening not in _CLOSING or not inner or not _WORD.search(inner):
        return False
    is_sentence = inner[-1] in SPACED_ENDS + UNSPACED_ENDS
    is_aside = opening == "(" if is_sentence else _goes_on(after)
    if inner[0].isupper() and is_aside:
        return False
    return opening != "_" or " " in inner


def _goes_on(after: str) -> bool:
    """Return whether a sentence goes on: with its signs, or with a small letter."""
    rest = after.lstrip()
    return bool(rest) and (rest[0] in ",;:.!?" or rest[0].islower())
