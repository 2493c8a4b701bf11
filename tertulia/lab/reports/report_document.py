"""A report as JSON: its figures, verdicts and costs, with all digits."""

from dataclasses import asdict

from tertulia.lab.experiments.plan import plan_digest
from tertulia.lab.reports.not_measured import not_measured
from tertulia.lab.reports.report import Findings
from tertulia.lab.reports.verdicts import Verdict, tally
from tertulia.metrics.statistics import CaseMean
from tertulia.state.documents import SCHEMA_VERSION, Document


def report_document(findings: Findings) -> Document:
    """Return a report as JSON; unknown figures are null."""
    results, experiment = findings.results, findings.results.experiment
    return {
        "schema_version": SCHEMA_VERSION,
        "report": findings.report.name,
        "experiment": experiment.name,
        "rehearsed": findings.rehearsed,
        "model": experiment.model,
        "cases": list(experiment.cases),
        "trials": experiment.trials,
        "rounds": experiment.rounds,
        "baseline": findings.report.baseline,
        "finished": len(results.runs),
        "failed": len(results.failed),
        "missing": results.missing - len(results.failed),
        "unpaired": findings.unpaired,
        "truncated": findings.truncated,
        "figures": [_figure(findings, metric, setting) for metric in findings.metrics for setting in findings.rows],
        "orderings": [_ordering(verdict) for verdict in findings.verdicts],
        "tally": {outcome.replace(" ", "_"): count for outcome, count in tally(findings.verdicts).items()},
        "cost": {
            setting: {"runs": spent.runs, "utterances": spent.utterances, **asdict(spent.cost)}
            for setting, spent in findings.costs.items()
        },
        "not_measured": not_measured(findings),
        "plan": {"digest": plan_digest(findings.plan) if findings.plan else None, "departures": [*findings.departures]},
        "held_for_others": {**findings.shared},
    }


def _figure(findings: Findings, metric: str, setting: str) -> Document:
    here, difference = findings.mean(setting, metric), findings.difference(setting, metric)
    return {
        "metric": metric,
        "setting": setting,
        "paper": findings.published(setting, metric),
        "here": here.document(),
        "difference": None
        if difference is None
        else difference.document() | {"p_adjusted": findings.p_adjusted.get((setting, metric))},
        "verdict": findings.outcome(setting, metric),
    }


def _ordering(verdict: Verdict) -> Document:
    return {
        "id": verdict.ordering.id,
        "text": verdict.ordering.text,
        "source": verdict.ordering.source,
        "published": verdict.ordering.published,
        "verdict": verdict.outcome,
        "primary": verdict.is_primary,
        "here": None if verdict.found is None else CaseMean.document(verdict.found),
        "p": verdict.p,
        "p_adjusted": verdict.p_adjusted,
        "no_larger_than": verdict.bound,
        "control": None if verdict.control is None else CaseMean.document(verdict.control),
        "would_decide": None if verdict.needed is None else verdict.needed.model_dump(),
        "note": verdict.note or None,
    }
