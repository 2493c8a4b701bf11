"""All that `tertulia metrics` measures of dialogues, as one object and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tertulia.measuring.measuring import Cases, metrics_document
from tertulia.measuring.pruned_turns import inconsistency_of_runs, removal_of_runs
from tertulia.metrics.by_index import IndexFigures, by_index, mean_by_index
from tertulia.metrics.diversity import DiversityFigures, mean_over_cases, metrics_of_cases
from tertulia.metrics.exclusiveness import Exclusiveness, exclusiveness_of_cases, mean_exclusiveness
from tertulia.metrics.fluency import FluencyFigures, fluency_of_cases, mean_fluency
from tertulia.metrics.pruning import Inconsistency, Removal
from tertulia.metrics.variety import VarietyFigures, mean_variety, variety_of_cases
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.store import Store


@dataclass(frozen=True)
class Measurement:
    """The figures of dialogues, by case.

    Attributes:
        diversity: Similarity, dist-N and length.
        variety: dist-N at equal length, Vendi score, repetition, and how many dialogues the embedder truncates.
        by_index: Diversity at each index; `None` where it was not asked for.
        exclusiveness: Against other dialogues of the case; `None` where there are none.
        fluency: Under a language model; `None` where there is none.
        removal: What was removed from the prompts of stored runs.
        inconsistency: Before and after revision, of stored runs.
    """

    cases: Cases
    embedder: str
    diversity: Mapping[str, DiversityFigures]
    variety: Mapping[str, VarietyFigures]
    by_index: Mapping[str, Sequence[IndexFigures]] | None
    exclusiveness: Mapping[str, Exclusiveness] | None
    fluency: Mapping[str, FluencyFigures] | None
    removal: Mapping[str, Removal]
    inconsistency: Mapping[str, Inconsistency]

    @property
    def truncated(self) -> tuple[int, int]:
        """The number of dialogues that the embedder truncates, and of those that were embedded."""
        embedded = [figures for figures in self.variety.values() if figures.truncated is not None]
        return sum(f.truncated or 0 for f in embedded), sum(f.dialogues for f in embedded)

    def document(self) -> Document:
        """Return the figures as JSON."""
        document = metrics_document(self.cases, self.diversity, self.embedder)
        document["variety"] = _by_case(self.variety, mean_variety(self.variety.values()))
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
        name: The name under which the user knows it.
        store: Where runs among them are stored.
        against: Dialogues of the same cases, against which these are held for their exclusiveness.
        model: The language model under which they are more or less fluent.
        with_index: Whether diversity is measured at each index, too: every utterance is embedded for it.

    Raises:
        UsageError: None of the cases is among those that they are held against.
        ModelError: The model does not show likelihoods.
    """
    dialogues = cases.dialogues
    exclusive = None
    if against is not None:
        exclusive = exclusiveness_of_cases(against.dialogues, dialogues, embedder)
        if not exclusive:
            here, there = (", ".join(map(repr, given)) for given in (dialogues, against.dialogues))
            raise UsageError(f"--against has no case of these: {there}, not {here}")
    return Measurement(
        cases=cases,
        embedder=name,
        diversity=metrics_of_cases(dialogues, embedder),
        variety=variety_of_cases(dialogues, embedder),
        by_index=by_index(dialogues, embedder) if with_index else None,
        exclusiveness=exclusive,
        fluency=await fluency_of_cases(dialogues, model) if model is not None else None,
        removal={case: removal_of_runs(store, runs) for case, runs in cases.runs.items()} if store else {},
        inconsistency={case: inconsistency_of_runs(store, runs) for case, runs in cases.runs.items()} if store else {},
    )


def mean_diversity(measurement: Measurement) -> DiversityFigures:
    """Return the mean of each figure of diversity over the cases that have it."""
    return mean_over_cases(measurement.diversity.values())


def _by_case(
    cases: Mapping[str, VarietyFigures] | Mapping[str, Exclusiveness] | Mapping[str, FluencyFigures],
    mean: VarietyFigures | Exclusiveness | FluencyFigures,
) -> Document:
    return {"cases": {case: figures.model_dump() for case, figures in cases.items()}, "mean": mean.model_dump()}
