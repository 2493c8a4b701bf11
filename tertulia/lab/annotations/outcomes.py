"""Have a model judge the outcome of a conversation for each of its people, a call per person and dimension; the report.

Source: Zhou et al. 2024 (SOTOPIA-EVAL), for the dimensions and their ranges.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.prompts.annotation import ask_outcome
from tertulia.state.annotation import Annotation
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.language_model import REHEARSAL, ReplyField
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Participant, RunRecord, Turn

Dimension = Literal["goal", "relationship", "secret", "knowledge", "believability"]

#: The lowest and the highest score of each dimension. Source: Zhou et al. 2024, SOTOPIA-EVAL.
RANGES: Mapping[Dimension, tuple[int, int]] = {
    "goal": (0, 10),
    "relationship": (-5, 5),
    "secret": (-10, 0),
    "knowledge": (0, 10),
    "believability": (0, 10),
}

#: The question about a meeting as a whole, and its range.
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
    """Return the requests about a conversation, for its speakers and the dimensions that apply to each.

    A goal is asked of its owner, a secret of its owner, relationship and knowledge of people whose partner spoke, and
    the settlement of a meeting with a description.
    """
    speakers = {turn.speaker for turn in turns if turn.speaker is not None}
    requests = []
    for name in (name for name in start.names if name in speakers):
        asked = _asked_of(start, name, has_partner=len(speakers) > 1)
        requests += [_annotation_request(turns, name, question, known) for question, known in asked]
    if isinstance(start, Meeting) and speakers:
        requests.append(_annotation_request(turns, "", MEETING, [("about", start.description)]))
    return requests


def judged_outcomes(annotations: Sequence[Annotation]) -> dict[tuple[str, str], JudgedOutcome]:
    """Return a model's answers to all requests, by person and dimension; of the meeting under an empty name."""
    questions = list(_QUESTIONS)
    return {
        (annotation.agent, questions[annotation.part]): JudgedOutcome(
            score=int(annotation.answers[_SCORE]), comment=str(annotation.answers[_COMMENT])
        )
        for annotation in annotations
    }


def _asked_of(start: Start, name: str, has_partner: bool) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the dimensions that apply to a person, each with the facts about them that the reader is given."""
    person = start.participant(name)
    if goals := _goals_of(person):
        yield (
            "goal",
            [entry for goal, steps in goals for entry in (("goal", goal), *(("step", step) for step in steps))],
        )
    if has_partner:
        yield "relationship", []
    if person.secrets:
        yield "secret", [("secret", secret) for secret in person.secrets]
    if has_partner:
        yield "knowledge", []
    yield "believability", []


def _goals_of(participant: Participant) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a participant's goals, each with its steps, as the scenario has them."""
    return tuple((goal.text, goal.sub_goals) for goal in participant.goals)


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


@dataclass(frozen=True)
class RunOutcomes:
    """The outcome of a run, by person and dimension; of a meeting as a whole under an empty name.

    Attributes:
        lines: By participant, the number of turns that they spoke.
    """

    run: RunRecord
    lines: Mapping[str, int]
    judged: Mapping[tuple[str, str], JudgedOutcome]

    @property
    def meeting(self) -> JudgedOutcome | None:
        """How far a meeting settled its matter; `None` of a dialogue."""
        return self.judged.get(("", MEETING))

    def of(self, agent: str) -> Iterator[tuple[Dimension, JudgedOutcome | None]]:
        """Yield a person's outcome in each dimension; `None` in one that does not apply."""
        yield from ((dimension, self.judged.get((agent, dimension))) for dimension in RANGES)


@dataclass(frozen=True)
class OutcomesReport:
    """The outcomes of some runs."""

    runs: Sequence[RunOutcomes]
    judge: str

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke or judged, so that the figures mean nothing."""
        return self.judge == REHEARSAL or any(of.run.rehearsed for of in self.runs)

    @property
    def notes(self) -> list[str]:
        """Caveats on the figures."""
        notes = []
        if any(of.run.rehearsed for of in self.runs):
            notes.append("a stand-in without weights spoke: nothing was meant by any line")
        if not all(of.run.status == "finished" for of in self.runs):
            notes.append("a run that is not finished is judged as far as it goes")
        return notes


def lines_by_person(start: Start, turns: Sequence[Turn]) -> Mapping[str, int]:
    """Return the number of turns of each participant, in the order of the scenario."""
    counts = Counter(turn.speaker for turn in turns)
    return {name: counts[name] for name in start.names}


def outcomes_document(report: OutcomesReport) -> Document:
    """Return the outcomes of runs as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "judge": report.judge,
        "rehearsed": report.rehearsed,
        "ranges": {dimension: list(limits) for dimension, limits in RANGES.items()},
        "runs": [_run_document(of) for of in report.runs],
        "notes": report.notes,
    }


def _run_document(of: RunOutcomes) -> Document:
    people: list[Document] = [
        {"agent": agent, "lines": lines} | {dimension: _document(outcome) for dimension, outcome in of.of(agent)}
        for agent, lines in of.lines.items()
    ]
    return {
        "run": of.run.run,
        "scenario": of.run.scenario,
        "rehearsed": of.run.rehearsed,
        "people": people,
        "meeting": _document(of.meeting),
    }


def _document(outcome: JudgedOutcome | None) -> Document | None:
    return None if outcome is None else {"score": outcome.score, "comment": outcome.comment}
