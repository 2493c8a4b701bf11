"""From the runs of an experiment to a report: the measuring, with its models, and the page."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from tertulia.lab.experiments.controls import control_name
from tertulia.lab.experiments.experiment import Experiment, checked, experiment_of
from tertulia.lab.experiments.fork_points import parents_of
from tertulia.lab.experiments.plan import TESTS, departures, plan_of
from tertulia.lab.experiments.reached import progress_of
from tertulia.lab.experiments.results import Results, TrialRun, read_results
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.pages.page import Page
from tertulia.lab.population import OF_ANSWERS
from tertulia.lab.reports.logged import logged_section
from tertulia.lab.reports.measured_by_models import (
    Show,
    ignore,
    read_attention,
    read_fluency,
    read_inventories,
    read_next_lines,
    read_self_inventories,
)
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.ordering_tests import metrics_of
from tertulia.lab.reports.paper_files import base_of
from tertulia.lab.reports.papers import Report, experiment_of_report
from tertulia.lab.reports.provenance import Provenance, installed_versions
from tertulia.lab.reports.report import Findings, find, report_of_experiment, slug
from tertulia.lab.reports.report_page import report_page
from tertulia.lab.reports.revised_turns import revised_turns
from tertulia.metrics.inference import detectable
from tertulia.runs.access.model_names import embedder_of
from tertulia.runs.access.named_files import is_shipped
from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.errors import ModelError, NotFoundError, TertuliaError
from tertulia.state.language_model import REHEARSAL, Embedder, LanguageModel
from tertulia.storage.store import SqlStore

#: The report that shows turns beside its figures.
_WITH_TURNS = "fig6"

#: Metrics that need the model that spoke.
NEXT_LINE = frozenset(("entropy", "divergence"))

#: The end of the plan's file name.
_PLAN = "plan.yaml"

#: Rounds of a control at most, which take some 30 ms each, and rounds of a conversation without a limit.
_CHEAP, _ROUNDS = 3_000, 16

#: The word in the place of a model's name if none is wanted.
NO_MODEL = "none"


@dataclass(frozen=True)
class Measurers:
    """The models that measure, with their names, each opened when it is needed.

    Similarity has the embedder, fluency the reader (`None`: it is not measured); the speaker is the model that spoke.
    """

    embedder: Callable[[], Embedder]
    reader: Callable[[], LanguageModel] | None
    speaker: Callable[[], LanguageModel]
    embedder_name: str = ""
    reader_name: str | None = None


def measurers_of(
    results: Results,
    embedder: str | None,
    reader: str | None,
    open_embedder: Callable[[str], Embedder],
    open_model: Callable[[str], LanguageModel],
) -> Measurers:
    """Return the models that measure an experiment: those that are named, else its embedder and the embedded model.

    Without names a rehearsed experiment needs no weights. The reader `none` leaves fluency out.

    Raises:
        UsageError: No embedder is named, and the runs have several.
    """
    experiment = results.experiment
    is_rehearsed = experiment.model == REHEARSAL
    of_vectors = embedder or embedder_of(trial.run.embedder for trial in results.runs)
    of_fluency = reader or (NO_MODEL if is_rehearsed else DEFAULT_MODEL)
    return Measurers(
        embedder=lambda: open_embedder(of_vectors),
        reader=None if of_fluency == NO_MODEL else lambda: open_model(of_fluency),
        speaker=lambda: open_model(experiment.model),
        embedder_name=of_vectors,
        reader_name=None if of_fluency == NO_MODEL else of_fluency,
    )


def planned(
    report: Report,
    *,
    cases: Sequence[str] | None = None,
    trials: int | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    model: str | None = None,
    cohort_size: int | None = None,
) -> Experiment:
    """Return the experiment of a report, checked, under a name that follows from its unchangeable fields.

    More cases of its own, more settings and more trials belong to the same experiment; other rounds, another model,
    other seeds and cases that were given belong to another one.

    Raises:
        TertuliaError: A case does not exist, or a setting can't be run.
    """
    experiment = experiment_of_report(report, report.name, cases=cases, trials=trials, rounds=rounds, model=model)
    given = [list(cases or ()), seed, model or experiment.model]
    digest = hashlib.blake2b(json.dumps(given).encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    parts = [report.name, *([report.decoding] if report.decoding else [])]
    parts += [f"{experiment.rounds or 'all'}-rounds", slug(experiment.model)[-30:]]
    parts += [digest] if cases or seed is not None or slug(experiment.model) != experiment.model else []
    changed = {"name": "-".join(parts), "seed": seed, "cohort_size": cohort_size}
    given_ones = {name: value for name, value in changed.items() if value is not None}
    experiment = checked(experiment.model_copy(update=given_ones))
    return experiment.model_copy(update={"plan": plan_of_report(report, experiment)})


def plan_of_report(report: Report, experiment: Experiment) -> str:
    """Return the plan of an experiment and its report, as YAML: the tests, their methods, their power."""
    is_primary = [metrics_of(ordering) <= {*report.primary} for ordering in report.orderings]
    cases, sources = len(experiment.cases), len({source_of(case) for case in experiment.cases})
    power = {
        family: None if found is None else round(found, 2)
        for family, count in (("primary", sum(is_primary)), ("others", len(is_primary) - sum(is_primary)))
        if count
        for found in [detectable(cases, sources, count)]
    }
    return plan_of(
        experiment,
        {
            "primary": list(report.primary),
            "orderings": {ordering.id: ordering.text for ordering in report.orderings},
            "tests": TESTS,
            "found_in_four_of_five": {"unit": "standard deviations of a case", **power},
            "control": REHEARSAL,
            "tertulia": installed_versions()["tertulia"],
        },
    )


def control_of(experiment: Experiment) -> Experiment | None:
    """Return the same conversations of a stand-in without weights, as an experiment; `None` if it is one."""
    if experiment.model == REHEARSAL:
        return None
    return experiment.model_copy(update={"name": control_name(experiment.name), "model": REHEARSAL, "plan": ""})


def cheap_control(store: SqlStore, experiment: Experiment) -> Experiment | None:
    """Return the control of an experiment that compares settings over cases, if it is to be run and takes minutes."""
    trials = len(experiment.cases) * len(experiment.settings) * experiment.trials
    is_compared = len(experiment.cases) > 1 and len(experiment.settings) > 1
    if not is_compared or trials * (experiment.rounds or _ROUNDS) > _CHEAP or parents_of(experiment.cases):
        return None
    control = control_of(experiment)
    return control if control is not None and progress_of(store, control).missing else None


def control_results(store: SqlStore, experiment: Experiment) -> Results | None:
    """Return the stored results of an experiment's control; `None` without any, or without a control."""
    control = control_of(experiment)
    return None if control is None or _stored(store, control.name) is None else read_results(store, control)


def make_report(
    store: SqlStore,
    report: Report,
    results: Results,
    measurers: Measurers,
    provenance: Provenance,
    show: Show = ignore,
    may_read: Callable[[str], bool] = is_shipped,
    control: Results | None = None,
) -> tuple[Findings, Page]:
    """Return the findings of an experiment, and its page.

    The log of a case is read if `may_read` says so: by default only that of the shipped town. The control has the same
    conversations of a stand-in (`control_of`).

    Raises:
        TertuliaError: The embedder can't be opened.
    """
    runs = _runs_of(report, results)
    findings = findings_of(store, report, results, measurers, provenance, show, control)
    plan = planned_before(store, results.experiment)
    changed = departures(plan, plan_of_report(report, results.experiment))
    findings = replace(findings, plan=plan, departures=changed if runs else ())
    return findings, _page(store, findings, runs, may_read)


def findings_of(
    store: SqlStore,
    report: Report,
    results: Results,
    measurers: Measurers,
    provenance: Provenance,
    show: Show = ignore,
    control: Results | None = None,
) -> Findings:
    """Return the findings of an experiment without its plan, and without a page (see `make_report`).

    Raises:
        TertuliaError: The embedder can't be opened.
    """
    runs = _runs_of(report, results)
    embedder = measurers.embedder() if runs else None
    each_run = report.resampled == "runs"
    measuring = Measuring(store, runs, embedder, each_run)
    skipped = _measure_by_models(store, report, measuring, measurers, show)
    show("measuring")
    beside = _runs_of(report, control) if control and runs else []
    control_measuring = Measuring(store, beside, embedder, each_run) if beside else None
    return find(store, report, results, measuring, provenance, skipped, control_measuring)


def _no_model(_: str) -> NoReturn:
    raise ModelError("no model is opened for these figures")


def findings_so_far(
    store: SqlStore, experiment: Experiment, open_embedder: Callable[[str], Embedder], show: Show = ignore
) -> Findings | None:
    """Return the findings on `METRICS`, beside those of the control; `None` if no trial has finished.

    Raises:
        TertuliaError: The embedder can't be opened, or the runs have several.
    """
    results = read_results(store, experiment)
    if not results.runs:
        return None
    measurers = measurers_of(results, None, NO_MODEL, open_embedder, _no_model)
    control = control_results(store, experiment)
    return findings_of(store, report_of_experiment(experiment), results, measurers, Provenance(()), show, control)


def _runs_of(report: Report, results: Results) -> list[TrialRun]:
    return [found for found in results.runs if found.setting in report.settings]


def planned_before(store: SqlStore, experiment: Experiment) -> str:
    """Return the plan that a store has of an experiment; empty if it has none."""
    stored = _stored(store, experiment.name)
    return "" if stored is None else stored.plan


def _stored(store: SqlStore, name: str) -> Experiment | None:
    """Return the experiment of a name as a store has it; `None` if it has none."""
    with suppress(NotFoundError):
        return experiment_of(store.experiments.get(name))
    return None


def _page(store: SqlStore, findings: Findings, runs: Sequence[TrialRun], may_read: Callable[[str], bool]) -> Page:
    page = report_page(findings)
    sections = list(page.sections)
    if findings.report.name == _WITH_TURNS:
        sections.insert(0, revised_turns(store, runs))
    if (logged := logged_section(runs, findings.results.experiment.compared_with, may_read)) is not None:
        sections.insert(-3, logged)  # before costs
    return Page(page.name, page.title, page.head, sections, {_PLAN: findings.plan} if findings.plan else {})


def _measure_by_models(
    store: SqlStore, report: Report, measuring: Measuring, measurers: Measurers, show: Show
) -> dict[str, str]:
    """Measure the metrics that need models, and return which could not be measured, and why."""
    trials, metrics = measuring.all, report.metrics
    if not trials:
        return {}
    skipped = measuring.why_not_measured(metrics)
    if "fluency" in metrics:
        reader = measurers.reader
        if reader is None:
            skipped["fluency"] = "as no model was to read the dialogues"
        else:
            skipped |= _tried(["fluency"], lambda: read_fluency(trials, reader(), show))
    if attention := [metric for metric in metrics if metric.startswith("attention_")]:
        along = {setting for curve in report.curves.values() for _, setting in curve.points}
        chosen = [trial for trial in trials if not along or trial.setting in along]
        skipped |= _tried(attention, lambda: read_attention(store, chosen, measurers.speaker, show))
    if lines := [metric for metric in metrics if base_of(metric) in NEXT_LINE]:
        skipped |= _tried(
            lines, lambda: read_next_lines(store, measuring.trials, report.baseline, lines, measurers.speaker, show)
        )
    if traits := [metric for metric in metrics if metric.startswith("trait:")]:
        chosen = [trial for trial in trials if trial.setting == report.baseline]
        name = chosen[0].run.model if chosen else ""
        skipped |= _tried(traits, lambda: read_inventories(store, chosen, name, measurers.speaker, show))
    if answers := [metric for metric in metrics if metric in OF_ANSWERS]:
        skipped |= _tried(answers, lambda: read_self_inventories(store, trials, measurers.speaker, show))
    return skipped


def _tried(metrics: Sequence[str], measure: Callable[[], None]) -> dict[str, str]:
    """Return why metrics could not be measured; empty if they were."""
    try:
        measure()
    except TertuliaError as error:
        return dict.fromkeys(metrics, f"as {error}")
    return {}
