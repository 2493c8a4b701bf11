"""Variations of prompts as users write them in settings. Source: APP §6 and App. E."""

import re
from typing import Any, Literal

from pydantic import Field

from tertulia.state.blocks import letters_hint
from tertulia.state.names import composed
from tertulia.state.records import BLOCK_INITIALS, Record

#: Ways to name people in prompts, besides `A=B,C=D`.
NAME_CHOICES = ("own", "famous", "rare")


class BlockLength(Record):
    """The length that a block shall have: `exact`, or as near as whole items allow."""

    count: int = Field(ge=1)
    unit: Literal["items", "words"]
    exact: bool


_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*)*")
_BLOCK_LENGTH = re.compile(r"(?P<letter>\w)\s*(?P<sign>[=~])\s*(?P<count>[1-9][0-9]{0,3})(?P<words>w?)", re.ASCII)


def read_block_lengths(text: str) -> dict[str, BlockLength]:
    """Return the lengths of blocks by initial: `m=10` items, `p=250w` exactly so many words, `e~250w` about as many.

    Blocks may be written by name, too: `memory=10`.

    Raises:
        ValueError: A length can't be read, is of no block or of one without items, or a block is named twice.
    """
    text = with_letters(text)
    lengths: dict[str, BlockLength] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _BLOCK_LENGTH.fullmatch(part)
        if match is None:
            raise ValueError(
                f"{part!r} is no length of a block, 1 to 9999; write m=10 (items), m=250w (words), or m~10 and m~250w "
                "(about, and not where there is no such block), with the block's letter or its name"
            )
        letter = match["letter"]
        if letter not in BLOCK_INITIALS:
            raise ValueError(f"unknown block letter {letter!r}{letters_hint()}")
        if letter in "cs":
            raise ValueError(f"the length of {BLOCK_INITIALS[letter]} ({letter}) can't be set: it is what goes on")
        if letter in lengths:
            raise ValueError(f"block letter {letter!r} stands twice in {text!r}")
        unit: Literal["items", "words"] = "words" if match["words"] else "items"
        lengths[letter] = BlockLength(count=int(match["count"]), unit=unit, exact=match["sign"] == "=")
    return lengths


def with_letters(lengths: Any) -> Any:
    """Return the lengths of blocks with initials instead of names; a value that is no text is returned as it is."""
    if not isinstance(lengths, str):
        return lengths
    for letter, block in BLOCK_INITIALS.items():
        lengths = re.sub(rf"(^|,)(\s*){block}(?=\s*[=~])", rf"\g<1>\g<2>{letter}", lengths)
    return lengths


def read_names(text: str) -> dict[str, str]:
    """Return new names by old names from `A=B,C=D`; `ValueError` for another form, or a repeated name."""
    names: dict[str, str] = {}
    for part in composed(text).split(","):
        old, separator, new = (" ".join(side.split()) for side in part.partition("="))
        if not (separator and old and new):
            raise ValueError("write own, famous, rare, or pairs A=B,C=D")
        if old in names or new in names.values():
            raise ValueError(f"{old if old in names else new!r} stands twice; everybody has a name of their own")
        if not _NAME.fullmatch(new):
            raise ValueError(f"{new!r} is no name; a name is made of words that begin with a letter")
        names[old] = new
    return names
