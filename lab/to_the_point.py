"""How much to the point dialogues of scenarios are, people's names masked (metrics/to_the_point.py)."""

from collections.abc import Mapping, Sequence

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import ToThePoint, texts_of_case, to_the_point
from tertulia.nodes.meeting.address import without_names
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case
from tertulia.worlds.catalog import resolve


def to_the_point_of_scenarios(
    dialogues: Mapping[str, Sequence[Dialogue]], embedder: Embedder, others: Sequence[str] = ()
) -> dict[str, ToThePoint]:
    """Return how much to the point the dialogues of two-party scenarios are, by scenario as `tertulia run` takes it.

    Each is looked for among these scenarios and the other ones. Meetings and populations are passed over.

    Raises:
        NotFoundError: There is no such scenario.
        ScenarioError: It can't be read.
    """
    starts = {scenario: resolve(scenario) for scenario in dict.fromkeys((*dialogues, *others))}
    cases = {scenario: start for scenario, start in starts.items() if isinstance(start, Case)}
    masked = {
        scenario: [[without_names(text, case.names) for _, text in dialogue] for dialogue in dialogues[scenario]]
        for scenario, case in cases.items()
        if scenario in dialogues
    }
    texts = {s: [without_names(text, case.names) for text in texts_of_case(case)] for s, case in cases.items()}
    return to_the_point(masked, texts, embedder)
