"""Blocks of a prompt as users write them: by initial, as in the papers' tables (`mp`), or by name."""

import difflib
from typing import Any

from tertulia.state.records import BLOCK_INITIALS

_LETTERS = {block: letter for letter, block in BLOCK_INITIALS.items()}


def letters_of(blocks: Any) -> Any:
    """Return the initials of blocks, written as initials (`mp`) or as names with commas (`memory,previous_dialogues`).

    A value that is no text is returned as it is.

    Raises:
        ValueError: There is no such block, or one is named twice.
    """
    if not isinstance(blocks, str):
        return blocks
    letters = "".join(_letters_of_part(part.strip()) for part in blocks.split(","))
    for letter in letters:
        if letters.count(letter) > 1:
            raise ValueError(f"block letter {letter!r} stands twice in {blocks!r}: it is {BLOCK_INITIALS[letter]}")
    return letters


def letter_of(block: Any) -> Any:
    """Return the initial of a block, given as its initial or its name; `ValueError` if it is neither."""
    letter = _LETTERS.get(block, block) if isinstance(block, str) else block
    if isinstance(letter, str) and letter not in BLOCK_INITIALS:
        raise ValueError(f"it is the letter of one block, or its name{letters_hint()}")
    return letter


def letters_hint() -> str:
    """Return the letters and names of blocks, for an error."""
    return " (known: " + ", ".join(f"{letter} {block}" for letter, block in BLOCK_INITIALS.items()) + ")"


def _letters_of_part(part: str) -> str:
    if part in _LETTERS:
        return _LETTERS[part]
    for letter in part:
        if letter not in BLOCK_INITIALS:
            if near := difflib.get_close_matches(part, _LETTERS, n=1, cutoff=0.6):
                raise ValueError(f"unknown block {part!r} (did you mean {near[0]!r}?){letters_hint()}")
            raise ValueError(f"unknown block letter {letter!r}{letters_hint()}")
    return part
