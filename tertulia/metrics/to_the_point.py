"""Measure how much to the point dialogues are: whether they are about their case, in the speakers' own words.

1. A case is the memories, earlier dialogues and surroundings of its people. Names are masked in all texts by the
   caller: else a name would tell the case, with any words.
2. The match of an utterance with a case is the mean cosine with the three nearest of the case's texts; that of a
   dialogue is the mean over its utterances. The case with the highest match is the guess; the first of equal ones.
   `margin` is by how much a dialogue matches its case better than the others.
3. The match alone is fooled by recitation: a text repeated word for word matches best. So `to_the_point` is the mean
   over utterances of the margin, or 0 if it is below, times the share of words that are not recited; and 0 for an
   utterance that was said before, has its words in no order, denies known facts, tells as its speaker's own a fact that
   only the partner knows, or makes no sense in its place (`LineCheck`).
4. By chance one of so many cases is right, and margins depend on the others, so figures can be compared between equal
   sets of cases only.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tertulia.metrics.diversity import mean
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case, Record

#: The nearest texts of a case with which an utterance is compared.
NEAREST = 3


class LineCheck(Record):
    """The reasons that keep an utterance from counting as to the point (`tertulia/views/measuring/line_checks.py`)."""

    recited: float = Field(ge=0, le=1, description="share of its words that are recited from one text of the case")
    said_before: bool = Field(False, description="it equals an earlier one of its dialogue")
    out_of_order: bool = Field(False, description="its words stand in no order")
    denied: bool = Field(False, description="it is what is known but for a *not*")
    partners: bool = Field(False, description="it tells as its speaker's own what only the partner knows")
    senseless: bool = Field(False, description="it makes no sense where it is said, by rules")

    @property
    def weight(self) -> float:
        """How much its margin counts, in [0, 1]."""
        fails = self.said_before or self.out_of_order or self.denied or self.partners or self.senseless
        return 0.0 if fails else 1.0 - self.recited


#: Of each utterance of a dialogue; `None` of one with no word besides names.
Checks = Sequence[LineCheck | None]


class ToThePoint(Record):
    """How much to the point the dialogues of a case are; `None` if there is nothing to measure, and the reason."""

    dialogues: int = Field(description="number of dialogues with a word in them besides names")
    cases: int = Field(description="number of cases among which each is looked for")
    dialogues_found: float | None = Field(None, description="share of dialogues of which the case is found, in [0, 1]")
    lines_found: float | None = Field(None, description="share of utterances of which the case is found")
    margin: float | None = Field(
        None, description="by how much a dialogue matches its case better than the others on average, a cosine"
    )
    to_the_point: float | None = Field(None, description="margin in the speakers' own words, at least 0")
    recited: float | None = Field(None, description="share of the words of an utterance that are recited")
    said_before: float | None = Field(None, description="share of utterances that equal an earlier one")
    out_of_order: float | None = Field(None, description="share of utterances with words in no order")
    denied: float | None = Field(None, description="share of utterances that deny what is known")
    partners: float | None = Field(None, description="share of utterances that tell what only the partner knows")
    senseless: float | None = Field(None, description="share of utterances that make no sense where they are said")
    reason: str | None = Field(None, description="why there are no figures")


#: The figures that are shares of utterances, or of their words.
CHECKED = tuple(LineCheck.model_fields)


def texts_of_case(case: Case) -> list[str]:
    """Return the texts of a case: its memories, people's activities, their earlier dialogues, and their place."""
    people = (case.initiator, case.partner)
    texts = [memory.text for person in people for memory in person.memories]
    texts += [person.activity for person in people if person.activity]
    texts += [line.text for dialogue in case.previous_dialogues for line in dialogue.utterances]
    return texts + ([case.place] if case.place else [])


def to_the_point(
    dialogues: Mapping[str, Sequence[Sequence[str]]],
    texts: Mapping[str, Sequence[str]],
    embedder: Embedder,
    checks: Mapping[str, Sequence[Checks]] | None = None,
) -> dict[str, ToThePoint]:
    """Return how much to the point the dialogues of each case are, with masked names in utterances and texts.

    Cases with texts (`texts_of_case`) and no dialogue count among those that are looked for; empty dialogues are passed
    over. Figures are `None`, with a reason, if fewer than two cases have texts, or the case itself has none.

    Args:
        checks: By case, of each of its dialogues; without them only the match is measured.
    """
    known = {case: [text for text in dict.fromkeys(of_case) if text] for case, of_case in texts.items()}
    numbers = {case: number for number, case in enumerate(case for case, of_case in known.items() if of_case)}
    vectors = [np.array(embedder.embed(known[case])) for case in numbers] if len(numbers) > 1 else []
    found = {}
    for case, of_case in dialogues.items():
        of_lines = (checks or {}).get(case) or [[None] * len(dialogue) for dialogue in of_case]
        pairs = [_spoken(*pair) for pair in zip(of_case, of_lines, strict=True)]
        spoken = [(lines, checked) for lines, checked in pairs if lines]
        if reason := _why_none(case, numbers, bool(spoken)):
            found[case] = ToThePoint(dialogues=0, cases=len(numbers), reason=reason)
            continue
        matched = [matches(np.array(embedder.embed(lines)), vectors) for lines, _ in spoken]
        found[case] = _figures(numbers[case], matched, [checked for _, checked in spoken])
    return found


def matches(lines: NDArray[np.float64], cases: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return how well lines `(lines, D)` match cases of texts `(texts, D)`, all of unit length, as `(lines, cases)`."""
    return np.array([np.sort(lines @ case.T, axis=1)[:, -NEAREST:].mean(axis=1) for case in cases]).T


def _spoken(dialogue: Sequence[str], checks: Checks) -> tuple[list[str], list[LineCheck | None]]:
    pairs = [(line, check) for line, check in zip(dialogue, checks, strict=True) if line]
    return [line for line, _ in pairs], [check for _, check in pairs]


def _why_none(case: str, numbers: Mapping[str, int], is_spoken: bool) -> str | None:
    if case not in numbers:
        return "the case has no memory, earlier dialogue or place"
    if len(numbers) < 2:
        return "there is no other case to tell it from; measure two or more together"
    return None if is_spoken else "nothing is said but names"


def _figures(number: int, dialogues: Sequence[NDArray[np.float64]], checks: Sequence[Checks]) -> ToThePoint:
    right = [bool(found.mean(axis=0).argmax() == number) for found in dialogues]
    right_lines = [bool(guess == number) for found in dialogues for guess in found.argmax(axis=1)]
    margins = [found[:, number] - np.delete(found, number, axis=1).mean(axis=1) for found in dialogues]
    figures: dict[str, float | None] = {}
    if all(check is not None for checked in checks for check in checked):
        weights = [[check.weight for check in checked if check is not None] for checked in checks]
        pairs = zip(margins, weights, strict=True)
        figures["to_the_point"] = mean(float((np.maximum(margin, 0) * weight).mean()) for margin, weight in pairs)
        for name in CHECKED:
            figures[name] = mean(mean(float(getattr(check, name)) for check in checked) for checked in checks)
    return ToThePoint(
        dialogues=len(dialogues),
        cases=dialogues[0].shape[1],
        dialogues_found=mean(right),
        lines_found=mean(right_lines),
        margin=mean(float(margin.mean()) for margin in margins),
        **figures,
    )
