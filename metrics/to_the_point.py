"""Measure how much to the point dialogues are: whether their words tell which case they are of.

1. A case is the memories, earlier dialogues and surroundings of its people. Names are masked in all texts by the
   caller: else a name would tell the case, whatever is said.
2. The match of an utterance with a case is the mean cosine with the three nearest of the case's texts; that of a
   dialogue is the mean over its utterances. The case with the highest match is the guess; the first of equal ones.
3. By chance one of so many cases is right, so that figures can be compared between equal sets of cases only.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tertulia.metrics.diversity import mean
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case, Record

#: The nearest texts of a case with which an utterance is compared.
_NEAREST = 3


class ToThePoint(Record):
    """How much to the point the dialogues of a case are."""

    dialogues: int = Field(description="number of dialogues with a word in them besides names")
    cases: int = Field(description="number of cases among which each is looked for")
    dialogues_found: float | None = Field(description="share of dialogues of which the case is found, in [0, 1]")
    lines_found: float | None = Field(description="share of utterances of which the case is found")
    margin: float | None = Field(
        description="by how much a dialogue matches its case better than the others on average, a cosine"
    )


def texts_of_case(case: Case) -> list[str]:
    """Return what a case is: its memories, what people do, their earlier dialogues, and where they are."""
    people = (case.initiator, case.partner)
    texts = [memory.text for person in people for memory in person.memories]
    texts += [person.activity for person in people if person.activity]
    texts += [line.text for dialogue in case.previous_dialogues for line in dialogue.utterances]
    return texts + ([case.place] if case.place else [])


def to_the_point(
    dialogues: Mapping[str, Sequence[Sequence[str]]], texts: Mapping[str, Sequence[str]], embedder: Embedder
) -> dict[str, ToThePoint]:
    """Return how much to the point the dialogues of each case are, whose utterances and texts have their names masked.

    Cases with texts (`texts_of_case`) and no dialogue count among those that are looked for; empty dialogues are passed
    over. Figures are `None` where fewer than two cases have texts, or the case itself has none.
    """
    known = {case: [text for text in dict.fromkeys(of_case) if text] for case, of_case in texts.items()}
    numbers = {case: number for number, case in enumerate(case for case, of_case in known.items() if of_case)}
    if len(numbers) < 2:
        return {case: _none(len(numbers)) for case in dialogues}
    vectors = [np.array(embedder.embed(known[case])) for case in numbers]
    found = {}
    for case, of_case in dialogues.items():
        spoken = [lines for dialogue in of_case if (lines := [line for line in dialogue if line])]
        if case not in numbers or not spoken:
            found[case] = _none(len(numbers))
            continue
        found[case] = _figures(numbers[case], [matches(np.array(embedder.embed(s)), vectors) for s in spoken])
    return found


def matches(lines: NDArray[np.float64], cases: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return how well lines `(lines, D)` match cases of texts `(texts, D)`, all of unit length, as `(lines, cases)`."""
    return np.array([np.sort(lines @ case.T, axis=1)[:, -_NEAREST:].mean(axis=1) for case in cases]).T


def _figures(number: int, dialogues: Sequence[NDArray[np.float64]]) -> ToThePoint:
    cases = dialogues[0].shape[1]
    right = [bool(found.mean(axis=0).argmax() == number) for found in dialogues]
    right_lines = [bool(guess == number) for found in dialogues for guess in found.argmax(axis=1)]
    margins = [float(found[:, number].mean() - np.delete(found, number, axis=1).mean()) for found in dialogues]
    return ToThePoint(
        dialogues=len(dialogues),
        cases=cases,
        dialogues_found=mean(right),
        lines_found=mean(right_lines),
        margin=mean(margins),
    )


def _none(cases: int) -> ToThePoint:
    return ToThePoint(dialogues=0, cases=cases, dialogues_found=None, lines_found=None, margin=None)
