"""Figures that a model computed of stored conversations are kept with the precision in which it did."""

from collections.abc import Iterable, Iterator

from tertulia.models.local.platforms import platform_of
from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.language_model import LanguageModel
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

#: The precision of a model that tells none.
_UNKNOWN = "an unknown precision"


def precision_of(model: LanguageModel) -> str:
    """Return the precision in which a model computes."""
    platform = platform_of([model])
    return _UNKNOWN if platform is None else platform.precision


def named_with(name: str, precision: str) -> str:
    """Return the name under which figures of a model in a precision are kept."""
    return f"{name} in {precision}"


def kept_figures(
    store: SqlStore, instrument: Instrument, name: str, runs: Iterable[str]
) -> Iterator[tuple[str, str, Annotation]]:
    """Yield a model's annotations of runs, each with its precision and its run."""
    annotations = Annotations(store.file)
    for run in runs:
        for annotation in annotations.of(run, instrument):
            model, _, precision = annotation.model.rpartition(" in ")
            if model == name:
                yield precision, run, annotation
