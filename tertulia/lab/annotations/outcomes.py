"""Have a model judge what came of a conversation for each of its people, a call per person and dimension.

Source: Zhou et al. 2024 (SOTOPIA-EVAL), for the dimensions and their ranges.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.metrics.outcome_records import RANGES
from tertulia.prompts.annotation import ask_outcome
from tertulia.state.annotation import Annotation
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import Start
from tertulia.state.records import Turn
from tertulia.views.measuring.outcomes import about_of, goals_of

#: What is asked about a meeting as a whole, and its range.
MEETING = "meeting"
_QUESTIONS: Mapping[str, tuple[int, int]] = dict((*RANGES.items(), (MEETING, (0, 10))))

_COMMENT, _SCORE = "comment", "score"
#: Tokens that a comment may have.
_COMMENT_TOKENS = 60


@dataclass(frozen=True)
class JudgedOutcome:
    """The score that a model gave, in the dimension's range, and its reason."""

    score: int
    comment: str


def outcome_requests(start: Start, turns: Sequence[Turn]) -> list[AnnotationRequest]:
    """Return the requests about a conversation: for who spoke, each dimension of which something can be said.

    A goal is asked of who has one, a secret of who has one, relationship and knowledge where somebody else spoke, and
    what was settled in a meeting.
    """
    speakers = {turn.speaker for turn in turns if turn.speaker is not None}
    requests = []
    for name in (name for name in start.names if name in speakers):
        asked = _asked_of(start, name, has_partner=len(speakers) > 1)
        requests += [_annotation_request(turns, name, question, known) for question, known in asked]
    about = about_of(start)
    if about is not None and speakers:
        requests.append(_annotation_request(turns, "", MEETING, [("about", about)]))
    return requests


def judged_outcomes(annotations: Sequence[Annotation]) -> dict[tuple[str, str], JudgedOutcome]:
    """Return what a model answered to all requests, by person and dimension; of the meeting under an empty name."""
    questions = list(_QUESTIONS)
    return {
        (annotation.agent, questions[annotation.part]): JudgedOutcome(
            score=int(annotation.answers[_SCORE]), comment=str(annotation.answers[_COMMENT])
        )
        for annotation in annotations
    }


def _asked_of(start: Start, name: str, has_partner: bool) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the dimensions that apply to a person, each with what the reader is told of them."""
    person = start.participant(name)
    goals = goals_of(person)
    if goals:
        yield (
            "goal",
            [entry for goal, steps in goals for entry in (("goal", goal), *(("step", step) for step in steps))],
        )
    if has_partner:
        yield "relationship", []
    if person.secret is not None:
        yield "secret", [("secret", person.secret)]
    if has_partner:
        yield "knowledge", []
    yield "believability", []


def _annotation_request(
    turns: Sequence[Turn], name: str, question: str, known: Sequence[tuple[str, str]]
) -> AnnotationRequest:
    low, high = _QUESTIONS[question]
    return AnnotationRequest(
        instrument="outcomes",
        agent=name,
        first=turns[0].turn,
        last=turns[-1].turn,
        part=list(_QUESTIONS).index(question),
        prompt=ask_outcome(turns, question, name, known, (_COMMENT, _SCORE), (low, high)),
        fields=(
            ReplyField(_COMMENT, "text", max_tokens=_COMMENT_TOKENS),
            ReplyField(_SCORE, "integer", minimum=low, maximum=high),
        ),
    )
