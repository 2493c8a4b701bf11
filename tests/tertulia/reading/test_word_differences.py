"""What two texts have in common is what `difflib` finds."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from tertulia.reading.word_differences import word_differences

WORDS = st.lists(st.sampled_from([*"abcdefg", "the", "The"]), max_size=14)

Runs = list[tuple[str, bool]]


def by_difflib(a: list[str], b: list[str]) -> tuple[Runs, Runs]:
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    of_a: Runs = []
    of_b: Runs = []
    for tag, first_a, last_a, first_b, last_b in matcher.get_opcodes():
        if last_a > first_a:
            of_a.append((" ".join(a[first_a:last_a]), tag == "equal"))
        if last_b > first_b:
            of_b.append((" ".join(b[first_b:last_b]), tag == "equal"))
    return of_a, of_b


@given(WORDS, WORDS, WORDS)
def test_common_words_are_those_of_difflib(a: list[str], b: list[str], both: list[str]) -> None:
    for of_a, of_b in ((a, b), (both + a, both + b), (a + both, both + b), (a + both + b, b + both + a), (a, [])):
        assert word_differences(" ".join(of_a), " ".join(of_b)) == by_difflib(of_a, of_b)
