"""Records of checks of a line: its measured loss without units, and scores of a line that had none.

Both are annotations (`tertulia/lab/annotations/leave_one_out.py` makes them): nothing of the run depends on them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tertulia.state.album import PARTS
from tertulia.state.annotation import Annotation
from tertulia.state.line_scores import reader_of
from tertulia.state.records import RunRecord, TurnRecord
from tertulia.state.store import Store

#: The number of each utterance of a turn under which annotations have it.
PART_NUMBERS = {part: number for number, part in enumerate(("", *filter(None, PARTS.values())))}


def thought_number(names: Sequence[str], agent: str) -> int:
    """Return the number under which annotations have the thought of an agent, behind those of utterances.

    Args:
        names: All participants of the meeting, in its order.
    """
    return len(PART_NUMBERS) + names.index(agent)


#: The names under which annotations `leave_one_out` are kept: losses of a line without a unit, values of ablations.
LOSSES, VALUES = "", "values"


@dataclass(frozen=True)
class Checked:
    """The results of checks of a line.

    Attributes:
        scored: The fields of its record that a check has filled.
        measured: By unit, its measured loss without it, in nats a token.
        measured_by: The model that read it for that.
        tokens: How many tokens its words are to that model.
    """

    scored: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    measured_by: str | None = None
    tokens: int | None = None


NOT_CHECKED = Checked()


def writer_of(run: RunRecord, speaker: str | None) -> str:
    """Return the model that speaks for a person."""
    own = run.participant_models.get(speaker or "")
    return run.model if own is None else own.model


def reader_in(annotation: Annotation) -> str:
    """Return the model of an annotation without the precision in which it computed."""
    return annotation.model.rpartition(" in ")[0]


def numbers_of(answers: Mapping[str, int | str]) -> dict[str, float]:
    """Return the answers that are finite numbers."""
    found = {}
    for name, answer in answers.items():
        try:
            value = float(answer)
        except ValueError:
            continue
        if isfinite(value):
            found[name] = value
    return found


def checks_of(store: Store, run: RunRecord, record: TurnRecord, number: int) -> list[Annotation]:
    """Return the annotations that checks have left of the line, or the thought, of that number."""
    if record.prompt is None:
        return []
    found = store.annotations_of_turn(run.run, record.turn.turn, "leave_one_out", "line_scores")
    return [each for each in found if each.part == number and each.prompt == record.prompt]


def read_checked(
    store: Store, run: RunRecord, record: TurnRecord, number: int, writer: str, reader: str | None = None
) -> Checked:
    """Return the results of checks of a line: by a reader, else by its writer, else by the model that scored it."""
    found = checks_of(store, run, record, number)
    if not found:
        return NOT_CHECKED
    first = [reader, writer, reader_of(record.line_scored_by)]
    scored: Mapping[str, Any] = {}
    scores = _preferred([each for each in found if each.instrument == "line_scores"], first)
    if record.line_scores is None and scores is not None:
        scored = {"line_scores": numbers_of(scores.answers), "line_scored_by": scores.agent}
        first.append(reader_in(scores))
    losses = _preferred([each for each in found if (each.instrument, each.agent) == ("leave_one_out", LOSSES)], first)
    if losses is None:
        return Checked(scored, tokens=scores.reply_tokens or None if scored and scores is not None else None)
    return Checked(scored, numbers_of(losses.answers), reader_in(losses), losses.reply_tokens or None)


def _preferred(found: Iterable[Annotation], readers: Sequence[str | None]) -> Annotation | None:
    """Return the annotation of the first of these readers that has one, or of another; of several the fullest."""

    def rank(annotation: Annotation) -> tuple[int, int]:
        name = reader_in(annotation)
        return readers.index(name) if name in readers else len(readers), -len(annotation.answers)

    return min(found, key=rank, default=None)
