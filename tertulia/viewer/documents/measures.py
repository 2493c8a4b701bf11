"""The figures of an experiment for the viewer: each measure by setting and case, with its intervals.

They are those of `lab compare`, taken by the same functions of the same conversations. Measures that need a model are
taken from stored results, or not at all: then a document names the command that measures them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from tertulia.runs.access.model_names import embedder_of
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import ModelError, NotFoundError, TertuliaError, UsageError, nearest_hint
from tertulia.state.language_model import REHEARSAL, Embedder
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.experiment_progress import finished_runs, read_progress

if TYPE_CHECKING:
    from tertulia.lab.reports.measures import Measuring
    from tertulia.metrics.statistics import Sample

#: The measures of the page, in its order: of lines, of how they came about, and of meetings.
OFFERED = (
    *("sim", "dist1", "dist2", "dist3", "dist3_equal", "vendi", "len", "without_sense", "repeated_lines"),
    *("duplicate_rate", "recited_lines", "to_the_point", "match"),
    *("removed_items", "removed_words", "removed_attention", "inconsistency_before", "inconsistency"),
    *("entropy", "divergence", "fluency"),
    *("silences", "silence_s", "sim_minutes", "evenness"),
)

#: The measures that need the embedder, the model that spoke, and one that reads dialogues.
_EMBEDDED = frozenset(
    {"sim", "sim_untruncated", "vendi", "vendi_untruncated", "to_the_point", "match", "recited_words", "out_of_order"}
    | {"denied", "partners_memories", "speaker_found"}
)
_OF_NEXT_LINE = frozenset({"entropy", "divergence"})
_OF_MODELS = frozenset({"fluency", "attention_kept", "attention_top1", "attention_top3", "trait"})

#: Experiments, with their controls, of which trials stay in memory.
_KEPT = 6


@dataclass
class KeptTrials:
    """Trials read of experiments: as long as no other run has finished, they are not read again."""

    store: SqlStore | None = None
    measured: dict[tuple[str, str], tuple[Sequence[str], "Measuring"]] = field(default_factory=dict)


def offered_measures() -> list[Document]:
    """Return the measures that the page offers: the name, meaning and needs of each."""
    from tertulia.lab.reports.papers import metric_named

    return [
        {"metric": name, "title": metric.title, "meaning": metric.meaning, "needs": _needs(name)}
        for name in OFFERED
        for metric in [metric_named(name)]
    ]


def _needs(metric: str) -> str | None:
    if metric in _EMBEDDED:
        return "embedder"
    return "model" if metric in _OF_NEXT_LINE | _OF_MODELS else None


def measure_page(
    store: SqlStore,
    name: str,
    metric: str,
    open_embedder: Callable[[str], Embedder] | None = None,
    kept: KeptTrials | None = None,
) -> Document:
    """Return the figures of a measure in every setting of an experiment, and of its control.

    Args:
        open_embedder: Opens an embedder by name for similarity; `None`: measures that need it are not taken, but of a
            rehearsed experiment, whose stand-in needs no weights.
        kept: Trials read before; trials read now are added.

    Raises:
        NotFoundError: There is no such experiment or measure.
    """
    from tertulia.lab.reports.papers import metric_named, metrics_by_name

    if metric not in metrics_by_name():
        raise NotFoundError(f"there is no measure {metric!r}{nearest_hint(metric, [*metrics_by_name()])}")
    reading = _Reading(store, metric, open_embedder, kept or KeptTrials())
    found = reading.of(name)
    control = reading.of(_control_of(store, name), found.embedder)
    described = metric_named(metric)
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": name,
        "metric": metric,
        "title": described.title,
        "meaning": described.meaning,
        "bounds": [None if abs(bound) == float("inf") else bound for bound in described.bounds],
        "baseline": found.baseline,
        "cases": found.cases,
        "conversations": found.conversations,
        "unpaired": found.unpaired,
        "settings": [
            _figures(setting, metric, found, control if control.figures else None) for setting in found.settings
        ],
        "not_measured": found.why_not,
        "can_measure": found.why_not is not None and metric in _EMBEDDED,
        "command": ["lab", "compare", name, "--metric", metric],
    }


@dataclass(frozen=True)
class _Measured:
    """The figures of an experiment; `why_not` says in a clause why there are none."""

    baseline: str = ""
    settings: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    figures: Mapping[str, "Sample"] = field(default_factory=dict)
    conversations: int = 0
    unpaired: int = 0
    why_not: str | None = None
    embedder: str | None = None


@dataclass(frozen=True)
class _Reading:
    """Reads a measure of experiments of a store."""

    store: SqlStore
    metric: str
    open_embedder: Callable[[str], Embedder] | None
    kept: KeptTrials

    def of(self, name: str | None, embedder: str | None = None) -> _Measured:
        """Return the figures of an experiment by an embedder, or that of its runs; none of one that is not stored."""
        if name is None:
            return _Measured()
        reached = read_progress(self.store, name)
        experiment, runs = reached.experiment, finished_runs(reached)
        about = _Measured(experiment.compared_with, tuple(experiment.settings), experiment.cases)
        if not runs:
            return replace(about, why_not="as no conversation has finished yet")
        if self.metric in _EMBEDDED and embedder is None:
            try:
                embedder = embedder_of(run.embedder for run in reached.with_status("finished"))
            except UsageError as error:
                return replace(about, why_not=f"as {error}")
        opened = self._opened(embedder)
        if self.metric in _EMBEDDED and opened is None:
            return replace(about, why_not="as similarity needs the embedder, which is not loaded")
        measuring = self._measuring(name, runs, opened)
        why_not = measuring.why_not_measured([self.metric]).get(self.metric) or self._read(measuring, about.baseline)
        if why_not is not None:
            return replace(about, why_not=why_not)
        found = measuring.figures([self.metric])
        figures = {setting: of_setting[self.metric] for setting, of_setting in found.items() if of_setting}
        why_not = None if figures else "as these conversations have none of it"
        return replace(
            about,
            figures=figures,
            conversations=len(measuring.all),
            unpaired=measuring.unpaired,
            why_not=why_not,
            embedder=embedder,
        )

    def _opened(self, embedder: str | None) -> Embedder | None:
        """Return the embedder for similarity; the stand-in is always there."""
        if self.metric not in _EMBEDDED or embedder is None:
            return None
        if embedder == REHEARSAL:
            from tertulia.models.rehearsal import RehearsalEmbedder

            return RehearsalEmbedder()
        return self.open_embedder(embedder) if self.open_embedder else None

    def _measuring(self, name: str, runs: Sequence[str], embedder: Embedder | None) -> "Measuring":
        """Return the trials of an experiment, those that were read before among them."""
        from tertulia.lab.experiments.results import results_of
        from tertulia.lab.reports.measures import Measuring

        kept = self.kept
        if kept.store is not self.store:
            kept.store, kept.measured = self.store, {}
        key = name, "" if embedder is None else embedder.id
        known, measuring = kept.measured.pop(key, ((), None))
        if measuring is None or known != runs:
            before = {} if measuring is None else {trial.run.run: trial for trial in measuring.all}
            results = results_of(self.store, read_progress(self.store, name))
            measuring = Measuring(self.store, results.runs, embedder, known=before)
        kept.measured[key] = runs, measuring
        while len(kept.measured) > _KEPT:
            del kept.measured[next(iter(kept.measured))]
        return measuring

    def _read(self, measuring: "Measuring", baseline: str) -> str | None:
        """Have trials read the stored results of the measure, and return why it can't be told; `None` if it can."""
        if self.metric in _OF_MODELS:
            return "as a model must read these conversations"
        if self.metric in _OF_NEXT_LINE:
            from tertulia.lab.reports.measured_by_models import read_next_lines

            try:
                read_next_lines(self.store, measuring.trials, baseline, [self.metric], _not_here)
            except TertuliaError as error:
                return f"as {error}"
        return None


def _not_here() -> NoReturn:
    raise ModelError("the model that spoke has not read all of these lines yet")


def _control_of(store: SqlStore, name: str) -> str | None:
    from tertulia.lab.experiments.controls import control_name

    control = control_name(name)
    return control if any(record.experiment == control for record in store.experiments.all()) else None


def _figures(setting: str, metric: str, found: _Measured, control: _Measured | None) -> Document:
    figures = _figures_of(setting, metric, found)
    of_control = None if control is None else _figures_of(setting, metric, control)
    return {"setting": setting, **figures, "control": of_control}


def _figures_of(setting: str, metric: str, found: _Measured) -> Document:
    """Return a measure in a setting: its mean over cases, that of each case, and the difference to the baseline."""
    from tertulia.lab.reports.report import difference_of, mean_of

    figures = {name: {metric: sample} for name, sample in found.figures.items()}
    sample, difference = found.figures.get(setting, {}), difference_of(figures, setting, found.baseline, metric)
    return {
        **mean_of(figures, setting, metric).document(),
        "by_case": [sample[case].value if case in sample else None for case in found.cases],
        "difference": None if difference is None else difference.document(),
    }
