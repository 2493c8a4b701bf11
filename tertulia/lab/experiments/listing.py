"""The experiments of a store, and how far each is."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tertulia.lab.experiments.experiment import experiment_of
from tertulia.lab.experiments.reached import progress_of
from tertulia.state.experiment import ExperimentRecord
from tertulia.storage.store import SqlStore


@dataclass(frozen=True)
class ListedExperiment:
    """An experiment, its size, and how many of its trials have which status."""

    experiment: str
    description: str
    model: str
    settings: int
    cases: int
    trials: int
    finished: int
    failed: int
    missing: int
    created: str

    def cells(self) -> Iterator[Any]:
        """Yield the cells of a row of a table: all but the description."""
        yield from (value for name, value in asdict(self).items() if name != "description")

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def listed_experiments(store: SqlStore) -> list[ListedExperiment]:
    """Return the experiments of a store, newest first; those that failed are not among the missing."""
    store.experiments.check_whole()
    return [listed_experiment(store, record) for record in store.experiments.all()]


def listed_experiment(store: SqlStore, record: ExperimentRecord) -> ListedExperiment:
    """Return how far an experiment is.

    Raises:
        StorageError: Its definition can't be read, as a newer version may have written it.
    """
    experiment = experiment_of(record)
    reached = progress_of(store, experiment)
    failed = len(reached.with_status("failed"))
    return ListedExperiment(
        experiment=record.experiment,
        description=experiment.description,
        model=experiment.model,
        settings=len(experiment.settings),
        cases=len(experiment.cases),
        trials=experiment.trials,
        finished=len(reached.with_status("finished")),
        failed=failed,
        missing=reached.missing - failed,
        created=f"{record.created:%Y-%m-%d %H:%M}",
    )
