"""All reports on one page: every verdict, and what everything took."""

from collections.abc import Sequence

from tertulia.lab.experiments.progress import duration
from tertulia.lab.pages.page import Cell, Column, Commands, Items, Page, Paragraph, Section, Table
from tertulia.lab.reports.provenance import hardware, total_cost, versions_phrase
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.report_page import REHEARSED
from tertulia.lab.reports.report_tables import verdicts_table
from tertulia.lab.reports.verdicts import Verdict, tally
from tertulia.state.documents import SCHEMA_VERSION, Document

_REPORTS = (
    Column("report", "report"),
    Column("title", "title"),
    Column("runs", "conversations", "count"),
    Column("missing", "missing or failed", "count"),
    Column("reproduced", "reproduced", "count"),
    Column("not_reproduced", "not reproduced", "count"),
    Column("undecided", "undecided", "count"),
    Column("not_measured", "not measured", "count"),
    Column("utterances", "utterances", "count"),
    Column("calls", "calls", "count"),
    Column("model_s", "model time, s", "number", 0),
)


def summary_page(findings: Sequence[Findings], command: str) -> Page:
    """Return the page of several reports."""
    verdicts = [verdict for found in findings for verdict in found.verdicts]
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
            Section("Reports", [Table("reports", "Reports", _REPORTS, [_row(found) for found in findings])]),
            Section("Verdicts", [verdicts_table(verdicts)]),
        ],
    )


def summary_document(findings: Sequence[Findings]) -> Document:
    """Return how many orderings of each report have which verdict, as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "rehearsed": any(found.rehearsed for found in findings),
        "reports": {
            found.report.name: {
                "experiment": found.results.experiment.name,
                "finished": len(found.results.runs),
                "missing_or_failed": found.results.missing,
                "tally": {outcome.replace(" ", "_"): number for outcome, number in tally(found.verdicts).items()},
            }
            for found in findings
        },
    }


def _row(found: Findings) -> list[Cell]:
    counts, spent = tally(found.verdicts), total_cost(found.costs.values())
    return [
        found.report.name,
        found.report.title,
        len(found.results.runs),
        found.results.missing,
        *(counts[outcome] for outcome in ("reproduced", "not reproduced", "undecided", "missing")),
        spent.utterances,
        spent.cost.calls,
        spent.cost.seconds,
    ]


def _tally(verdicts: Sequence[Verdict]) -> str:
    counts = ", ".join(f"{number} {outcome}" for outcome, number in tally(verdicts).items() if number)
    return f"Of {len(verdicts)} orderings that should hold: {counts or 'none was looked at'}."
