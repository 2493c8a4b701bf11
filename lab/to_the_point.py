"""How much to the point dialogues of scenarios are, people's names masked (metrics/to_the_point.py)."""

from collections.abc import Mapping, Sequence

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import ToThePoint, texts_of_case, to_the_point
from tertulia.nodes.meeting.address import without_names
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case
from tertulia.worlds.catalog import resolve


def to_the_point_of_scenarios(
    dialogues: Mapping[str, Sequence[Dialogue]],
    embedder: Embedder,
    others: Sequence[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, ToThePoint]:
    """Return how much to the point the dialogues of two-party scenarios are, by scenario.

    Args:
        dialogues: By scenario, as `tertulia run` takes it. Meetings and populations, which are no cases of two, are
            passed over.
        others: Further scenarios among which each is looked for.
        names: By scenario, further names that its people have in the dialogues (`names` of a setting).

    Raises:
        NotFoundError: There is no such scenario.
        ScenarioError: It can't be read.
    """
    starts = {scenario: resolve(scenario) for scenario in dict.fromkeys((*dialogues, *others))}
    cases = {scenario: start for scenario, start in starts.items() if isinstance(start, Case)}
    people = {scenario: (*case.names, *(names or {}).get(scenario, ())) for scenario, case in cases.items()}
    masked = {
        scenario: [[without_names(text, people[scenario]) for _, text in dialogue] for dialogue in of_scenario]
        for scenario, of_scenario in dialogues.items()
        if scenario in cases
    }
    texts = {s: [without_names(text, people[s]) for text in texts_of_case(case)] for s, case in cases.items()}
    return to_the_point(masked, texts, embedder)
