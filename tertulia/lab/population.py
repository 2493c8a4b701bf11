"""Whether the people of stored conversations become one another: the figures of each, and their means.

The settings of an experiment are compared by `tertulia lab compare`, which takes the same figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.lab.annotations.self_inventory import SelfRatings, Traits, self_inventory_requests, self_ratings
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.reports.measured_trials import KnownVectors
from tertulia.metrics.legibility import unread, why_unread
from tertulia.metrics.population import (
    PopulationFigures,
    Vectors,
    attractor,
    figures_of_lines,
    tells_people_apart,
    thirds,
    trait_coverage,
)
from tertulia.metrics.statistics import CaseFigure, CaseMean, case_mean
from tertulia.state.annotation import Annotation
from tertulia.state.errors import NotFoundError, UsageError, nearest_hint
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Meeting
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.population import Conversation, find_conversation, lines_of
from tertulia.views.reading.rounds import read_characters

#: The figures of a conversation, in the order in which they are shown; the last are those of the questionnaire.
OF_LINES = (
    *("spread_early", "spread_late", "apart", "pull", "towards"),
    *("attribution_excess", "attribution_change", "coverage", "attractor"),
)
OF_ANSWERS = ("coverage_before", "coverage_after", "dispersion_before", "dispersion_after")


@dataclass(frozen=True)
class MeasuredConversation:
    """A conversation with its figures; the values are those of `OF_LINES` and `OF_ANSWERS` by name."""

    conversation: Conversation
    figures: PopulationFigures
    values: Mapping[str, float | None]

    @property
    def told_apart(self) -> bool:
        """Whether its people are told apart; those of a stand-in without weights never are."""
        return tells_people_apart(self.figures) and not self.conversation.rehearsed


@dataclass(frozen=True)
class PopulationReport:
    """The figures of some conversations.

    Attributes:
        means: By metric, over the conversations.
        notes: Cautions to read before the figures.
    """

    embedder: str
    measured: Sequence[MeasuredConversation]
    means: Mapping[str, CaseMean]
    notes: Sequence[str] = field(default=())

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke in any of them."""
        return any(of.conversation.rehearsed for of in self.measured)


# --- the conversations ----------------------------------------------------------------------------------------------


def gather(store: SqlStore, names: Sequence[str]) -> list[Conversation]:
    """Return the runs and simulations of these names, each once.

    Raises:
        NotFoundError: There is nothing of a name.
        UsageError: A name is an experiment's, or nobody speaks.
    """
    chosen: dict[str, Conversation] = {}
    for name in names:
        conversation = find_conversation(store, name)
        if conversation is None:
            _refuse(store, name)
        elif not conversation.lines:
            raise UsageError(f"nobody speaks in {conversation.name}; leave it out")
        else:
            chosen[conversation.name] = conversation
    return [*chosen.values()]


def _refuse(store: SqlStore, name: str) -> None:
    if any(record.experiment == name for record in store.experiments.all()):
        raise UsageError(f"{name} is an experiment; compare its settings: tertulia lab compare {name!r} --metric apart")
    known = [run.run for run in store.runs()]
    where = f"; tertulia runs and tertulia days show what {store.path} has"
    raise NotFoundError(f"no run or simulation {name!r}{nearest_hint(name, known, otherwise=where)}")


def questionnaires(store: SqlStore, conversations: Sequence[Conversation]) -> dict[str, list[AnnotationRequest]]:
    """Return by run the questions to people about themselves; only those of a meeting have given traits.

    Raises:
        UsageError: None of the conversations is a meeting.
    """
    names = [conversation.name for conversation in conversations if conversation.traits]
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
    conversations: Sequence[Conversation],
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
    known = KnownVectors(embedder)  # runs of a case have the same personas
    measured: list[tuple[Conversation, PopulationFigures]] = []
    ends: dict[int, tuple[Vectors, Vectors]] = {}
    texts = {of.name: ["\n".join(line.text for line in of.lines)] for of in conversations}
    illegible = {run: why_unread(name, likeness) for run, likeness in unread(texts, known.embed).items()}
    for at, conversation in enumerate(conversations):
        show(f"conversation {at + 1} of {len(conversations)}")
        lines, recited = lines_of(conversation, known)
        figures = figures_of_lines(lines, recited, conversation.seed, illegible.get(conversation.name))
        if figures.reason is None and (end := thirds(lines)) is not None:
            ends[at] = end
        measured.append((conversation, figures))
    reasons = [f"{conversation.name}: {of.reason}" for conversation, of in measured if of.reason is not None]
    if len(reasons) == len(measured):
        remedy = "" if measured[0][0].name in illegible else "; give longer conversations of several"
        raise UsageError(f"there is nothing to compare people by in {reasons[0]}{remedy}")
    attracted: dict[int, float] = {}
    if len(ends) > 1:
        early, late = ([end[part] for end in ends.values()] for part in (0, 1))
        attracted = dict(zip(ends, attractor(early, late, [conversations[at].case for at in ends]), strict=True))
    ratings = {run: self_ratings(of_run) for run, of_run in (answers or {}).items()}
    found = [
        MeasuredConversation(*of, _values(*of, attracted.get(at), ratings.get(of[0].name)))
        for at, of in enumerate(measured)
    ]
    return PopulationReport(name, found, _means(found), [*_notes(found), *reasons])


def _values(
    conversation: Conversation, figures: PopulationFigures, attracted: float | None, rated: SelfRatings | None
) -> dict[str, float | None]:
    values = {metric: getattr(figures, metric) for metric in OF_LINES if metric != "attractor"}
    of_answers = answers_covered(conversation.traits, rated) if rated else dict.fromkeys(OF_ANSWERS)
    return {**values, "attractor": attracted, **of_answers}


def answers_covered(given: Traits, rated: SelfRatings) -> dict[str, float | None]:
    """Return how far answers to the questionnaire cover the traits that people were given (`OF_ANSWERS`)."""
    before, after = trait_coverage(given, rated.before), trait_coverage(given, rated.after)
    return dict(zip(OF_ANSWERS, (before[0], after[0], before[1], after[1]), strict=True))


def _means(measured: Sequence[MeasuredConversation]) -> dict[str, CaseMean]:
    """Return the mean of each metric over the conversations that have it."""
    means = {}
    for metric in (*OF_LINES, *OF_ANSWERS):
        sample = {
            of.conversation.name: CaseFigure(value, 1, source=source_of(of.conversation.case))
            for of in measured
            if (value := of.values[metric]) is not None
        }
        if sample:
            means[metric] = case_mean(sample)
    return means


def _notes(measured: Sequence[MeasuredConversation]) -> list[str]:
    notes = []
    if rehearsed := [of.conversation.name for of in measured if of.conversation.rehearsed]:
        notes.append(f"a stand-in without weights spoke in {_listed(rehearsed)}: its people are nobody")
    if unfinished := [of.conversation.name for of in measured if not of.conversation.finished]:
        notes.append(f"not finished, and measured as far as they go: {_listed(unfinished)}")
    if few := [of.conversation.name for of in measured if of.figures.lines < 6 * max(1, of.figures.people)]:
        notes.append(f"fewer than six lines a person, from which only large figures can be told: {_listed(few)}")
    if len(measured) > 1:
        notes.append("intervals of means are 95 %, over conversations; p of each is its own, and for no family")
    return notes


def _listed(names: Sequence[str], most: int = 5) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
