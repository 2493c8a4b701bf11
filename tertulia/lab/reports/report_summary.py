"""All reports on one page: every verdict, and the cost of everything."""

from collections.abc import Sequence
from functools import partial

from tertulia.lab.experiments.progress import duration
from tertulia.lab.pages.page import Column, Commands, Items, Page, Paragraph, Section, Taken, table_of
from tertulia.lab.reports.conditions import claim_of
from tertulia.lab.reports.provenance import hardware, total_cost, versions_phrase
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.report_page import REHEARSED
from tertulia.lab.reports.report_tables import verdicts_table
from tertulia.lab.reports.verdicts import OUTCOMES, Outcome, Verdict, tally
from tertulia.state.documents import SCHEMA_VERSION, Document


def _outcome_column(outcome: Outcome) -> Column:
    title = "not measured" if outcome == "missing" else outcome
    return Column(title.replace(" ", "_"), title, "count")


def _tallied(outcome: Outcome, found: Findings) -> int:
    return tally(found.verdicts)[outcome]


_REPORTS: Sequence[Taken[Findings]] = (
    (Column("report", "report"), lambda found: found.report.name),
    (Column("title", "title"), lambda found: found.report.title),
    (Column("runs", "conversations", "count"), lambda found: len(found.results.runs)),
    (Column("missing", "missing or failed", "count"), lambda found: found.results.missing),
    *((_outcome_column(outcome), partial(_tallied, outcome)) for outcome in OUTCOMES),
    (Column("utterances", "utterances", "count"), lambda found: total_cost(found.costs.values()).utterances),
    (Column("calls", "calls", "count"), lambda found: total_cost(found.costs.values()).cost.calls),
    (Column("model_s", "model time, s", "number", 0), lambda found: total_cost(found.costs.values()).cost.seconds),
)


def summary_page(findings: Sequence[Findings], command: str) -> Page:
    """Return the page of several reports."""
    verdicts = distinct_verdicts(findings)
    spent = total_cost(total_cost(found.costs.values()) for found in findings)
    rehearsed = [Paragraph(REHEARSED, is_warning=True)] if any(found.rehearsed for found in findings) else []
    facts = [
        ("models", ", ".join(dict.fromkeys(found.results.experiment.model for found in findings))),
        ("took", f"{spent.utterances:,} utterances, {duration(spent.cost.seconds)} of the model's time"),
        ("machine that wrote this page", hardware()),
        ("versions", versions_phrase()),
    ]
    return Page(
        "all",
        "All reports",
        [*rehearsed, Paragraph(_tally(verdicts)), Commands([command]), Items(facts)],
        [
            Section("Reports", [table_of("reports", "Reports", _REPORTS, findings)]),
            Section("Verdicts", [verdicts_table(verdicts)]),
        ],
    )


def distinct_verdicts(findings: Sequence[Findings]) -> list[Verdict]:
    """Return the verdicts of several reports, each once: orderings of the same conditions by other names are one."""
    distinct: dict[tuple[object, ...], Verdict] = {}
    for found in findings:
        experiment = found.results.experiment
        where = (experiment.model, experiment.cases, experiment.trials, experiment.rounds, experiment.seed)
        for verdict in found.verdicts:
            distinct.setdefault((*where, claim_of(verdict.ordering, found.report.settings)), verdict)
    return [*distinct.values()]


def summary_document(findings: Sequence[Findings]) -> Document:
    """Return how many orderings of each report have which verdict, and of all of them, each counted once, as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "rehearsed": any(found.rehearsed for found in findings),
        "distinct": _counts(distinct_verdicts(findings)),
        "reports": {
            found.report.name: {
                "experiment": found.results.experiment.name,
                "finished": len(found.results.runs),
                "missing_or_failed": found.results.missing,
                "tally": _counts(found.verdicts),
            }
            for found in findings
        },
    }


def _counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    return {outcome.replace(" ", "_"): number for outcome, number in tally(verdicts).items()}


def _tally(verdicts: Sequence[Verdict]) -> str:
    counts = ", ".join(f"{number} {outcome}" for outcome, number in tally(verdicts).items() if number)
    return f"Of {len(verdicts)} distinct orderings that should hold: {counts or 'none was looked at'}."
