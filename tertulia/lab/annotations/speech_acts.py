"""Have a model name the speech act of each line, ten lines a call, with the lines before as context."""

from collections.abc import Sequence

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.metrics.speech_acts import ACTS
from tertulia.prompts.annotation import ask_speech_acts
from tertulia.state.annotation import Annotation
from tertulia.state.language_model import ReplyField
from tertulia.state.records import Turn

LINES_PER_CALL = 10
#: Turns before the lines that a model reads as context.
_BEFORE = 3

_NONE = "none"


def speech_act_requests(turns: Sequence[Turn]) -> list[AnnotationRequest]:
    """Return the requests for a conversation."""
    lines = [turn for turn in turns if turn.speaker is not None]
    return [
        _annotation_request(turns, lines[first : first + LINES_PER_CALL])
        for first in range(0, len(lines), LINES_PER_CALL)
    ]


def acts_by_model(turns: Sequence[Turn], annotations: Sequence[Annotation]) -> list[tuple[str, ...]]:
    """Return the speech acts of each utterance: a single act, or none."""
    answers = {int(turn): str(act) for annotation in annotations for turn, act in annotation.answers.items()}
    acts = (answers[turn.turn] for turn in turns if turn.speaker is not None)
    return [() if act == _NONE else (act,) for act in acts]


def _annotation_request(turns: Sequence[Turn], lines: Sequence[Turn]) -> AnnotationRequest:
    first, last = lines[0].turn, lines[-1].turn
    before = [turn for turn in turns if first - _BEFORE <= turn.turn < first]
    return AnnotationRequest(
        instrument="speech_acts",
        agent="",
        first=first,
        last=last,
        part=0,
        prompt=ask_speech_acts(before, lines, ACTS),
        fields=tuple(ReplyField(str(turn.turn), "choice", choices=(*ACTS, _NONE)) for turn in lines),
    )
