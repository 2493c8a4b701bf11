"""The comparison of a turn as plain lines: there are thousands of them in a long album chat."""

from collections.abc import Iterator, Sequence

from tertulia.state.meeting import Start
from tertulia.state.text import clean
from tertulia.views.reading.comparing import RunComparison
from tertulia.views.reading.differences import TurnComparison, word_differences
from tertulia.views.reading.turn_documents import Document
from tertulia.views.wording.comparison_phrases import mark_of_hand, what_differs
from tertulia.views.wording.phrases import clock, silence

#: The marks of words in one of the two alone.
_MARKS = {"A": ("[-", "-]"), "B": ("{+", "+}")}


def turn_lines(turn: TurnComparison, compared: RunComparison) -> Iterator[str]:
    """Yield the lines of a turn that differs: both utterances with marked words, and other differences, with tabs."""
    if turn.turn:
        yield f"turn {turn.turn}"
        texts = [(left or beside or {})["text"] for left, beside in ((turn.a, turn.b), (turn.b, turn.a))]
        for name, document, passages, start, silence_s in zip(
            "AB",
            (turn.a, turn.b),
            word_differences(*texts),
            compared.starts,
            compared.silences_s(turn.turn),
            strict=True,
        ):
            yield f"  {_utterance_line(name, document, passages, start, silence_s)}"
    else:
        yield "the preparation"
    if turn.a is not None and turn.b is not None:
        for subject, words in what_differs(turn.a, turn.b, turn.aspects):
            yield f"{subject}\t{clean(words)}".rstrip()


def _utterance_line(
    name: str, document: Document | None, passages: Sequence[tuple[str, bool]], start: Start, silence_s: float
) -> str:
    if document is None:
        return f"{name}  –"
    line = f"{name}  {clock(document['clock'], start).strip()}  "
    if document["speaker"] is None:
        return line + silence(silence_s)
    before, after = _MARKS[name]
    words = (clean(text) if is_common else f"{before}{clean(text)}{after}" for text, is_common in passages)
    said = " ".join((line + clean(f"{document['speaker']}:"), *words))
    said += mark_of_hand(document)
    return f"{said}  ∎" if document["ending"] else said
