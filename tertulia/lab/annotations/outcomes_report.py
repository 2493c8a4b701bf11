"""What came of runs for their people, by rules and by a model, and how far the two agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tertulia.lab.annotations.behaviour_report import Evidence
from tertulia.lab.annotations.outcomes import MEETING, JudgedOutcome
from tertulia.metrics.curves import spearman
from tertulia.metrics.outcome_records import RANGES, GoalOutcome, Outcomes, PersonOutcome
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.records import Record, RunRecord
from tertulia.views.measuring.outcomes import reads, scores_of

_REHEARSAL = "rehearsal"
#: Pairs of scores from which their ranks are compared.
_RANKED = 5


class Agreement(Record):
    """How far rules and a model agree on a dimension."""

    dimension: str
    pairs: int
    mean_difference: float
    spearman: float | None


@dataclass(frozen=True)
class RunOutcomes:
    """What came of a run by rules, and what a model says, by person and dimension; nothing if none was asked."""

    run: RunRecord
    outcomes: Outcomes
    judged: Mapping[tuple[str, str], JudgedOutcome]

    def scores(self) -> Iterator[tuple[str, str, float | None]]:
        """Yield person, dimension and score by rules; the meeting's own under an empty name."""
        for person in self.outcomes.people:
            yield from ((person.agent, dimension, score) for dimension, score in scores_of(person).items())
        if self.outcomes.meeting is not None:
            yield "", MEETING, self.outcomes.meeting.score


@dataclass(frozen=True)
class OutcomesReport:
    """The outcomes of some runs."""

    runs: Sequence[RunOutcomes]
    embedder: str
    judge: str | None

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke or judged, so that the figures mean nothing."""
        return self.judge == _REHEARSAL or any(of.run.rehearsed for of in self.runs)

    @property
    def agreement(self) -> list[Agreement]:
        """How far rules and the model agree, by dimension, where both gave a score."""
        pairs: dict[str, list[tuple[float, int]]] = {}
        for of in self.runs:
            for agent, dimension, score in of.scores():
                judged = of.judged.get((agent, dimension))
                if score is not None and judged is not None:
                    pairs.setdefault(dimension, []).append((score, judged.score))
        return [_agreement(dimension, pairs[dimension]) for dimension in (*RANGES, MEETING) if dimension in pairs]

    @property
    def notes(self) -> list[str]:
        """Caveats on the figures."""
        notes = []
        if any(of.run.rehearsed for of in self.runs):
            notes.append("a stand-in without weights spoke: nothing was meant by any line")
        if unread := [of.run.run for of in self.runs if not reads(of.run)]:
            notes.append(f"rules know the words of English; of {', '.join(unread)} they say believability alone")
        if not all(of.run.status == "finished" for of in self.runs):
            notes.append("a run that is not finished is scored as far as it goes")
        return notes


def outcomes_document(report: OutcomesReport) -> Document:
    """Return the outcomes of runs as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "embedder": report.embedder,
        "judge": report.judge,
        "rehearsed": report.rehearsed,
        "ranges": {dimension: list(limits) for dimension, limits in RANGES.items()},
        "runs": [_run_document(of) for of in report.runs],
        "agreement": [agreement.model_dump() for agreement in report.agreement],
        "notes": report.notes,
    }


def evidence_of(person: PersonOutcome) -> list[Evidence]:
    """Return what shows a person's scores: how each goal ended, where a secret came out, and what was news."""
    shown = [Evidence(1, f"wants, {_score(goal.score)}{_in_turns(goal.turns)}", goal.text) for goal in person.goals]
    if person.told_in:
        shown.append(Evidence(1, "gives away the secret", _in_turns(person.told_in).removeprefix(", ")))
    return shown + [Evidence(1, f"learns in turn {fact.turn}", fact.text) for fact in person.learned]


def settled(meeting: GoalOutcome) -> Evidence:
    """Return how far a meeting settled what it is about."""
    return Evidence(1, f"settled, {_score(meeting.score)}{_in_turns(meeting.turns)}", meeting.text)


def _score(score: float | None) -> str:
    return "nothing was said of it" if score is None else f"{score:.1f}"


def _in_turns(turns: Sequence[int]) -> str:
    return f", turns {', '.join(map(str, turns))}" if turns else ""


def _agreement(dimension: str, pairs: Sequence[tuple[float, int]]) -> Agreement:
    by_rules, by_model = np.array(pairs, dtype=np.float64).T
    return Agreement(
        dimension=dimension,
        pairs=len(pairs),
        mean_difference=float(np.abs(by_rules - by_model).mean()),
        spearman=spearman(by_rules, by_model) if len(pairs) >= _RANKED else None,
    )


def _run_document(of: RunOutcomes) -> Document:
    meeting = of.outcomes.meeting
    return {
        "run": of.run.run,
        "scenario": of.run.scenario,
        "rehearsed": of.run.rehearsed,
        "people": [
            person.model_dump() | {"judge": _judged_document(of, person.agent)} for person in of.outcomes.people
        ],
        "pairs": [pair.model_dump() for pair in of.outcomes.pairs],
        "meeting": None if meeting is None else meeting.model_dump() | {"judge": _judged_document(of, "").get(MEETING)},
    }


def _judged_document(of: RunOutcomes, agent: str) -> Document:
    return {
        dimension: {"score": judged.score, "comment": judged.comment}
        for (name, dimension), judged in of.judged.items()
        if name == agent
    }
