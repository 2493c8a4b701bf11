"""The outcomes of runs for their people, as a model judges them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.annotations.outcomes import MEETING, RANGES, Dimension, JudgedOutcome
from tertulia.runs.access.model_names import REHEARSAL
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord, Turn


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
