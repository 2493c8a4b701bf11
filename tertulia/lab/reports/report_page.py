"""A report as a page: its origin, figures next to the published ones, verdicts, and cost."""

from collections.abc import Iterator
from dataclasses import replace

from tertulia.lab.experiments.plan import plan_digest, size_phrase
from tertulia.lab.experiments.progress import duration
from tertulia.lab.pages.page import Block, Commands, Items, Page, Paragraph, Section
from tertulia.lab.reports.differences import differences_in_words, few_cases, first_table
from tertulia.lab.reports.not_measured import not_measured_lines
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.provenance import hardware, time_span, total_cost, versions_phrase
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.report_plots import report_plots
from tertulia.lab.reports.report_tables import (
    cases_table,
    cost_table,
    figures_table,
    means_data,
    runs_table,
    settings_table,
    sources_table,
    verdicts_table,
)
from tertulia.lab.reports.verdicts import tally
from tertulia.state.text import counted

_OF_VERDICTS = (
    "reproduced: what should be above 0 is, not reproduced: it is below; tested two-sided at 5 %, the orderings on the "
    "primary outcome as one family, the others as another (Holm). bounded: neither, and smaller than published, at 95 "
    "%. no more than the control: above 0, but a stand-in without weights, which only takes up words of its prompt, "
    "shows it in the same conversations as well, and no less.",
    "would decide: so many trials of each of these cases, or so many cases, bring the interval off 0 if the figure "
    "stays as it is.",
)

REHEARSED = "Rehearsed: a stand-in without weights spoke. Nothing on this page means anything."


def report_page(findings: Findings) -> Page:
    """Return the page of a report."""
    sections = [Section("Figures", [*_figures(findings)])]
    if findings.verdicts or findings.report.unmeasured:
        sections.append(Section("Orderings", [*_verdicts(findings)]))
    sections.append(Section("Cost", [*_cost(findings)]))
    sections.append(Section("What was run", [settings_table(findings), *_cases(findings), runs_table(findings)]))
    sections.append(Section("How to read this", [*_reading(findings)]))
    return Page(findings.report.name, findings.report.title, [*_head(findings)], sections)


def _head(findings: Findings) -> Iterator[Block]:
    results, experiment = findings.results, findings.results.experiment
    if findings.rehearsed:
        yield Paragraph(REHEARSED, is_warning=True)
    planned = len(experiment.settings) * len(experiment.cases) * experiment.trials
    if results.missing:
        absent = f"{results.missing - len(results.failed)} are missing, {len(results.failed)} failed"
        yield Paragraph(f"Not complete: of {counted(planned, 'conversation')} {absent}.", is_warning=True)
    if findings.report.question:
        yield Paragraph(findings.report.question)
    if findings.verdicts:
        yield Paragraph(tally_phrase(findings))
    yield Commands(findings.provenance.commands)
    yield Items([*_facts(findings, planned)])
    yield Items([(None, note) for note in _notes(findings)])
    if findings.departures:
        yield Paragraph("Other than planned:")
        yield Items([(None, clause) for clause in findings.departures])


def tally_phrase(findings: Findings) -> str:
    """Return how many orderings have which verdict."""
    counts = [f"{count} {outcome}" for outcome, count in tally(findings.verdicts).items() if count]
    return f"Of {counted(len(findings.verdicts), 'ordering')} that should hold: {', '.join(counts)}."


def _facts(findings: Findings, planned: int) -> Iterator[tuple[str, str]]:
    results, experiment, provenance = findings.results, findings.results.experiment, findings.provenance
    if findings.report.source:
        yield "source", findings.report.source
    yield "model", ", ".join(dict.fromkeys(found.run.model for found in results.runs)) or experiment.model
    rounds = f", at most {counted(experiment.rounds, 'round')} each" if experiment.rounds else ""
    size = [
        counted(len(experiment.settings), "setting"),
        counted(len(experiment.cases), "case"),
        counted(experiment.trials, "trial"),
    ]
    yield "experiment", f"{experiment.name}: {' × '.join(size)}{rounds}; first seed {experiment.seed}"
    yield "cases", size_phrase(experiment)
    if findings.plan:
        own = " of its own" if findings.shared else ""
        yield "plan", f"{plan_digest(findings.plan)}, stored before the first trial{own}"
    if findings.verdicts:
        yield "control", "the same conversations of a stand-in" if findings.control else "none was run"
    yield "conversations", f"{len(results.runs)} of {planned} finished, {len(results.failed)} failed"
    if findings.shared:
        held = ", ".join(f"{count} for {name}" for name, count in findings.shared.items())
        yield "held for another report", f"{held}; they may have been read before this was planned"
    if (span := time_span(results)) is not None:
        first, last = (f"{time:%Y-%m-%d %H:%M}" for time in span)
        yield "run", f"from {first} to {last} UTC, begun first and last"
    yield "took", _took(findings)
    if findings.platforms:
        yield "computed on", "; ".join(f"{name} ({count})" for name, count in findings.platforms.items())
    yield "machine that wrote this page", ", ".join(filter(None, (hardware(), provenance.device)))
    yield "versions", versions_phrase()
    if provenance.embedder:
        yield "similarity", f"by {provenance.embedder}"
    if provenance.reader:
        yield "fluency", f"under {provenance.reader}"


def _took(findings: Findings) -> str:
    spent = total_cost(findings.costs.values())
    cost, provenance = spent.cost, findings.provenance
    model_s = duration(cost.seconds) if cost.seconds >= 90 else f"{cost.seconds:.1f} s"  # as in the table of costs
    parts = [
        f"{spent.utterances:,} utterances",
        f"{cost.calls:,} calls",
        f"{cost.prompt_tokens:,} tokens read and {cost.reply_tokens:,} written",
        f"{model_s} of the model's time",
    ]
    if provenance.wall_s is not None and provenance.cpu_s is not None:
        new = counted(provenance.new, "conversation")
        parts.append(
            f"the last command ran {new} in {duration(provenance.wall_s)} ({duration(provenance.cpu_s)} of CPU)"
        )
    return "; ".join(parts)


def lines_above(findings: Findings) -> Iterator[str]:
    """Yield the title of a report in short, and what must be known before its table is read."""
    if findings.rehearsed:
        yield REHEARSED
    yield findings.report.title
    yield from few_cases(findings)


def _notes(findings: Findings) -> Iterator[str]:
    yield from findings.report.notes
    if findings.unpaired:
        lacking = counted(findings.unpaired, "finished conversation")
        yield f"{lacking} left out of all figures, as another setting lacks the same trial"
    for setting, count in findings.unchanged.items():
        cases = counted(count, "case")
        yield f"{setting} has the lines of {findings.report.baseline} in {cases}: nothing was changed there"
    if findings.truncated:
        longer = counted(findings.truncated, "dialogue")
        yield f"{longer} longer than the embedder reads: sim is of their beginnings, sim of whole texts of all"
    yield from few_cases(findings)
    yield from not_measured_lines(findings)
    if findings.results.experiment.trials == 1:
        yield "With one trial a case has no pair of dialogues: there is no similarity and no Vendi score."


def _figures(findings: Findings) -> Iterator[Block]:
    if not findings.metrics:
        yield Paragraph("No conversation is finished in every setting: there is nothing to measure yet.")
        return
    has_people = any(":" in metric for metric in findings.metrics)
    if not has_people:
        yield replace(first_table(findings), is_data=False) if findings.is_own else first_table(findings)
    if not findings.verdicts:
        yield Items([(None, sentence) for sentence in differences_in_words(findings)])
    yield from report_plots(findings)
    yield figures_table(findings)
    if findings.report.by_index:
        yield figures_table(findings, at_indices=True)
    if findings.is_own:
        yield means_data(findings)
    yield cases_table(findings)
    yield sources_table(findings)


def _verdicts(findings: Findings) -> Iterator[Block]:
    if findings.verdicts:
        yield verdicts_table(findings.verdicts)
    if findings.report.full_only:
        yield Paragraph("Only the full size has the settings for these:")
        yield Items([(None, ordering) for ordering in findings.report.full_only])
    if findings.report.unmeasured:
        yield Paragraph("Published too, and not measured here:")
        yield Items([(given.text, given.why) for given in findings.report.unmeasured])


def _cost(findings: Findings) -> Iterator[Block]:
    yield cost_table(findings)
    yield Paragraph(
        "Model time is the wall-clock time of calls; the calls of a batch have equal shares of theirs, so that it sums "
        "to the time during which a model was busy. Loading models and measuring are not in it."
    )


def _cases(findings: Findings) -> Iterator[Block]:
    yield Paragraph("Cases: " + ", ".join(findings.results.experiment.cases))
    for run in findings.results.failed:
        where = f"{run.trial.setting}, {run.trial.case}, trial {run.trial.trial}" if run.trial else run.run
        yield Paragraph(f"Failed: {where}: {run.error or 'no reason is stored'}", is_warning=True)


def _reading(findings: Findings) -> Iterator[Block]:
    yield Items(
        [
            (None, "Figures are taken over a case's trials together, and averaged over cases."),
            (
                None,
                "Intervals are 95 %, Student's over cases; where cases are of several sources, such as two towns, over "
                "these, with a cluster-robust standard error. They say nothing about cases that are unlike these.",
            ),
            (
                None,
                "Differences are to the baseline, paired by case, on the same trials; cases above: in how many the "
                "figure is higher. The effect size is Hedges' g of paired differences.",
            ),
            *((None, text) for text in (_OF_VERDICTS if findings.verdicts else ())),
            *((metric_named(metric).title, metric_named(metric).meaning) for metric in findings.metrics),
        ]
    )
