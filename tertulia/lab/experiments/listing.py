"""The experiments of a store, and how far each is."""

from tertulia.lab.experiments.experiment import experiment_of
from tertulia.lab.experiments.reached import progress_of
from tertulia.state.documents import Document
from tertulia.state.experiment import ExperimentRecord
from tertulia.storage.store import SqlStore


def listed_experiments(store: SqlStore) -> list[Document]:
    """Return the experiments of a store, newest first; those that failed are not among the missing."""
    store.experiments.check_whole()
    return [listed_experiment(store, record) for record in store.experiments.all()]


def listed_experiment(store: SqlStore, record: ExperimentRecord) -> Document:
    """Return an experiment, its size, and how many of its trials have which status, as JSON.

    Raises:
        StorageError: Its definition can't be read, as a newer version may have written it.
    """
    experiment = experiment_of(record)
    reached = progress_of(store, experiment)
    failed = len(reached.with_status("failed"))
    return {
        "experiment": record.experiment,
        "description": experiment.description,
        "model": experiment.model,
        "settings": len(experiment.settings),
        "cases": len(experiment.cases),
        "trials": experiment.trials,
        "finished": len(reached.with_status("finished")),
        "failed": failed,
        "missing": reached.missing - failed,
        "created": f"{record.created:%Y-%m-%d %H:%M}",
    }
