"""Reports: figures beside the published ones, verdicts, cost, and what a reader is warned of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.experiment_case import rehearsed, spoken

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, read_results
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.lab.pages.page import Paragraph, Table
from tertulia.lab.pages.page_data import csv_lines, data_tables
from tertulia.lab.pages.page_html import html_page
from tertulia.lab.pages.page_markdown import markdown
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.papers import REPORTS, Report, experiment_of_report, report_of
from tertulia.lab.reports.provenance import Provenance, computed_on, cost_by_setting
from tertulia.lab.reports.report import Findings, find, report_of_experiment, slug
from tertulia.lab.reports.report_document import report_document
from tertulia.lab.reports.report_making import Measurers, make_report
from tertulia.lab.reports.report_page import report_page
from tertulia.lab.reports.report_summary import claim_of, condition_of
from tertulia.lab.reports.report_tables import cases_table, figures_table, means_data
from tertulia.metrics.statistics import case_mean, paired_difference
from tertulia.models.loading import rehearsal_of
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.language_model import LanguageModel
from tertulia.state.records import Platform
from tertulia.storage.store import SqlStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path_factory.mktemp("store") / "tertulia.db") as opened:
        opened.make_file()
        yield opened


@pytest.fixture(scope="module")
def table2(store: SqlStore) -> tuple[Report, Results]:
    """Table 2 with two cases, of which one conversation is missing."""
    report = report_of("table2", quick=True)
    experiment = experiment_of_report(report, "t2", cases=["tidewell:0", "tidewell:3"], trials=2, rounds=2)
    return report, rehearsed(store, experiment, without=[("RMe", "tidewell:3", 2)])


@pytest.fixture(scope="module")
def found(store: SqlStore, table2: tuple[Report, Results]) -> Findings:
    report, results = table2
    measuring = Measuring(store, results.runs, RehearsalEmbedder())
    provenance = Provenance(
        ("tertulia lab report table2 --quick",), "an embedder", None, "cpu, float32", 23, 90.0, 3700.0
    )
    return find(store, report, results, measuring, provenance, {"fluency": "as nobody reads"})


def rows(table: Table) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_a_row_has_what_was_published_what_was_found_and_the_difference(found: Findings) -> None:
    (row,) = (r for r in rows(figures_table(found)) if (r["metric"], r["setting"]) == ("dist-3", "RMm"))
    here, baseline = found.figures["RMm"]["dist3"], found.figures["Full"]["dist3"]
    difference = paired_difference(here, baseline)
    assert row["paper"] == 0.636
    assert row["here"] == case_mean(here, (0, 1)).value
    assert row["paper_difference"] == pytest.approx(0.636 - 0.535)
    assert row["difference"] == difference.value
    assert (row["cases"], row["difference_cases"]) == (2, 2)
    assert row["trials"] == 3  # the trial that one setting lacks is left out of all
    assert row["effect_size"] == difference.effect_size
    assert row["verdict"] in ("undecided", "reproduced", "not reproduced")


@pytest.mark.parametrize("name", REPORTS)
def test_wherever_a_report_praises_variety_it_says_how_much_of_it_makes_sense(name: str) -> None:
    metrics = report_of(name).metrics
    if any(metric.startswith("dist") for metric in metrics):
        assert {"without_sense", "repeated_lines"} <= {*metrics}


def test_the_page_says_what_it_is_worth(found: Findings) -> None:
    text = "\n".join(markdown(report_page(found), {}))
    assert text.splitlines()[2].startswith("> **Rehearsed: a stand-in without weights spoke.")
    assert "Not complete: of 24 conversations 1 are missing, 0 failed" in text
    assert "left out of all figures, as another setting lacks the same trial" in text
    assert "Not measured: fluency, as nobody reads" in text
    assert "tertulia lab report table2 --quick" in text
    assert "the last command ran 23 conversations in 2 min (62 min of CPU)" in text
    assert "cpu, float32" in text
    assert "Of 22 orderings that should hold:" in text
    for section in ("Figures", "Orderings", "Cost", "What was run", "How to read this"):
        assert f"\n## {section}\n" in text


def test_what_it_cost_is_summed_from_the_journal(store: SqlStore, table2: tuple[Report, Results]) -> None:
    _, results = table2
    costs = cost_by_setting(store, results.runs)
    assert list(costs) == [*results.experiment.settings]
    runs = [run for run in results.runs if run.setting == "RMm"]
    calls = [call for run in runs for call in store.calls(run.run.run)]
    spent = costs["RMm"]
    assert (spent.runs, spent.utterances) == (4, sum(len(run.dialogue) for run in runs))
    assert spent.cost.calls == len(calls)
    assert spent.cost.prompt_tokens == sum(call.prompt_tokens or 0 for call in calls)
    assert costs["RMbmpe"].cost.prompt_tokens < costs["Full"].cost.prompt_tokens


def test_the_document_has_all_digits_and_null_where_there_is_nothing(found: Findings) -> None:
    document = report_document(found)
    (figure,) = (f for f in document["figures"] if (f["metric"], f["setting"]) == ("sim", "RMp"))
    assert figure["paper"] == 0.802
    assert figure["here"]["value"] == found.mean("RMp", "sim").value
    assert figure["here"]["cases"] == 1  # a trial is left in the other case, which has no pair
    (baseline,) = (f for f in document["figures"] if (f["metric"], f["setting"]) == ("sim", "Full"))
    assert baseline["difference"] is None
    assert (document["finished"], document["missing"], document["failed"]) == (23, 1, 0)
    assert sum(document["tally"].values()) == len(document["orderings"]) == 22
    assert document["not_measured"] == {"fluency": "as nobody reads"}
    assert document["rehearsed"] is True


def test_nothing_finished_is_a_page_without_figures(store: SqlStore, table2: tuple[Report, Results]) -> None:
    report, results = table2
    empty = Results(results.experiment, (), (), 24)
    page = report_page(find(store, report, empty, Measuring(store, (), None), Provenance(("x",))))
    text = "\n".join([*markdown(page, {}), *html_page(page, {})])
    assert "there is nothing to measure yet" in text
    assert "22 missing" in text
    assert page.figures() == []


def test_a_trial_that_failed_is_named_with_its_error(store: SqlStore, table2: tuple[Report, Results]) -> None:
    report, results = table2
    failed = results.runs[0].run.model_copy(update={"status": "failed", "error": "no room: 12 > 10"})
    some = replace(results, runs=results.runs[1:], failed=(failed,), missing=2)
    page = report_page(find(store, report, some, Measuring(store, some.runs, None), Provenance(("x",))))
    warnings = [block.text for block in page.blocks() if isinstance(block, Paragraph) and block.is_warning]
    assert "Failed: Full, tidewell:0, trial 1: no room: 12 > 10" in warnings
    assert any("1 are missing, 1 failed" in text for text in warnings)


def found_in_no_store(name: str, metrics: Sequence[str], words: Sequence[str]) -> Findings:
    """What is found by these metrics of a report, each trial of which has two of these lines."""
    report = report_of(name, quick=True)
    experiment = experiment_of_report(report, name, cases=["x", "y"], trials=3, rounds=2)
    runs = [
        spoken(setting, case, trial, [words[(trial + at + len(case)) % len(words)] for at in range(2)])
        for setting in experiment.settings
        for case in experiment.cases
        for trial in (1, 2, 3)
    ]
    reduced = report.model_copy(update={"metrics": tuple(metrics), "orderings": ()})
    with SqlStore.open(":memory:") as empty, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Measuring, "times", {"x": 1.0, "y": 2.0})
        measuring = Measuring(empty, runs, RehearsalEmbedder())
        return find(empty, reduced, Results(experiment, runs, (), 0), measuring, Provenance(("x",)))


@pytest.mark.parametrize("name", [name for name in REPORTS if name != "chatagents"])
def test_every_report_can_be_made(name: str) -> None:
    """Each of its settings spoke the same: what is drawn and tabled follows from the report alone."""
    report = report_of(name, quick=True)
    wanted = [metric for metric in report.metrics if metric in ("sim", "dist1", "dist3", "len", "max_sim", "excl1")]
    findings = found_in_no_store(name, wanted, ("I saw the sea", "the wide sea", "no sea"))
    page = report_page(findings)
    if name != "fig6":
        assert findings.metrics == wanted
        assert page.figures()
    drawn_settings = {
        str(point.x) for figure in page.figures() for panel in figure.panels for s in panel.series for point in s.points
    } | {series.name for figure in page.figures() for panel in figure.panels for series in panel.series}
    on_curves = {setting for curve in report.curves.values() for _, setting in curve.points}
    assert wanted == [] or set(findings.rows) <= drawn_settings | on_curves


def test_an_experiment_of_ones_own_is_compared_with_the_setting_that_is_named() -> None:
    experiment = Experiment(name="rules / or not", cases=("x",), settings={"with": {}, "without": {}}, trials=2)
    assert report_of_experiment(experiment).baseline == "with"
    assert report_of_experiment(experiment).name == "rules-or-not"
    own = report_of_experiment(experiment, "without", ["dist3", "sim@2"])
    assert (own.baseline, own.metrics) == ("without", ("dist3", "sim@2"))
    assert own.name == "rules-or-not-dist3-sim-2-against-without"  # which leaves the whole report as it is
    many = [f"dist3@{number}" for number in range(40)]
    names = {report_of_experiment(experiment, None, many[:number]).name for number in (38, 39, 40)}
    assert len(names) == 3
    assert max(map(len, names)) < 120
    assert {"dist3", "without_sense", "repeated_lines"} <= {*report_of_experiment(experiment).metrics}
    assert report_of_experiment(experiment, None, ["without_sense"]).metrics == ("without_sense",)
    with pytest.raises(UsageError, match="--baseline witout: no such setting"):
        report_of_experiment(experiment, "witout")
    with pytest.raises(UsageError, match="--metric dist33: unknown"):
        report_of_experiment(experiment, None, ["dist33"])
    assert slug("../..") == "experiment"


def test_what_a_model_can_not_measure_is_said_and_the_rest_is_measured(
    store: SqlStore, table2: tuple[Report, Results]
) -> None:
    report, results = table2

    def refuses() -> LanguageModel:
        raise ModelError("it shows no likelihoods")

    measurers = Measurers(lambda: RehearsalEmbedder(), refuses, refuses)
    findings, page = make_report(store, report, results, measurers, Provenance(("x",)))
    assert findings.skipped == {"fluency": "as it shows no likelihoods"}
    assert "dist3" in findings.metrics
    assert page.name == "table2"


def test_revised_turns_are_shown_with_what_was_removed(store: SqlStore) -> None:
    report = report_of("fig6", quick=True)
    experiment = experiment_of_report(report, "fig6", cases=["tidewell:0"], trials=2, rounds=3)
    settings: Mapping[str, dict[str, object]] = {"revised": {"removal_factor": 0.85, "inconsistency_threshold": -9.0}}
    experiment = experiment.model_copy(update={"settings": settings})
    results = rehearsed(store, experiment)
    measurers = Measurers(RehearsalEmbedder, None, lambda: rehearsal_of("rehearsal"))
    findings, page = make_report(store, report, results, measurers, Provenance(("x",)))
    text = "\n".join(markdown(page, {}))
    assert "\n## Revised turns\n" in text
    revised = [
        turn
        for run in results.runs
        for turn in store.turns(run.run.run)
        if store.turn_record(run.run.run, turn.turn).chosen
    ]
    assert ("judged" in text) == bool(revised)
    assert findings.report.name == "fig6"


def test_one_condition_by_two_names_is_counted_once() -> None:
    table, figure = report_of("table2"), report_of("fig3")
    assert condition_of(table.settings["RMbmpe"]) == condition_of(figure.settings["λ=1"])
    assert condition_of(table.settings["Full"]) == condition_of(figure.settings["λ=0"])
    assert condition_of(figure.settings["λ=0.5"]) != condition_of(figure.settings["λ=0.5 ascending"])
    assert condition_of({"removal_factor": 1, "human_needs": True}) != condition_of({"removal_factor": 1})
    by_lambda: dict[str, Any] = {"removal_factor": 1}
    by_blocks: dict[str, Any] = {"removal_factor": 0, "removed_blocks": "bmpe"}
    assert condition_of(by_lambda) != condition_of(by_blocks), "models ban repetition, also of what λ removed"
    for alike in ({"no_repeat_ngram": 0}, {"matched_decoding": False}):
        assert condition_of(by_lambda | alike) == condition_of(by_blocks | alike)
    dry = {"no_repeat_ngram": 0, "dry": 0.8}
    assert condition_of(by_lambda | dry) != condition_of(by_blocks | dry)
    of_table = {claim_of(ordering, table.settings) for ordering in table.orderings}
    of_figure = {claim_of(ordering, figure.settings) for ordering in figure.orderings}
    assert len(of_table & of_figure) == 4  # sim and dist-N of nothing removed and of all


def test_two_names_of_a_condition_have_the_same_lines() -> None:
    settings = {"RMbmpe": report_of("table2").settings["RMbmpe"], "λ=1": report_of("fig3").settings["λ=1"]}
    experiment = Experiment(
        name="same", cases=("tidewell:0", "tidewell:1"), settings=settings, trials=2, rounds=4, model="rehearsal"
    )
    with SqlStore.open(":memory:", create=True) as store:
        run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), emit=lambda event: None)
        results = read_results(store, "same")
    assert results.dialogues("RMbmpe") == results.dialogues("λ=1")


def test_a_setting_that_changes_nothing_is_named() -> None:
    settings = {"Full": {"removal_factor": 0}, "RMp": {"removal_factor": 0, "removed_blocks": "p"}}
    experiment = Experiment(  # the first case has no earlier dialogue to remove, the fifth has one
        name="nothing", cases=("tidewell:0", "tidewell:4"), settings=settings, trials=2, rounds=3, model="rehearsal"
    )
    with SqlStore.open(":memory:", create=True) as store:
        run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), emit=lambda event: None)
        results = read_results(store, "nothing")
        report = report_of_experiment(experiment, metrics=["dist3"])
        found = find(store, report, results, Measuring(store, results.runs, None), Provenance(("tertulia",)))
    assert found.unchanged == {"RMp": 1}
    text = "\n".join(markdown(report_page(found), {}))
    assert "RMp has the lines of Full in 1 case: nothing was changed there" in text


def test_a_page_of_ones_own_study_has_nothing_of_papers() -> None:
    found = found_in_no_store("table2", ["dist1", "sim"], ("I saw the sea", "the wide sea", "no sea"))
    report = found.report.model_copy(update={"source": "", "published": {}, "unmeasured": ()})
    own = replace(found, report=report)
    text = "\n".join(markdown(report_page(own), {}))
    assert not [word for word in ("paper", "verdict |", "reproduced", "bounded", "would decide") if word in text]
    assert rows(means_data(own))[0]["mean"] == own.mean(own.rows[0], "dist1").value
    tables = {table.name: "\n".join(csv_lines(table)) for table in data_tables(report_page(own))}
    assert tables["means"].startswith("metric,setting,mean,ci_low,ci_high,cases,control\n")
    assert not [name for name, text in tables.items() if "−" in text or "setting_0" in text]
    trials = {row["trials"] for row in rows(cases_table(own))}
    assert trials == {3}  # of sim, too, which is of pairs


def test_a_page_says_on_what_its_conversations_were_computed(
    store: SqlStore, table2: tuple[Report, Results], found: Findings
) -> None:
    """Digits of two processors in a table are told, and a rehearsal's are nobody's."""
    runs, versions = table2[1].runs, {"tertulia": "0.4.0", "torch": "2.13.0"}
    assert found.platforms == {}
    here = Platform(device="cpu", precision="float32", threads=1, processor="AVX2", versions=versions)
    there = Platform(device="cuda", precision="bfloat16", threads=None, processor="NVIDIA H200", versions=versions)
    for number, run in enumerate(runs[:5]):
        store.save_step(run.run.run, 0, "", "platform", here if number else there)
    platforms = computed_on(store, runs)
    assert platforms == {"AVX2, float32, 1 thread, torch 2.13.0": 4, "NVIDIA H200, bfloat16, torch 2.13.0": 1}
    text = "\n".join(markdown(report_page(replace(found, platforms=platforms)), {}))
    assert "computed on**: AVX2, float32, 1 thread, torch 2.13.0 (4); NVIDIA H200" in text
