"""The exported parts of a run: its lines and how they came about, its calls, and its figures.

No format is known here. Absolute times of calls are not stored: a call begins at the end of the one before it, from the
run's creation on, and lasts its share of the time of its batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from tertulia.lab.experiments.experiment import Experiment, experiment_of
from tertulia.lab.experiments.reached import progress_of
from tertulia.lab.reports.measures import figures_of_run
from tertulia.lab.reports.report import METRICS
from tertulia.prompts.render import as_messages, text_of
from tertulia.state.cognition import Call
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Candidate, Origin, Prompt, RunRecord, Trial, Unit
from tertulia.state.store import Store
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.costs import calls_paid
from tertulia.views.measuring.dialogues import dialogue_of_run, spoken_in
from tertulia.views.reading.turns import LineDetails, read_turn


@dataclass(frozen=True)
class Line:
    """An utterance or a silence.

    Attributes:
        part: `plan` or `answer` in an exchange of an album chat; `None`: the turn itself.
    """

    part: str | None
    details: LineDetails

    @property
    def turn(self) -> int:
        """The number of its turn, from 1."""
        return self.details.record.turn.turn

    @property
    def speaker(self) -> str | None:
        """The speaker; `None`: a silence."""
        return self.details.record.turn.speaker

    @property
    def text(self) -> str:
        """The line."""
        return self.details.record.turn.text

    @property
    def is_aloud(self) -> bool:
        """Whether it is said aloud: no silence, and no plan of an asker."""
        return self.speaker is not None and self.part != "plan"

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that is said; `None` for a silence."""
        chosen = self.details.record.chosen
        return next((each for each in self.details.candidates if each.attempt == chosen), None)

    @property
    def origin(self) -> Origin | None:
        """The origin of its words, `by_hand` if a person wrote them; `None` for a silence."""
        return self.chosen.origin if self.chosen else None

    def units(self) -> Iterator[tuple[Unit, float | None, int]]:
        """Yield each unit of its prompt, its score, and its place in the order of removal, from 1 (0: it is kept)."""
        record, prompt = self.details.record, self.details.prompt
        order = {unit: number for number, unit in enumerate(record.removed, start=1)}
        for unit in prompt.units if prompt else ():
            yield unit, (record.scores or {}).get(unit.id), order.get(unit.id, 0)


@dataclass(frozen=True)
class TimedCall:
    """A call of a model with the time at which it begins and ends, as far as that is known."""

    call: Call
    begins: float
    ends: float


class RecordedRun:
    """A run of a store, as exports read it."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        """Name a run; long parts are read when they are asked for."""
        self.store, self.run = store, run
        self.start: Start = store.start(run.run)

    def lines(self) -> Iterator[Line]:
        """Yield everybody's lines, silences and the parts of exchanges among them."""
        for turn in self.store.turns(self.run.run):
            details = read_turn(self.store, self.run, self.start, turn.turn)
            if plan := details.parts.get("plan"):
                yield Line("plan", plan)
            yield Line(None, details)
            if answer := details.parts.get("answer"):
                yield Line("answer", answer)

    def calls(self) -> dict[int, list[TimedCall]]:
        """Return the calls that it paid for, by round, 0 the preparation, in the order in which they are stored.

        A fork did not pay for those of its parent, so that sums over several runs count each call once.
        """
        rounds: dict[int, list[TimedCall]] = {}
        now = self.created.timestamp()
        for call in calls_paid(self.store, self.run):
            then = now + (call.seconds or 0.0)
            rounds.setdefault(call.round, []).append(TimedCall(call, now, then))
            now = then
        return rounds

    def inherits(self, turn: int) -> bool:
        """Return whether a turn is its parent's."""
        return self.run.parent is not None and turn < self.run.parent[1]

    @property
    def created(self) -> datetime:
        """When it was begun, in UTC."""
        return self.run.created.astimezone(UTC)

    @cached_property
    def figures(self) -> dict[str, float]:
        """Its figures as `Run.measure` has them: of it alone, and without an embedder."""
        case = "" if self.run.trial is None else self.run.trial.case
        return figures_of_run(self.store, self.run, case, METRICS)

    def place(self) -> Document:
        """Return its place in an experiment; null for each if it is of none."""
        fields = ("experiment", "setting", "case", "trial")
        return {name: None if self.run.trial is None else getattr(self.run.trial, name) for name in fields}

    def situation(self) -> str:
        """Return the common knowledge at the beginning: the topic, the time, the place, and the people."""
        start = self.start
        lines = [getattr(start, "title", None), getattr(start, "description", None), f"{start.time:%Y-%m-%d %H:%M}"]
        lines += [getattr(start, "place", None), ", ".join(start.names)]
        if isinstance(start, Meeting) and start.opening is not None:
            lines.append(f"{start.opening.speaker}: {start.opening.text}")
        return "\n".join(line for line in lines if line)


def recorded_runs(store: Store, runs: Sequence[RunRecord]) -> list[RecordedRun]:
    """Return runs to export.

    Raises:
        UsageError: Nobody speaks in one of them, or there is none.
    """
    if not runs:
        raise UsageError("there is no run to export; name one, or @last")
    for run in runs:
        dialogue_of_run(store, run)
    return [RecordedRun(store, run) for run in runs]


def runs_of_experiment(store: SqlStore, experiment: Experiment | str) -> list[RunRecord]:
    """Return the runs of an experiment, or of that of a name, with a spoken line, each with its place in it.

    Raises:
        NotFoundError: There is no such experiment.
        UsageError: Nobody speaks in any of its runs.
    """
    if isinstance(experiment, str):
        experiment = experiment_of(store.experiments.get(experiment))
    name = experiment.name
    runs: dict[str, RunRecord] = {}
    reached = progress_of(store, experiment).runs
    for case, setting, trial in experiment.places():
        if (run := reached.get((case, setting, trial))) is None:
            continue
        cohort = run.trial.cohort if run.trial else 1
        place = Trial(experiment=name, setting=setting, case=case, trial=trial, cohort=cohort)
        if run.run not in runs and spoken_in(store, run):
            runs[run.run] = run.model_copy(update={"trial": place})
    if not runs:
        raise UsageError(f"nobody speaks in a run of experiment {name!r} yet; `tertulia lab resume` goes on with it")
    return list(runs.values())


def prompt_messages(prompt: Prompt) -> list[dict[str, str]]:
    """Return a prompt as chat messages, each with its role and its content."""
    return [{"role": role, "content": text_of(units)} for role, units in as_messages(prompt)]
