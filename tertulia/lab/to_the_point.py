"""How much to the point dialogues of scenarios are, people's names masked (tertulia/metrics/to_the_point.py)."""

from collections.abc import Mapping, Sequence

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import ToThePoint, texts_of_case, to_the_point
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case
from tertulia.views.measuring.line_checks import checks_of
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
    return to_the_point_of_cases({s: dialogues[s] for s in cases if s in dialogues}, cases, embedder)


def to_the_point_of_cases(
    dialogues: Mapping[str, Sequence[Dialogue]], cases: Mapping[str, Case], embedder: Embedder
) -> dict[str, ToThePoint]:
    """Return how much to the point the dialogues of cases are, by name; each is looked for among all the cases."""
    masked = {
        name: [[without_names(text, cases[name].names) for _, text in dialogue] for dialogue in of_case]
        for name, of_case in dialogues.items()
    }
    texts = {name: [without_names(text, case.names) for text in texts_of_case(case)] for name, case in cases.items()}
    checks = {
        name: [checks_of(dialogue, cases[name], embedder) for dialogue in of_case]
        for name, of_case in dialogues.items()
    }
    return to_the_point(masked, texts, embedder, checks)
