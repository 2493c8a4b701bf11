"""All reports on one page: every verdict, and the cost of everything.

An ordering is counted once, though its settings may be one condition by different names. λ = 1 removes every item that
λ may remove, as removing the blocks of them does: model, prompt and draws are the same, and so are the lines, unless
repetition is banned: of units that λ removed, too, but of no block that was never in the prompt (docs/readings.md). If
nothing is removed by scores, nothing about scores matters.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tertulia.lab.experiments.experiment import Setting
from tertulia.lab.experiments.progress import duration
from tertulia.lab.pages.page import Column, Commands, Items, Page, Paragraph, Section, Taken, table_of
from tertulia.lab.reports.papers import Ordering
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


#: Parameters of how units are scored and taken, which do nothing if λ is 0 or 1.
_OF_REMOVAL = ("removal_order", "removal_walk", "reducer", "record_scores", "cut_long_units", "nodes.score")

#: The blocks of which λ = 1 leaves nothing, but for human needs, which a prompt has if they are set.
_ALL_BLOCKS = "bmpe"


def condition_of(setting: Setting) -> dict[str, Any]:
    """Return the parameters of a setting in a form that is equal if conversations are."""
    values: dict[str, Any] = {name: value for name, value in setting.items() if value is not None}
    if "removal_factor" in values:
        values["removal_factor"] = float(values["removal_factor"])
    if values.get("removal_factor") not in (0, 1) or "retain" in values:
        return values
    same = {name: value for name, value in values.items() if name not in _OF_REMOVAL}
    is_whole = not {"removed_blocks", "removable_blocks", "pruning", "human_needs"} & same.keys()
    if same["removal_factor"] == 1 and is_whole and _is_banned_alike(same):
        same |= {"removal_factor": 0.0, "removed_blocks": _ALL_BLOCKS}
    return same


def _is_banned_alike(setting: Setting) -> bool:
    """Return whether the ban on repetition is the same whether λ takes items or their blocks are not there."""
    has_ban = setting.get("no_repeat_ngram") != 0 or setting.get("dry", 0)  # unset is the model's own
    return not has_ban or setting.get("matched_decoding") is False


def claim_of(ordering: Ordering, settings: Mapping[str, Setting]) -> str:
    """Return the claim of an ordering, with conditions in the place of settings' names; equal if claims are."""
    named = {name: repr(sorted(condition_of(values).items())) for name, values in settings.items()}
    return json.dumps(_with_conditions(ordering.claim.model_dump(mode="json"), named), sort_keys=True)


def _with_conditions(value: Any, named: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return named.get(value, value)
    if isinstance(value, Mapping):
        return {key: _with_conditions(each, named) for key, each in value.items()}
    if isinstance(value, Iterable):
        return [_with_conditions(each, named) for each in value]
    return value
