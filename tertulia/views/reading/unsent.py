"""The parameters of sampling that servers did not take: a run's own are unknown then, and not those that were set."""

from tertulia.state.documents import Document
from tertulia.state.records import RunRecord
from tertulia.state.store import Store


def sent_document(store: Store, run: RunRecord) -> Document:
    """Return a run's parameters, null for those that its model's server did not take, and all that servers did not."""
    unsent = store.unsent(run.run)
    unknown = unsent.get(run.model, frozenset()) & run.parameters.keys()
    return {
        "parameters": {**run.parameters, **dict.fromkeys(unknown)},
        "unsent": {model: sorted(names) for model, names in unsent.items()},
    }


def unsent_in_words(store: Store, run: RunRecord) -> list[str]:
    """Return a line for each model whose server did not take a parameter."""
    left_out = store.unsent(run.run).items()
    return [f"unknown, as {model} was not sent them: {', '.join(sorted(names))}" for model, names in left_out]
