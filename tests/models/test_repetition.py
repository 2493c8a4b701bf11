"""Which tokens a text would repeat, against the definition."""

from hypothesis import given
from hypothesis import strategies as st

from tertulia.models.local.repetition import repeating_tokens

_TOKENS = st.lists(st.integers(0, 2), max_size=12).map(tuple)


@given(_TOKENS, st.lists(_TOKENS, max_size=3), st.integers(0, 4))
def test_they_are_those_that_follow_the_texts_last_tokens(
    text: tuple[int, ...], lines: list[tuple[int, ...]], length: int
) -> None:
    expected = [
        line[at + length - 1]
        for line in (lines if 1 <= length <= len(text) + 1 else [])
        for at in range(len(line) - length + 1)
        if line[at : at + length - 1] == text[len(text) - length + 1 :]
    ]
    assert repeating_tokens(text, lines, length) == expected
