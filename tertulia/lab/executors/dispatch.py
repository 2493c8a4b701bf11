"""Hand cohorts to workers, again if a worker died, and merge the shards that come back.

The place of workers, and the talk with them, are up to a crew (`lab.executors.processes`, `lab.executors.ray_cluster`).
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from tertulia.lab.executors.messages import Assignment, Died, Driven, Happened, Message, Ready, Setup, Unable
from tertulia.lab.executors.purses import FilePurse
from tertulia.lab.experiments.cohorts import PlannedCase, Planner, check_files, first_of_settings, models_of_tasks
from tertulia.lab.experiments.fork_points import parents_of
from tertulia.lab.experiments.reached import CohortTask
from tertulia.lab.experiments.shards import ShardFolder, gather, hand_over, stop_requests, take_in
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit, Noted, RunEnded
from tertulia.runs.driving.interrupting import interruptible
from tertulia.runs.driving.limits import Limits
from tertulia.runs.planning.additions import Additions
from tertulia.state.budget import Purse
from tertulia.state.errors import BudgetError, ModelError, NotFoundError, StoppedError, TertuliaError
from tertulia.state.records import EndedBy
from tertulia.storage.store import SqlStore

#: After so many workers that died while they drove it, a cohort is given up: it may be their killer.
MOST_DEATHS = 3


class Crew(Protocol):
    """Workers of one kind, by their numbers: started, talked to, and stopped."""

    def hire(self, setup: Setup) -> int:
        """Start a worker and return its number.

        Raises:
            TertuliaError: None can be started at all.
        """

    def give(self, worker: int, assignment: Assignment) -> None:
        """Let a worker drive a cohort; if it is gone already, its death is a message."""

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Wait for a moment whether workers have something to say, and yield that; `Died` is the last of a worker.

        Raises:
            TertuliaError: Nobody will say anything any more.
        """

    def dismiss(self) -> None:
        """Stop all workers: their cohorts are interrupted, and lie in their shards."""


@dataclass(frozen=True)
class Dispatcher:
    """Drives the cohorts of an experiment with a crew."""

    store: SqlStore
    folder: ShardFolder
    access: ModelAccess
    additions: Additions
    emit: Emit
    limits: Limits = field(default_factory=Limits)
    purse: Purse | None = None

    def drive(self, tasks: Sequence[CohortTask], crew: Crew, size: int) -> None:
        """Drive cohorts to their ends with so many workers, or fewer if there are fewer cohorts.

        Raises:
            UsageError: A model can't do as a setting asks, or has no price for the budget; or the file of a scenario
                has changed; nothing was run.
            TrustError: A file alone names a remote model.
            StoppedError: The budget is spent, or a stop was asked for; the workers' runs are in the store.
            TertuliaError: No worker can open the models; or a cohort can't be begun.
            KeyboardInterrupt: It was interrupted; the workers' runs are in the store.
        """
        if not tasks:
            return
        check_files(self.store, tasks, self.additions)
        settings = first_of_settings(self.store, tasks, self.additions)
        names = models_of_tasks(self.store, tasks, settings)
        self.access.require(names)  # workers can't ask the user
        self.limits.budget.check_prices(names)
        self.folder.make()
        budget = replace(self.limits.budget, max_minutes=None)
        purse = self._purse()
        setup = Setup(self.access.handed_over(), self.additions.handed_over(), tuple(settings), budget, purse)
        dispatch = _Dispatch(self, crew, setup, tasks)
        with interruptible():
            try:
                dispatch.run(size)
            except (KeyboardInterrupt, SystemExit):
                self.store.reopen()  # it may have come in the middle of a transaction, or of a query
                raise
            except StoppedError as error:
                dispatch.stop = error
                raise
            finally:
                crew.dismiss()
                gather(self.store, self.folder, self.emit)
                dispatch.note_interrupted()

    def _purse(self) -> Purse | None:
        """Return the file in which workers count their spending; `None` without a budget."""
        if self.purse is not None or self.limits.budget.is_none:
            return self.purse
        purse = FilePurse(self.folder.purse, self.limits.budget.max_calls)
        purse.begin()
        return purse


class _Dispatch:
    def __init__(self, dispatcher: Dispatcher, crew: Crew, setup: Setup, tasks: Sequence[CohortTask]) -> None:
        self._store, self._folder, self._emit = dispatcher.store, dispatcher.folder, dispatcher.emit
        self._planner, self._crew, self._setup = Planner(dispatcher.store, dispatcher.additions), crew, setup
        self._left = deque(filter(self._may_be_driven, _with_ids(self._store, tasks)))
        self._planned: dict[tuple[str, ...], tuple[PlannedCase, ...]] = {}  # by the runs of a cohort
        self._deaths: Counter[tuple[str, ...]] = Counter()
        self._loading, self._idle = set[int](), set[int]()
        self._driving: dict[int, CohortTask] = {}
        self._unable: dict[int, TertuliaError] = {}
        self._untold: list[TertuliaError] = []  # until another worker can open the models
        self._can_open, self._died_loading = False, 0
        self._experiment, self._limits = tasks[0].experiment.name, dispatcher.limits
        self._look = stop_requests(dispatcher.store, self._experiment).look_if_possible
        self._begun = set[str]()
        self.stop: StoppedError | None = None

    def note_interrupted(self) -> None:
        """Store that trials were interrupted whose worker was stopped or killed, and why."""
        ended_by: EndedBy = "budget" if isinstance(self.stop, BudgetError) else "stopped"
        for record in self._store.runs(experiment=self._experiment):
            is_stopped = record.status == "interrupted" and record.error is None and record.run in self._begun
            if record.status == "running" or (is_stopped and self.stop is not None):
                self._store.set_status(record.run, "interrupted", str(self.stop) if self.stop else None, ended_by)

    def run(self, size: int) -> None:
        for _ in range(min(size, len(self._left))):
            self._hire()
        while self._left or self._driving:
            self._hand_out()
            if not self._loading and not self._driving:
                raise next(reversed(self._unable.values()), ModelError("no worker is left; run the command again"))
            self._limits.check(self._look)
            for worker, message in self._crew.messages():
                self._take(worker, message)

    def _hire(self) -> None:
        self._loading.add(self._crew.hire(self._setup))

    def _hand_out(self) -> None:
        while self._idle and self._left:
            task, worker = self._left.popleft(), self._idle.pop()
            shard = self._folder.shard(task)
            needed = parents_of(trial.case for trial in task.trials) if task.trials else task.runs
            if needed and not shard.exists():
                hand_over(self._store, needed, shard)
            self._driving[worker] = task
            self._begun.update(task.runs)
            self._crew.give(worker, Assignment(task, self._plan(task), str(shard)))
        if self._left:
            self._plan(self._left[0])  # while the others work

    def _may_be_driven(self, task: CohortTask) -> bool:
        """Return whether the store may take in a worker's runs of a cohort; if it has refused, say so."""
        refused = self._folder.refused(task)
        if refused is None:
            return True
        why = f"the store refuses what a worker made of it, which is kept as {refused}"
        way = "--workers 1 goes on with what the store has; or remove that file, and the command drives it once more"
        self._emit(Noted(task.runs[0], f"is not driven again: {why}; {way}"))
        return False

    def _plan(self, task: CohortTask) -> tuple[PlannedCase, ...]:
        if task.runs not in self._planned:
            self._planned[task.runs] = tuple(self._planner.planned(task))
        return self._planned[task.runs]

    def _take(self, worker: int, message: Message) -> None:
        match message:
            case Ready():
                self._loading.discard(worker)
                self._idle.add(worker)
                self._can_open, self._died_loading = True, 0
                self._tell_unable()
            case Happened(events):
                for event in events:
                    self._emit(event)
            case Driven(error):
                self._finish(self._driving.pop(worker))
                self._idle.add(worker)
                if error is not None:
                    raise error
            case Unable(error):
                self._lose(worker, error)
            case Died(how):
                self._bury(worker, how)

    def _finish(self, task: CohortTask) -> None:
        self._planned.pop(task.runs, None)
        shard = self._folder.shard(task)
        for problem in take_in(self._store, shard) if shard.exists() else ():
            self._emit(Noted(task.runs[0], problem))

    def _lose(self, worker: int, error: TertuliaError) -> None:
        """Go on without a worker that can't open the models; if none can, one line says so, at the end."""
        self._loading.discard(worker)
        self._unable[worker] = error
        self._untold.append(error)
        self._tell_unable()

    def _tell_unable(self) -> None:
        while self._can_open and self._untold:
            self._emit(Noted("", f"a worker can't take part: {self._untold.pop(0)}"))

    def _bury(self, worker: int, how: str) -> None:
        if worker in self._loading:
            self._died_loading += 1
            self._lose(worker, ModelError(f"it died while it opened the models ({how})"))
            if self._left and self._died_loading < MOST_DEATHS:
                self._hire()  # it was perhaps on a node that is gone
            return
        if worker in self._unable:
            return  # it has ended as it said; another one here could not open them either
        self._idle.discard(worker)
        task = self._driving.pop(worker, None)
        if task is not None:
            self._deaths[task.runs] += 1
            if self._deaths[task.runs] >= MOST_DEATHS:
                self._give_up(task, how)
            else:
                self._left.appendleft(task)
                self._emit(Noted("", f"a worker died ({how}); what it drove goes on with another one"))
        if self._left:
            self._hire()

    def _give_up(self, task: CohortTask, how: str) -> None:
        """Let the runs of a cohort fail that has killed its workers."""
        self._finish(task)
        error = ModelError(f"{MOST_DEATHS} workers died while they drove it, the last one: {how}")
        for run in task.runs:
            turns = 0
            with suppress(NotFoundError):
                record = self._store.run(run)
                if record.status == "finished":
                    continue
                turns = record.turns
                self._store.set_status(run, "failed", str(error))
            self._emit(RunEnded(run, "failed", turns, error))


def _with_ids(store: SqlStore, tasks: Sequence[CohortTask]) -> list[CohortTask]:
    """Return tasks with ids for the runs that their trials become, which no run of the store has."""
    ids = iter(store.new_run_ids(sum(len(task.trials) for task in tasks)))
    return [replace(task, runs=tuple(next(ids) for _ in task.trials)) if task.trials else task for task in tasks]
