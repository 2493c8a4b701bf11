"""Whether a line has broken words: of another encoding, in pieces, again and again, or with signs of a form.

The patterns know English contractions, and French elisions (`sense_words`); encodings and signs are of any language.
"""

import re

from tertulia.nodes.shared import sense_words

#: Letters that a text in UTF-8 has where it was read as Windows-1252 or Latin-1: of two bytes, of three, of four.
_BEHIND = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MISREAD = re.compile(rf"[ÂÃÄÅ][{_BEHIND}]|[âï][{_BEHIND}]{{1,2}}|ð[{_BEHIND}]{{2,3}}|â(?=\s*$|[.,!?])")
#: What the first pattern finds in texts that are right: `« FIDÉLITÉ À »`, a letter before a quotation mark or a dash.
_SIGN = re.compile(r"[\u2010-\u203f\u20ac\u2122\u00a0-\u017f\ufeff\ufffd\U0001f000-\U0001ffff]")

_FORM = re.compile(
    r"<\|\w+|\|>|[{}]|\"\s*:\s*(?:true|false|\"|\d)|\"\s*,\s*\"\w+\"\s*:"
    r"|</?[a-z]{1,10}\s*/?>|\[/?INST\]|```|(?:^|\s)#{2,}\s|_{3,}"
    r"|&(?:quot|amp|lt|gt|nbsp|apos|#\d{2,4});|\\[nt](?![a-z]{3})|\\u[0-9a-f]{4}|\ufffd|▁",
    re.IGNORECASE,
)

_SHORT_FORMS = r"(?:is|do|does|did|was|were|ca|could|wo|would|should|have|has|had|must|need|are|ai)"
_PARTED = re.compile(
    r"\b\w+n['’]\s+t\b|\b\w+\s*['’]\s+(?:s|re|ve|ll|d|m|t)\b(?!['’])"  # `don’ t`, `it’ s`
    r"|\w\s+['’](?:s|re|ve|ll|d|m|t)\b(?!['’])|\b\w+\s+n['’]t\b"  # `it 's`, `do n't`
    rf"|\b{_SHORT_FORMS}n[â˘]\w*"
    r"|\b(?:(?:did|does|is|was|were|could|would|should|hasn|hadn|mustn|needn|ain)n|hasn|hadn|mustn|needn|ain"
    r"|(?:I|you|we|they|who|people) (?:don|haven|aren))\b(?![-'’`´ʼ′‘])",
    re.IGNORECASE,
)
#: The same word, or the same two or three, three times in a row; but what people say so.
_TRIPLE = re.compile(r"(?<![\w'’])([\w'’]+(?:\s+[\w'’]+){0,2})(?:\s+\1(?![\w'’])){2}", re.IGNORECASE)
_SAID_SO = frozenset(
    re.findall(
        r"\w+",
        "no yes very ha he hi bye so really oh ah la go well knock never many far long please more",
    )
)
_DOUBLED = re.compile(r"\b(the|a|an|of|to|in|on|and|for|with|at|is|was|i|my|your)\s+\1\b", re.IGNORECASE)


#: What ends no sentence, and the fewest words of a line that does.
_CUT = re.compile(
    r"(?:,|\b(?:the|an|and|or|but|my|your|their|our|of|because|if|than|whose|every|very|into|between|during))$",
    re.IGNORECASE,
)
_FEWEST = 4


def is_broken(text: str) -> bool:
    """Return whether a line has broken words or signs of a form, or breaks off."""
    return bool(
        _FORM.search(text)
        or _PARTED.search(text)
        or _DOUBLED.search(text)
        or any(match[1].casefold() not in _SAID_SO for match in _TRIPLE.finditer(text))
        or _is_misread(text)
        or _breaks_off(text.rstrip())
        or sense_words.is_broken(text)
    )


def _breaks_off(text: str) -> bool:
    """Whether a line ends in the middle of a sentence."""
    return len(text.split()) >= _FEWEST and bool(_CUT.search(text))


def _is_misread(text: str) -> bool:
    """Whether letters of a line, written as Windows-1252 or Latin-1, are signs in UTF-8."""
    if text.isascii():
        return False
    return any(match[0] == "â" or _SIGN.fullmatch(_reread(match[0])) is not None for match in _MISREAD.finditer(text))


def _reread(letters: str) -> str:
    """Return letters as they are in UTF-8; empty where they are none."""
    data = bytearray()
    for letter in letters:
        try:
            data += letter.encode("cp1252")
        except UnicodeEncodeError:
            data += letter.encode("latin-1", "ignore")
    return data.decode("utf-8", "ignore")
