"""The runs of a store: the tree of forks, simulations folded into one row each, labels, and the deletion of runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.records import Case, RunRecord, RunStatus, order_of
from tertulia.state.text import counted, in_words, size_of
from tertulia.state.town import Simulation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.documents import parent_document

#: The columns of a table of runs.
HEADINGS = ("run", "status", "scenario", "order", "λ", "seed", "turns", "model", "from", "date", "label", "ended_by")

_SCENARIO_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class RunRow:
    """A row of a table: a run, or a simulation for its conversations.

    Attributes:
        run: The run; of a simulation, its newest conversation under the simulation's id, with the turns of all.
        depth: The number of forks that lead to it.
        conversations: The number of conversations of the simulation; 0 for a run.
    """

    run: RunRecord
    depth: int
    conversations: int


@dataclass(frozen=True)
class RunList:
    """Runs of a store, newest first.

    Attributes:
        simulations: All simulations of the store.
        conversations: The simulation of each run that is a conversation of one.
        names: The name of a scenario in its own file, if that differs.
    """

    runs: Sequence[RunRecord] = ()
    simulations: Sequence[Simulation] = ()
    conversations: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, run: RunRecord) -> str:
        """Return the name of a run's scenario, from its own file if that has one."""
        return self.names.get(run.scenario, run.scenario)

    def cells(self, row: RunRow) -> tuple[str, ...]:
        """Return a row of the table, in the order of `HEADINGS`."""
        run = row.run
        order = order_of(run)
        origin = f"{run.parent[0]} turn {run.parent[1]}" if run.parent else ""
        return (
            f"{'  ' * (row.depth - 1)}└ {run.run}" if row.depth else run.run,
            run.status,
            self.name_of(run),
            in_words(order) if order else "–",
            f"{run.parameters.get('removal_factor', 0):g}",
            str(run.seed),
            str(run.turns),
            run.model,
            counted(row.conversations, "conversation") if row.conversations else origin,
            date_of(run),
            run.label or "",
            run.ended_by or "",
        )

    @property
    def rows(self) -> list[RunRow]:
        """The rows of the table: forks under their parents, the conversations of a simulation as one."""
        counts = Counter(self.conversations.values())
        return [RunRow(run, depth, counts[run.run]) for run, depth in self._tree([*self._folded()])]

    def _folded(self) -> Iterator[RunRecord]:
        """Yield the runs, with one record for all conversations of a simulation, in place of its newest."""
        turns: Counter[str] = Counter()
        for run in self.runs:
            turns[self.conversations.get(run.run, "")] += run.turns
        pending = {simulation.simulation: simulation for simulation in self.simulations}
        for run in self.runs:
            if run.run not in self.conversations:
                yield run
            elif simulation := pending.pop(self.conversations[run.run], None):
                name = simulation.simulation
                of_simulation = simulation.model_dump(include={"status", "ended_by", "seed"})
                yield run.model_copy(update={"run": name, "turns": turns[name], **of_simulation})

    def _tree(self, runs: Sequence[RunRecord]) -> Iterator[tuple[RunRecord, int]]:
        """Yield runs with their depth in the tree of forks, each before its forks, else in the order given.

        Forks of a simulation's conversation are under the simulation; the others need a parent that is listed.
        """
        listed = {run.run for run in runs}
        forks: dict[str, list[RunRecord]] = {}
        for run in runs:
            parent = run.parent[0] if run.parent else ""
            parent = self.conversations.get(parent, parent)
            forks.setdefault(parent if parent in listed else "", []).append(run)
        stack = [(run, 0) for run in reversed(forks.get("", []))]
        while stack:
            run, depth = stack.pop()
            yield run, depth
            stack += [(fork, depth + 1) for fork in reversed(forks.get(run.run, []))]


def list_runs(
    store: SqlStore,
    scenario: str | None = None,
    status: RunStatus | None = None,
    label: str | None = None,
    limit: int | None = None,
) -> RunList:
    """Return the runs of a store that match all filters, newest first; a scenario by its id or as it is listed."""
    runs = store.runs(scenario, status, label, limit)
    names = names_of_files(store, ((run.run, run.kind, run.scenario) for run in runs))
    if scenario is not None and not runs:
        every = store.runs(None, status, label)
        names = names_of_files(store, ((run.run, run.kind, run.scenario) for run in every))
        runs = [run for run in every if names.get(run.scenario) == scenario][:limit]
    return RunList(runs, store.simulations.all(), store.simulations.conversations(), names)


def names_of_files(store: SqlStore, runs: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return by scenario file the title of its meeting; for a dialogue, which has none, the file's name.

    Those that have a name in common are told by their whole paths.

    Args:
        runs: The id, kind and scenario of each run.
    """
    names: dict[str, str] = {}
    for run, kind, scenario in runs:
        if scenario.endswith(_SCENARIO_FILES) and scenario not in names:
            start = None if kind == "dialogue" else store.start(run)
            names[scenario] = PurePath(scenario).stem if start is None or isinstance(start, Case) else start.title
    times = Counter(names.values())
    return {scenario: name if times[name] == 1 else scenario for scenario, name in names.items()}


def date_of(run: RunRecord) -> str:
    """Return the beginning of a run in the local time zone, to the minute."""
    return f"{run.created.astimezone():%Y-%m-%d %H:%M}"


def runs_document(listed: RunList) -> Document:
    """Return runs as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [
            {
                "run": run.run,
                "status": run.status,
                "ended_by": run.ended_by,
                "scenario": run.scenario,
                "order": order_of(run),
                "model": run.model,
                "seed": run.seed,
                "turns": run.turns,
                "parent": parent_document(run),
                "simulation": listed.conversations.get(run.run),
                "removal_factor": run.parameters.get("removal_factor"),
                "rehearsed": run.rehearsed,
                "created": run.created.isoformat(),
                "error": run.error,
                "name": listed.name_of(run),
                "label": run.label,
                "trial": None if run.trial is None else run.trial.model_dump(),
                "date": date_of(run),
            }
            for run in listed.runs
        ],
    }


# --- deletion -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deletion:
    """The runs that are to be deleted, and the space that this frees.

    Attributes:
        runs: The named runs.
        forks: Their forks, and forks of those, that were not named.
        bytes: Bytes of their checkpoints; texts that other runs use stay.
    """

    runs: tuple[RunRecord, ...]
    forks: tuple[RunRecord, ...]
    bytes: int

    @property
    def turns(self) -> int:
        """The number of turns that are deleted."""
        return sum(run.turns for run in (*self.runs, *self.forks))

    def __str__(self) -> str:
        names = ", ".join(f"{run.run} ({run.scenario}, {run.status})" for run in self.runs)
        forks = f"; {counted(len(self.forks), 'fork')}: {', '.join(fork.run for fork in self.forks)}"
        turns, size = counted(self.turns, "turn"), f"{size_of(self.bytes)} of checkpoints"
        return f"{names}{forks if self.forks else ''}; {turns} in all, {size}"


def plan_deletion(store: SqlStore, names: Iterable[str], with_forks: bool = False) -> Deletion:
    """Return the runs to delete, without deleting anything.

    Args:
        names: Ids of runs, or `@last`.
        with_forks: Whether forks that were not named are removed, too.

    Raises:
        NotFoundError: There is no such run.
        UsageError: A run is a conversation of a simulation, or has forks that are not removed.
    """
    runs: dict[str, RunRecord] = {run.run: run for run in map(store.run, names)}
    forks: dict[str, RunRecord] = {}
    for run in runs:
        dependents = store.dependents_of(run)
        if dependents.simulation is not None:
            raise UsageError(
                f"run {run} is a conversation of simulation {dependents.simulation}, which would not be whole without "
                "it; it stays"
            )
        forks |= {fork: store.run(fork) for fork in dependents.forks if fork not in runs}
    if forks and not with_forks:
        raise UsageError(
            f"{', '.join(forks)} would stay, and have turns in common with what is to be removed; "
            "remove these forks too with --with-forks"
        )
    sizes = store.checkpoint_sizes()
    return Deletion(tuple(runs.values()), tuple(forks.values()), sum(sizes.get(run, 0) for run in (*runs, *forks)))


def delete(store: SqlStore, deletion: Deletion) -> None:
    """Delete runs with all their records (see `plan_deletion`).

    Raises:
        StorageError: Another process drives one of the runs.
    """
    gone: set[str] = set()
    for run in sorted(deletion.runs, key=lambda run: run.created):  # a parent goes with its forks
        if run.run not in gone:
            gone |= {*store.remove_run(run.run, with_forks=True)}


def checkpoints_of(store: SqlStore, names: Iterable[str] = ()) -> tuple[dict[str, int], dict[str, RunStatus]]:
    """Return checkpoint bytes by finished run, and the status of other runs with some; of all runs or of `names`."""
    named = {store.run(name).run for name in names}
    sizes = {name: size for name, size in store.checkpoint_sizes().items() if not named or name in named}
    kept: dict[str, RunStatus] = {
        run.run: run.status for run in store.runs() if run.status != "finished" and run.run in sizes
    }
    return {name: size for name, size in sizes.items() if name not in kept}, kept


def set_label(store: SqlStore, run: str, label: str) -> RunRecord:
    """Label a run; an empty label removes it.

    Raises:
        NotFoundError: There is no such run.
    """
    record = store.run(run)
    store.set_label(record.run, label or None)
    return record
