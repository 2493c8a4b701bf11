"""Repetitions of a text: the tokens that would begin one and are banned, and their penalties."""

from collections.abc import Iterator, Sequence

from tertulia.state.language_model import Tokenizer

#: Of DRY: the base, the longest repetition that costs nothing, the longest that costs more than a shorter one, and the
#: signs that end one. Source: p-e-w, text-generation-webui, pull request 5677; the third: later forms of it.
_DRY_BASE, _DRY_FREE, _DRY_LONGEST = 1.75, 2, 50
_DRY_BREAKERS = frozenset('\n:"*')


def repeating_tokens(text: Sequence[int], no_repeat_from: Sequence[Sequence[int]], length: int) -> list[int]:
    """Return the tokens with which a text would repeat an n-gram of this length from `no_repeat_from`."""
    if length < 1 or len(text) < length - 1:
        return []
    last = tuple(text[len(text) - length + 1 :])
    if not last:
        return [token for tokens in no_repeat_from for token in tokens]
    found = []
    for tokens in no_repeat_from:
        # most lines do not have the text's last token at all
        for at in _places(last[-1], tokens, length - 2):
            if at + 1 < len(tokens) and tuple(tokens[at - length + 2 : at + 1]) == last:
                found.append(tokens[at + 1])
    return found


def _places(token: int, tokens: Sequence[int], first: int) -> Iterator[int]:
    """Yield the places of a token, from `first` on."""
    while True:
        try:
            first = tokens.index(token, first)
        except ValueError:
            return
        yield first
        first += 1


def repetition_penalties(
    text: Sequence[int], lines: Sequence[Sequence[int]], multiplier: float, tokenizer: Tokenizer
) -> dict[int, float]:
    """Return by token the penalty of DRY on its logit: more, the longer the repetition is that it would go on with.

    A token that came in a line or in the text after the last n ≥ 2 tokens of the text costs multiplier · 1.75^(n − 2).
    Tokens with a line break, a colon, a quote or an asterisk end a repetition, and cost nothing. Source: p-e-w, pull
    request 5677 of text-generation-webui; there a token is such a sign alone, here it may have others beside it (`."`).
    """

    def breaks(token: int) -> bool:
        return not _DRY_BREAKERS.isdisjoint(tokenizer.decode([token]))

    repeated: dict[int, int] = {}
    for line in (*lines, text) if text and not breaks(text[-1]) else ():
        for at in (i for i in range(len(line) - 1) if line[i] == text[-1]):
            length, most = 1, min(at + 1, len(text), _DRY_LONGEST)
            while length < most and line[at - length] == text[-1 - length] and not breaks(line[at - length]):
                length += 1
            if length >= _DRY_FREE and not breaks(line[at + 1]):
                repeated[line[at + 1]] = max(length, repeated.get(line[at + 1], 0))
    return {token: multiplier * _DRY_BASE ** (length - _DRY_FREE) for token, length in repeated.items()}
