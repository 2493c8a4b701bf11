"""The lines and sentences of a text in any language of the prompts, without a dictionary.

If it is unclear whether a sentence ends, it goes on: behind abbreviations, single letters and small numbers, before a
word in lower case, and inside a short quotation or bracket. The end of a line always ends a sentence.
"""

import re
from itertools import pairwise

#: Signs that end a sentence: with white space behind them, and in scripts that need none.
SPACED_ENDS, UNSPACED_ENDS = ".!?…।॥؟۔", "。！？｡"

#: Words whose full stop ends no sentence, in lower case.
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        """
        mr mrs ms dr prof st sr jr rev capt lt sgt mt vs etc approx dept ltd
        nr hr fr bzw usw evtl ggf inkl vgl ca mme mlle mm dra sra srta ud uds pág núm av
        """,
    )
)

#: Words whose full stop ends no sentence before a number, `No. 3`, in lower case.
_BEFORE_NUMBERS = frozenset(("no", "nos", "nr", "p", "pp", "vol", "fig", "ch", "apt", "núm"))

#: Ends of sentences: before white space; in scripts that need none; between brackets, as in characters' cards.
_END = re.compile(
    rf"""(?P<stop>(?<![{SPACED_ENDS}])[{SPACED_ENDS}]+["'”’»)\]*_]*)(?=\s)"""
    rf"|(?<![{UNSPACED_ENDS}])[{UNSPACED_ENDS}]+(?:[」』”’）》]+(?=[\s「『“（《])|(?![」』”’）》]))"
    r"|\](?=\s+[\[<{])"
)
_ENCLOSED = re.compile(
    r'"[^"\n]{1,200}"|“[^“”\n]{1,200}”|„[^„“”"\n]{1,200}[“”"]|«[^«»\n]{1,200}»'
    r"|「[^「」\n]{1,200}」|『[^『』\n]{1,200}』|\([^()\n]{1,200}\)|（[^（）\n]{1,200}）"
)
_LAST_WORD = re.compile(r"[^\W_]+$")
_SIGN = re.compile(r"\S")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the white space before it: joined they are the text."""
    return [sentence for line in lines(text) for sentence in _sentences_of_line(line)]


def lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank, each with the white space before it: joined they are the text."""
    return _cut(text, [match.start() for match in re.finditer(r"(?<=\S)\s*\n\s*(?=\S)", text)])


def _sentences_of_line(line: str) -> list[str]:
    enclosed = [match.span() for match in _ENCLOSED.finditer(line)]
    ends = [match.end() for match in _END.finditer(line) if _is_end(line, match)]
    return _cut(line, [end for end in ends if not any(begin < end < past_last for begin, past_last in enclosed)])


def _cut(text: str, ends: list[int]) -> list[str]:
    return [text[begin:end] for begin, end in pairwise([0, *ends, len(text)])]


def _is_end(line: str, match: re.Match[str]) -> bool:
    """Whether a sentence ends at a possible end: something follows that does not go on with it."""
    following = _SIGN.search(line, match.end())
    if following is None:
        return False
    if match["stop"] is None:
        return True
    word = _LAST_WORD.search(line, max(0, match.start() - 40), match.start()) if match["stop"] == "." else None
    if word is None:
        return not following[0].islower()
    counts = word[0].lower() in _BEFORE_NUMBERS and following[0].isdigit()
    return not (following[0].islower() or counts or _goes_on(word[0].lower()))


def _goes_on(word: str) -> bool:
    """Whether a full stop behind a word, in lower case, may be of an abbreviation, an initial or an ordinal."""
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()) or (len(word) <= 2 and word.isdigit())
