"""All that `tertulia metrics` measures of dialogues, as one object and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tertulia.metrics.by_index import IndexFigures, by_index, mean_by_index
from tertulia.metrics.diversity import DiversityFigures, mean_over_cases, metrics_of_cases
from tertulia.metrics.exclusiveness import Exclusiveness, exclusiveness_of_cases, mean_exclusiveness
from tertulia.metrics.fluency import FluencyFigures, fluency_of_cases, mean_fluency
from tertulia.metrics.legibility import unread_cases, without_vectors
from tertulia.metrics.pruning import Inconsistency, Removal
from tertulia.metrics.variety import VarietyFigures, mean_variety, variety_of_cases
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.records import Record
from tertulia.state.store import Store
from tertulia.state.words import segmenter
from tertulia.views.measuring.cases import Cases
from tertulia.views.measuring.pruned_turns import inconsistency_of_runs, removal_of_runs
from tertulia.views.reading.faults import SenseFigures, mean_sense, sense_of

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Measurement:
    """The figures of dialogues, by case.

    Attributes:
        diversity: Similarity, dist-N and length.
        variety: dist-N at equal length, Vendi score, repetition, and the number of truncated dialogues.
        sense: The shares of lines that make no sense in their dialogue.
        by_index: Diversity at each index; `None`: not asked for.
        exclusiveness: Against other dialogues of the case; `None`: there are none.
        fluency: Under a language model; `None`: there is none.
        removal: The shares removed from the prompts of stored runs.
        inconsistency: Before and after revision, of stored runs.
        unread: The cases that the embedder can't read, of which nothing is measured by it (`legibility.unread`).
    """

    cases: Cases
    embedder: str
    diversity: Mapping[str, DiversityFigures]
    variety: Mapping[str, VarietyFigures]
    sense: Mapping[str, SenseFigures]
    by_index: Mapping[str, Sequence[IndexFigures]] | None
    exclusiveness: Mapping[str, Exclusiveness] | None
    fluency: Mapping[str, FluencyFigures] | None
    removal: Mapping[str, Removal]
    inconsistency: Mapping[str, Inconsistency]
    unread: Mapping[str, float]

    @property
    def truncated(self) -> tuple[int, int]:
        """The number of truncated dialogues, and of embedded ones."""
        embedded = [figures for figures in self.variety.values() if figures.truncated is not None]
        return sum(f.truncated or 0 for f in embedded), sum(f.dialogues for f in embedded)

    def document(self) -> Document:
        """Return the figures as JSON."""
        document = self._diversity_document()
        document["variety"] = _by_case(self.variety, mean_variety(self.variety.values()))
        document["sense"] = _by_case(self.sense, mean_sense(self.sense.values()))
        if self.by_index is not None:
            document["by_index"] = {
                "cases": {case: [f.model_dump() for f in figures] for case, figures in self.by_index.items()},
                "mean": [figures.model_dump() for figures in mean_by_index(self.by_index.values())],
            }
        if self.exclusiveness is not None:
            document["exclusiveness"] = _by_case(self.exclusiveness, mean_exclusiveness(self.exclusiveness.values()))
        if self.fluency is not None:
            document["fluency"] = _by_case(self.fluency, mean_fluency(self.fluency.values()))
        if self.removal:
            document["removal"] = {case: figures.model_dump() for case, figures in self.removal.items()}
            document["inconsistency"] = {case: figures.model_dump() for case, figures in self.inconsistency.items()}
        return document

    def _diversity_document(self) -> Document:
        document: Document = {
            "schema_version": SCHEMA_VERSION,
            "embedder": self.embedder,
            "segmenter": segmenter(),
            **_by_case(self.diversity, mean_over_cases(self.diversity.values())),
        }
        if self.unread:
            document["unread"] = dict(self.unread)
        if self.cases.runs:
            document["runs"] = {case: [run.run for run in runs] for case, runs in self.cases.runs.items()}
        if self.cases.runs or self.cases.rehearsed:
            document["rehearsed"] = self.cases.rehearsed
        return document


async def measure_cases(
    cases: Cases,
    embedder: Embedder,
    name: str,
    store: Store | None = None,
    against: Cases | None = None,
    model: LanguageModel | None = None,
    with_index: bool = False,
) -> Measurement:
    """Return the figures of dialogues.

    Args:
        name: The user's name for the embedder.
        store: The store of the runs among the cases.
        against: Dialogues of the same cases, to measure exclusiveness.
        model: The language model that measures fluency.
        with_index: Whether diversity is measured at each index, too, which embeds every utterance.

    Raises:
        UsageError: The cases have none in common with `against`.
        ModelError: The model does not show likelihoods.
    """
    dialogues, found = cases.dialogues, cases.found(store)
    exclusive = None
    if against is not None:
        exclusive = exclusiveness_of_cases(against.dialogues, dialogues, embedder)
        if not exclusive:
            here, there = (", ".join(map(repr, given)) for given in (dialogues, against.dialogues))
            raise UsageError(f"--against has no case of these: {there}, not {here}")
    unread = unread_cases(dialogues, embedder)

    def seen(figures: Mapping[str, R]) -> dict[str, R]:
        return {case: without_vectors(of_case) if case in unread else of_case for case, of_case in figures.items()}

    indices = by_index(dialogues, embedder) if with_index else None
    return Measurement(
        cases=cases,
        embedder=name,
        diversity=seen(metrics_of_cases(dialogues, embedder)),
        variety=seen(variety_of_cases(dialogues, embedder)),
        sense={case: sense_of(of_case) for case, of_case in found.items()},
        by_index=indices
        and {case: [*map(without_vectors, found)] if case in unread else found for case, found in indices.items()},
        exclusiveness=exclusive and seen(exclusive),
        fluency=await fluency_of_cases(dialogues, model) if model is not None else None,
        removal={case: removal_of_runs(store, runs) for case, runs in cases.runs.items()} if store else {},
        inconsistency={case: inconsistency_of_runs(store, runs) for case, runs in cases.runs.items()} if store else {},
        unread=unread,
    )


def _by_case(cases: Mapping[str, Record], mean: Record) -> Document:
    return {"cases": {case: figures.model_dump() for case, figures in cases.items()}, "mean": mean.model_dump()}
