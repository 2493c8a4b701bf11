"""The words that two texts have in common, as `difflib` finds them, in a third of its time."""

from collections.abc import Mapping, Sequence

#: A run of words of both texts: where it begins in each, and its length.
_Block = tuple[int, int, int]


def word_differences(a: str, b: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return two texts as runs of words, each with whether both texts have it in that place.

    Words are separated by white space; the runs of a text, joined by spaces, are its words. What both have is found
    as by `difflib.SequenceMatcher`: the longest run, then what stands before it and behind.
    """
    words_a, words_b = a.split(), b.split()
    runs_a: list[tuple[str, bool]] = []
    runs_b: list[tuple[str, bool]] = []
    at_a = at_b = 0
    for begin_a, begin_b, size in (*_blocks(words_a, words_b), (len(words_a), len(words_b), 0)):
        if begin_a > at_a:
            runs_a.append((" ".join(words_a[at_a:begin_a]), False))
        if begin_b > at_b:
            runs_b.append((" ".join(words_b[at_b:begin_b]), False))
        at_a, at_b = begin_a + size, begin_b + size
        if size:
            common = (" ".join(words_a[begin_a:at_a]), True)
            runs_a.append(common)
            runs_b.append(common)
    return runs_a, runs_b


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[_Block]:
    """Return the runs of words that both have, in their order, none of which touches the next in both."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(b):
        places.setdefault(word, []).append(at)
    shared = {at: places[word] for at, word in enumerate(a) if word in places}
    found: list[_Block] = []
    waiting = [(0, len(a), 0, len(b))] if shared else []
    while waiting:
        low_a, high_a, low_b, high_b = waiting.pop()
        at_a, at_b, size = _longest(shared, low_a, high_a, low_b, high_b)
        if size:
            found.append((at_a, at_b, size))
            if low_a < at_a and low_b < at_b:
                waiting.append((low_a, at_a, low_b, at_b))
            if at_a + size < high_a and at_b + size < high_b:
                waiting.append((at_a + size, high_a, at_b + size, high_b))
    joined: list[_Block] = []
    for at_a, at_b, size in sorted(found):
        if joined and (at_a, at_b) == (joined[-1][0] + joined[-1][2], joined[-1][1] + joined[-1][2]):
            joined[-1] = (*joined[-1][:2], joined[-1][2] + size)
        else:
            joined.append((at_a, at_b, size))
    return joined


def _longest(shared: Mapping[int, Sequence[int]], low_a: int, high_a: int, low_b: int, high_b: int) -> _Block:
    """Return the longest run within bounds: of several the first in A, of these the first in B."""
    best_a, best_b, size = low_a, low_b, 0
    lengths: dict[int, int] = {}  # of the runs that end in the word of A before, by their last word of B
    before = -1
    for at_a, places in shared.items():
        if at_a < low_a:
            continue
        if at_a >= high_a:
            break
        known, lengths = (lengths if at_a == before + 1 else {}), {}
        before = at_a
        for at_b in places:
            if low_b <= at_b < high_b:
                length = lengths[at_b] = known.get(at_b - 1, 0) + 1
                if length > size:
                    best_a, best_b, size = at_a - length + 1, at_b - length + 1, length
    return best_a, best_b, size
