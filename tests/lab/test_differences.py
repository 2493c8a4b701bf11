"""An experiment in short: what differs is said, what is undecided is said with the cases that would decide it."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import Cli
from support.experiment_case import a_grid, drive_here, rehearsed

from tertulia.lab.experiments.results import Results
from tertulia.lab.reports.differences import _rounded, differences_in_words, few_cases, means_table
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import METRICS, Figures, Findings, find, report_of_experiment
from tertulia.lab.reports.report_making import cheap_control, findings_so_far
from tertulia.lab.reports.report_plots import report_plots
from tertulia.metrics.statistics import CaseFigure
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.storage.store import SqlStore

CASES = tuple(f"tidewell:{number}" for number in range(8))
SETTINGS = {"λ = 0": {"removal_factor": 0}, "λ = 1": {"removal_factor": 1}}


@pytest.fixture
def findings(store: SqlStore) -> Findings:
    experiment = a_grid(settings=SETTINGS, cases=CASES[:2], trials=2, rounds=2, baseline=None)
    results = rehearsed(store, experiment)
    measuring = Measuring(store, results.runs, RehearsalEmbedder())
    report = report_of_experiment(experiment, metrics=["dist3", "len"])
    return find(store, report, results, measuring, Provenance(("tertulia lab compare",), "an embedder", None))


def with_figures(
    findings: Findings, full: list[float], pruned: list[float], metrics: tuple[str, ...] = ("dist3",)
) -> Findings:
    """Return findings of metrics with these figures of the cases at λ = 0 and λ = 1."""
    figures: Figures = {
        setting: {
            metric: {case: CaseFigure(value, 2, {}, "tidewell") for case, value in zip(CASES, values, strict=False)}
            for metric in metrics
        }
        for setting, values in (("λ = 0", full), ("λ = 1", pruned))
    }
    report = findings.report.model_copy(update={"cases": CASES[: len(full)], "metrics": metrics})
    return replace(findings, figures=figures, report=report)


FULL = [0.80, 0.70, 0.75, 0.72, 0.81, 0.77, 0.69, 0.74]


def found_above(values: list[float]) -> list[float]:
    return [value + 0.1 + at / 1000 for at, value in enumerate(values)]


def test_a_difference_beyond_chance_is_named_with_its_direction(findings: Findings) -> None:
    found = with_figures(findings, FULL, found_above(FULL))
    sentence, *_ = differences_in_words(found)
    assert sentence.startswith("dist-3, against λ = 0: λ = 1 is higher (more varied), +0.10")
    sentence, *_ = differences_in_words(with_figures(findings, found_above(FULL), FULL))
    assert "λ = 1 is lower (less varied), −0.10" in sentence


def test_what_chance_may_have_made_is_undecided_with_the_cases_that_would_decide(findings: Findings) -> None:
    found = with_figures(findings, FULL, [value + (0.08 if at % 2 else -0.06) for at, value in enumerate(FULL)])
    sentence, *_ = differences_in_words(found)
    assert "λ = 1 is undecided, +0.010 [" in sentence
    end = "; if the true difference is this large, more cases than the 8 that there are would find it half the time."
    assert sentence.endswith(end)


def test_an_interval_off_zero_among_many_comparisons_is_no_finding(findings: Findings) -> None:
    pruned = [value + 0.02 + (0.026 if at % 2 else -0.018) for at, value in enumerate(FULL)]
    alone, *_ = differences_in_words(with_figures(findings, FULL, pruned))
    assert "λ = 1 is higher (more varied), +0.024 [" in alone
    many = ("dist1", "dist2", "dist3", "dist1_equal", "dist2_equal", "dist3_equal", "vendi", "sim", "len")
    *sentences, method, _ = differences_in_words(with_figures(findings, FULL, pruned, many))
    assert f"all {len(many)} comparisons together" in method
    assert len(sentences) == len(many)
    start = "λ = 1 is undecided among so many comparisons, +0.024 ["
    end = "more cases than the 8 that there are would find it half the time."
    assert all(start in sentence and sentence.endswith(end) for sentence in sentences)


def test_as_many_cases_as_a_source_has_are_named_and_large_numbers_are_rounded(findings: Findings) -> None:
    pruned = [value + (0.09 if at % 2 else 0.02) for at, value in enumerate(FULL)]
    sentence, *_ = differences_in_words(with_figures(findings, FULL[:3], pruned[:3]))
    assert sentence.endswith("; if the true difference is this large, 6 cases would find it half the time.")
    assert [_rounded(number) for number in (9, 42, 256, 1_191)] == ["9", "42", "about 260", "about 1,200"]


def test_a_difference_within_the_margin_on_both_sides_is_small_and_one_of_few_cases_is_not(findings: Findings) -> None:
    near = [value + (0.005 if at % 2 else -0.004) for at, value in enumerate(FULL)]
    sentence, *_ = differences_in_words(with_figures(findings, FULL, near))
    assert "λ = 1 differs by less than 0.05, +0.001 [" in sentence
    sentence, *_ = differences_in_words(with_figures(findings, FULL[:3], near[:3]))
    assert "λ = 1 is undecided, −0.001 [" in sentence


def test_an_interval_within_the_margin_by_itself_is_not_called_undecided_alone(findings: Findings) -> None:
    pruned = [value + (0.054 if at % 2 else -0.05) for at, value in enumerate(FULL)]
    alone, *_ = differences_in_words(with_figures(findings, FULL, pruned))
    assert "λ = 1 differs by less than 0.05, +0.002 [" in alone
    many = ("dist1", "dist2", "dist3", "dist1_equal", "dist2_equal", "dist3_equal", "sim", "len")
    sentence, *_ = differences_in_words(with_figures(findings, FULL, pruned, many))
    assert "λ = 1 is within 0.05, but not among so many comparisons, +0.002 [" in sentence


def test_a_difference_that_the_control_has_is_no_finding_of_the_model(findings: Findings) -> None:
    found = replace(with_figures(findings, FULL, found_above(FULL)), results=results_of_a_model(findings))
    alike = with_figures(findings, FULL, found_above(FULL)).figures
    weaker = with_figures(findings, FULL, [value + 0.02 + at / 2000 for at, value in enumerate(FULL)]).figures
    none = with_figures(findings, FULL, FULL).figures
    beside = {"but no more than the control: +0.10": alike, "more than the control: +0.02": weaker}
    for words, control in beside.items():
        sentence, _, about, _ = differences_in_words(replace(found, control=control))
        assert f"λ = 1 is higher (more varied), +0.103 [0.101, 0.106], {words}" in sentence
        assert about.startswith("Control: the same conversations of a stand-in")
    sentence, *_ = differences_in_words(replace(found, control=none))
    assert sentence.endswith("+0.103 [0.101, 0.106].")
    table = means_table(replace(found, control=weaker))
    assert (table.columns[-1].title, table.rows[0][-1]) == ("control (λ = 0, λ = 1)", "0.747, 0.769")


def results_of_a_model(findings: Findings) -> Results:
    runs = [replace(t, run=t.run.model_copy(update={"rehearsed": False})) for t in findings.results.runs]
    return replace(findings.results, runs=runs)


def test_equal_figures_are_the_same_in_every_setting(findings: Findings) -> None:
    same, about = differences_in_words(with_figures(findings, FULL, FULL))
    assert same == "The same in every setting: dist-3."
    assert about == "Variety at λ = 1, against λ = 0: the same by dist-3."


def test_the_same_difference_in_every_case_is_no_undecided_one(findings: Findings) -> None:
    sentence, *_ = differences_in_words(with_figures(findings, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
    assert sentence == "dist-3, against λ = 0: λ = 1 is higher (more varied) by the same in every case, +1.000."


def test_the_direction_of_variety_is_said_of_each_measure_and_summed_up_at_the_end(findings: Findings) -> None:
    found = with_figures(findings, FULL, found_above(FULL), ("sim", "dist3", "len", "vendi"))
    of_sim, of_dist, of_len, *_, about = differences_in_words(found)
    assert "λ = 1 is higher (less varied), +0.10" in of_sim
    assert "λ = 1 is higher (more varied), +0.10" in of_dist
    assert "λ = 1 is higher, +0.10" in of_len
    assert about == "Variety at λ = 1, against λ = 0: less by sim; more by dist-3, Vendi score."
    rows = {str(row[0]): row[1] for row in means_table(found).rows}
    assert rows == {"sim": "if lower", "dist-3": "if higher", "len": "", "Vendi score": "if higher"}
    apart = [value + (0.08 if at % 2 else -0.06) for at, value in enumerate(FULL)]
    *_, about = differences_in_words(with_figures(findings, FULL, apart, ("sim", "dist3", "len")))
    assert about == "Variety at λ = 1, against λ = 0: undecided by both measures."


def test_the_sentence_on_the_test_counts_the_differences_that_were_tested(findings: Findings) -> None:
    def of(values: list[float]) -> dict[str, CaseFigure]:
        return {case: CaseFigure(value, 2, {}, "tidewell") for case, value in zip(CASES, values, strict=False)}

    found = with_figures(findings, FULL, found_above(FULL), ("dist1", "dist2", "dist3"))
    shifted = {"dist1": of([value + 0.1 for value in FULL]), "dist2": of([0.9])}
    figures = {"λ = 0": found.figures["λ = 0"], "λ = 1": {**found.figures["λ = 1"], **shifted}}
    same, only, tested, method, about = differences_in_words(replace(found, figures=figures))
    assert same == "dist-1, against λ = 0: λ = 1 is higher (more varied) by the same in every case, +0.100."
    assert only == "dist-2, against λ = 0: λ = 1 is higher (more varied) in the only case that has it, +0.100."
    assert "λ = 1 is higher (more varied), +0.10" in tested
    assert "tested at 5 % for this comparison" in method
    assert "; a mean without one is of one case, or the same in every case." in method
    assert about.endswith("λ = 0: more by dist-3; more, without a test, by dist-1, dist-2.")
    *_, method, _ = differences_in_words(with_figures(findings, FULL, found_above(FULL)))
    assert "without one" not in method


def test_measures_that_were_chosen_after_the_conversations_say_so(findings: Findings) -> None:
    chosen = with_figures(findings, FULL, found_above(FULL))
    *_, method, _ = differences_in_words(chosen)
    end = " These measures were chosen after the conversations; with all of them: tertulia lab compare grid."
    assert method.endswith(end)
    for unchosen in (
        replace(chosen, plan="question: Is dist3 higher at λ = 1?"),
        with_figures(findings, FULL, found_above(FULL), METRICS),
    ):
        assert not any("chosen after" in sentence for sentence in differences_in_words(unchosen))


def test_a_measure_without_a_figure_at_the_baseline_is_not_called_the_same(findings: Findings) -> None:
    sentence, *_ = differences_in_words(with_figures(findings, [], [0.4, 0.5, 0.6]))
    assert sentence == "Not compared, without a figure in the same case of λ = 0: dist-3."


def test_four_cases_are_not_called_few_and_three_are(findings: Findings) -> None:
    (line,) = few_cases(with_figures(findings, FULL[:3], found_above(FULL)))
    assert line.startswith("3 cases: each interval is from three numbers; take more (tertulia sweep tidewell:all")
    assert [*few_cases(with_figures(findings, FULL[:4], found_above(FULL)))] == []


def test_one_case_says_that_it_has_no_interval_and_how_to_get_one(findings: Findings) -> None:
    found = with_figures(findings, FULL[:1], [0.9])
    (sentence,) = differences_in_words(found)
    assert sentence.startswith("One case has no interval")
    assert sentence.endswith("Take all cases of it: tidewell:all")
    assert means_table(found).columns[0].title == "no intervals"
    (plot,) = report_plots(found)
    assert plot.title.endswith("Means over cases along λ, of one case, so without intervals; small points: cases")


def test_a_number_that_differs_is_drawn_as_a_line_with_the_intervals_of_the_table(findings: Findings) -> None:
    plot, _ = report_plots(findings)
    assert plot.title.endswith("Means over cases along λ, with 95 % intervals; small points: cases")
    (points,) = ([*series.points] for series in plot.panels[0].series)
    assert [point.x for point in points] == [0, 1]
    table = means_table(findings)
    assert table.columns[0].title == "95 % intervals"
    assert f"[{points[0].low:.3f}, {points[0].high:.3f}]" in str(table.rows[0][2])


def test_a_sweep_that_was_interrupted_and_went_on_has_the_same_figures(store: SqlStore, tmp_path: Path) -> None:
    experiment = a_grid(settings=SETTINGS, cases=CASES[:2], trials=2, rounds=2, baseline=None)
    drive_here(store, experiment)
    with SqlStore.open(tmp_path / "other.db", create=True) as other:
        turns: list[Event] = []

        def stop_at_the_third_turn(event: Event) -> None:
            turns.extend([event] if isinstance(event, TurnFinished) else [])
            if len(turns) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            drive_here(other, experiment, stop_at_the_third_turn)
        drive_here(other, experiment)
        whole, gone_on = (findings_so_far(each, experiment, lambda _: RehearsalEmbedder()) for each in (store, other))
    assert whole is not None
    assert gone_on is not None
    assert means_table(whole) == means_table(gone_on)
    assert [*differences_in_words(whole)] == [*differences_in_words(gone_on)]


def test_a_model_has_a_control_that_is_cheap_and_figures_show_it(store: SqlStore) -> None:
    experiment = a_grid(settings=SETTINGS, cases=CASES[:2], trials=2, rounds=2, baseline=None, model="smollm2")
    control = cheap_control(store, experiment)
    assert control is not None
    assert (control.name, control.model) == ("grid (control)", "rehearsal")
    assert cheap_control(store, experiment.model_copy(update={"trials": 1000})) is None
    assert cheap_control(store, experiment.model_copy(update={"cases": CASES[:1]})) is None
    assert cheap_control(store, control) is None  # a rehearsal is its own
    drive_here(store, control)
    assert cheap_control(store, experiment) is None  # it is complete


def test_a_sweep_ends_with_its_figures_and_sentences(cli: Cli) -> None:
    ran = cli("sweep", *CASES[:2], "--lambda", "0,1", "--trials", "1", "--rounds", "2", "--rehearse")
    few = "2 cases: each interval is from two numbers; take more (tertulia sweep tidewell:all …)\n"
    assert few in ran.out.partition("95 % intervals")[0]
    assert "95 % intervals\tmore varied\tλ = 0\tλ = 1" in ran.out
    assert ", against λ = 0: λ = 1 " in ran.out
    assert "Student's t over 2 cases of tidewell" in ran.out
    assert ran.out.splitlines()[-1].startswith("as page, plots and data: tertulia lab compare ")
    assert "4 of 4 trials to run, about " in ran.err


def test_a_measure_that_needs_two_lines_or_trials_says_so(cli: Cli) -> None:
    sweep = ("sweep", *CASES[:2], "--lambda", "0,1", "--trials", "1", "--rounds", "1", "--rehearse", "--name", "short")
    ran = cli(*sweep)
    assert "Not measured: repeated lines, repeated endings, as every conversation has one line\n" in ran.out
    assert "Not measured: sim, sim of whole texts, Vendi score, as no case has two dialogues to compare\n" in ran.out
    metrics = ("dist3@4", "repeated_lines@0")
    compared = cli("lab", "compare", "short", *(part for name in metrics for part in ("--metric", name)))
    assert "dist-3 at index 4, as no conversation has so many lines\n" in compared.out
    assert "repeated lines at index 0, as every conversation has one line\n" in compared.out
