"""Whether the people of stored conversations become one another: figures of each, means, and differences of settings.

Compared are runs and simulations, or the settings of an experiment, over the cases that both have. A case is a starting
point with its trials; if an experiment has a single case, each trial is one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.lab.annotations.self_inventory import SelfRatings, Traits, self_inventory_requests, self_ratings
from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.reports.measured_trials import KnownVectors
from tertulia.metrics.diversity import mean
from tertulia.metrics.inference import holm
from tertulia.metrics.population import (
    PopulationFigures,
    Vectors,
    attractor,
    figures_of_lines,
    tells_people_apart,
    thirds,
    trait_coverage,
)
from tertulia.metrics.statistics import (
    CaseMean,
    Contrast,
    Sample,
    case_mean,
    common_trials,
    paired_difference,
    sample_of,
)
from tertulia.state.annotation import Annotation
from tertulia.state.errors import NotFoundError, UsageError, nearest_hint
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Meeting
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.population import Conversation, conversation_of_run, find_conversation, lines_of
from tertulia.views.reading.rounds import read_characters

#: The figures of a conversation, in the order in which they are shown; the last are those of the questionnaire.
OF_LINES = (
    *("spread_early", "spread_late", "apart", "pull", "towards"),
    *("attribution_excess", "attribution_change", "coverage", "attractor"),
)
OF_ANSWERS = ("coverage_before", "coverage_after", "dispersion_before", "dispersion_after")

#: Figures that are compared with 0, and between settings. The others are shown beside them.
COMPARED = ("apart", "pull", "towards", "attribution_excess", "attribution_change", "coverage", "attractor")


@dataclass(frozen=True)
class Placed:
    """A conversation at its place: the setting of an experiment (none: empty), its case, and the trial."""

    conversation: Conversation
    setting: str
    case: str
    trial: int


@dataclass(frozen=True)
class Gathered:
    """The conversations to measure; without an experiment there are no settings to compare."""

    placed: Sequence[Placed]
    experiment: str = ""
    baseline: str = ""


@dataclass(frozen=True)
class MeasuredConversation:
    """A conversation with its figures, by name if they are compared."""

    placed: Placed
    figures: PopulationFigures
    values: Mapping[str, float | None]

    @property
    def told_apart(self) -> bool:
        """Whether its people are told apart; those of a stand-in without weights never are."""
        return tells_people_apart(self.figures) and not self.placed.conversation.rehearsed


@dataclass(frozen=True)
class Difference:
    """How much higher a figure is in a setting than in the baseline; p is adjusted for all that are shown."""

    setting: str
    metric: str
    found: Contrast
    p_adjusted: float | None


@dataclass(frozen=True)
class PopulationReport:
    """The figures of some conversations.

    Attributes:
        means: By setting and metric, over cases.
        notes: Cautions to read before the figures.
    """

    gathered: Gathered
    embedder: str
    measured: Sequence[MeasuredConversation]
    means: Mapping[str, Mapping[str, CaseMean]]
    differences: Sequence[Difference]
    notes: Sequence[str] = field(default=())

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke in any of them."""
        return any(measured.placed.conversation.rehearsed for measured in self.measured)


# --- the conversations ----------------------------------------------------------------------------------------------


def gather(store: SqlStore, names: Sequence[str]) -> Gathered:
    """Return the runs, simulations, or the one experiment of these names; each conversation counts once.

    Raises:
        NotFoundError: There is nothing of a name.
        UsageError: Experiments and others are named together, or nobody speaks.
    """
    found = {name: find_conversation(store, name) for name in names}
    others = [name for name, conversation in found.items() if conversation is None]
    if not others:
        chosen = {conversation.name: conversation for conversation in found.values() if conversation is not None}
        for conversation in chosen.values():
            if not conversation.lines:
                raise UsageError(f"nobody speaks in {conversation.name}; leave it out")
        return Gathered([Placed(conversation, "", name, 1) for name, conversation in chosen.items()])
    known = [record.experiment for record in store.experiments.all()]
    for name in others:
        if name not in known:
            where = f"; tertulia runs, tertulia days and tertulia lab list show what {store.path} has"
            raise NotFoundError(
                f"no run, simulation or experiment {name!r}{nearest_hint(name, known, otherwise=where)}"
            )
    if len(found) > 1:
        raise UsageError(f"{others[0]} is an experiment; give it alone, as its settings are compared with each other")
    return _of_experiment(store, others[0])


def _of_experiment(store: SqlStore, name: str) -> Gathered:
    results = read_results(store, name)
    if not results.runs:
        raise UsageError(f"no conversation of experiment {name} is finished; go on: tertulia lab resume {name!r}")
    placed = [
        Placed(conversation_of_run(store, of.run, of.first_turn), of.setting, of.case, of.trial) for of in results.runs
    ]
    return Gathered(placed, name, results.experiment.compared_with)


def questionnaires(store: SqlStore, gathered: Gathered) -> dict[str, list[AnnotationRequest]]:
    """Return by run the questions to people about themselves; only those of a meeting have given traits.

    Raises:
        UsageError: None of the conversations is a meeting.
    """
    names = [placed.conversation.name for placed in gathered.placed if placed.conversation.traits]
    if not names:
        raise UsageError(
            "--model fills in what people of meetings say of themselves; leave it out for dialogues, towns and albums"
        )
    found = {}
    for name in names:
        start = store.start(name)
        assert isinstance(start, Meeting)
        found[name] = self_inventory_requests(start, read_characters(store, name), store.turns(name))
    return found


# --- figures --------------------------------------------------------------------------------------------------------


def measure_population(
    gathered: Gathered,
    embedder: Embedder,
    name: str,
    answers: Mapping[str, Sequence[Annotation]] | None = None,
    show: Callable[[str], object] = str,
) -> PopulationReport:
    """Return the figures of conversations.

    Args:
        name: The user's name for the embedder.
        answers: By run, its people's answers about themselves, if they were asked (`questionnaires`).

    Raises:
        UsageError: None has figures; why is said of the first.
    """
    known = KnownVectors(embedder)  # trials of a case have the same personas
    measured: list[tuple[Placed, PopulationFigures]] = []
    ends: list[tuple[Vectors, Vectors] | None] = []
    for number, placed in enumerate(gathered.placed, 1):
        show(f"conversation {number} of {len(gathered.placed)}")
        lines, recited = lines_of(placed.conversation, known)
        figures = figures_of_lines(lines, recited, placed.conversation.seed)
        ends.append(thirds(lines) if figures.reason is None else None)
        measured.append((placed, figures))
    reasons = [f"{placed.conversation.name}: {of.reason}" for placed, of in measured if of.reason is not None]
    if len(reasons) == len(measured):
        raise UsageError(f"there is nothing to compare people by in {reasons[0]}; give longer conversations of several")
    attracted = _attracted(gathered.placed, ends)
    ratings = {run: self_ratings(of_run) for run, of_run in (answers or {}).items()}
    found = [
        MeasuredConversation(placed, figures, _values(placed, figures, attracted.get(at), ratings))
        for at, (placed, figures) in enumerate(measured)
    ]
    samples = _samples(found)
    differences = _differences(samples, gathered.baseline) if gathered.experiment else []
    means = {setting: {metric: case_mean(sample) for metric, sample in of.items()} for setting, of in samples.items()}
    notes = [*_notes(found, gathered), *reasons]
    return PopulationReport(gathered, name, found, means, differences, notes)


def _attracted(placed: Sequence[Placed], ends: Sequence[tuple[Vectors, Vectors] | None]) -> dict[int, float]:
    """Return by place how much more like the others of its setting a conversation's end is than its beginning."""
    found: dict[int, float] = {}
    for setting in dict.fromkeys(of.setting for of in placed):
        chosen = {at: end for at, end in enumerate(ends) if end is not None and placed[at].setting == setting}
        if len(chosen) > 1:
            early, late = ([end[part] for end in chosen.values()] for part in (0, 1))
            values = attractor(early, late, [placed[at].conversation.case for at in chosen])
            found |= dict(zip(chosen, values, strict=True))
    return found


def _values(
    placed: Placed, figures: PopulationFigures, attracted: float | None, ratings: Mapping[str, SelfRatings]
) -> dict[str, float | None]:
    values = {metric: getattr(figures, metric) for metric in OF_LINES if metric != "attractor"}
    rated = ratings.get(placed.conversation.name)
    of_answers = answers_covered(placed.conversation.traits, rated) if rated else dict.fromkeys(OF_ANSWERS)
    return {**values, "attractor": attracted, **of_answers}


def answers_covered(given: Traits, rated: SelfRatings) -> dict[str, float | None]:
    """Return how far answers to the questionnaire cover the traits that people were given (`OF_ANSWERS`)."""
    before, after = trait_coverage(given, rated.before), trait_coverage(given, rated.after)
    return dict(zip(OF_ANSWERS, (before[0], after[0], before[1], after[1]), strict=True))


def _samples(measured: Sequence[MeasuredConversation]) -> dict[str, dict[str, Sample]]:
    """Return by setting and metric the figures of cases, over the trials that all settings have."""
    cases = {of.placed.case for of in measured}
    everything: dict[str, dict[str, dict[int, MeasuredConversation]]] = {}
    for of in measured:
        case = of.placed.case if len(cases) > 1 else f"{of.placed.case}, trial {of.placed.trial}"
        everything.setdefault(of.placed.setting, {}).setdefault(case, {})[of.placed.trial] = of
    sources = {
        case: source_of(of.placed.conversation.case)
        for by_case in everything.values()
        for case, trials in by_case.items()
        for of in trials.values()
    }
    samples: dict[str, dict[str, Sample]] = {}
    for setting, by_case in common_trials(everything).items():
        samples[setting] = {}
        for metric in (*OF_LINES, *OF_ANSWERS):
            if sample := sample_of(by_case, partial(_mean_of, metric)):
                samples[setting][metric] = {case: replace(of, source=sources[case]) for case, of in sample.items()}
    return samples


def _mean_of(metric: str, trials: Sequence[MeasuredConversation]) -> float | None:
    return mean(of.values[metric] for of in trials)


def _differences(samples: Mapping[str, Mapping[str, Sample]], baseline: str) -> list[Difference]:
    found = [
        (setting, metric, paired_difference(of[metric], samples[baseline][metric]))
        for setting, of in samples.items()
        if setting != baseline
        for metric in COMPARED
        if metric in of and metric in samples.get(baseline, {})
    ]
    return [Difference(*of, p) for of, p in zip(found, holm([of[2].p for of in found]), strict=True)]


def _notes(measured: Sequence[MeasuredConversation], gathered: Gathered) -> list[str]:
    notes = []
    if rehearsed := [of.placed.conversation.name for of in measured if of.placed.conversation.rehearsed]:
        notes.append(f"a stand-in without weights spoke in {_listed(rehearsed)}: its people are nobody")
    if unfinished := [of.placed.conversation.name for of in measured if not of.placed.conversation.finished]:
        notes.append(f"not finished, and measured as far as they go: {_listed(unfinished)}")
    if few := [of.placed.conversation.name for of in measured if of.figures.lines < 6 * max(1, of.figures.people)]:
        notes.append(f"fewer than six lines a person, from which only large figures can be told: {_listed(few)}")
    if gathered.experiment:
        notes.append("intervals are 95 %, over cases, or their sources if several; p is Holm's, over all shown")
    elif len(measured) > 1:
        notes.append("intervals of means are 95 %, over conversations; p of each is its own, and for no family")
    return notes


def _listed(names: Sequence[str], most: int = 5) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
