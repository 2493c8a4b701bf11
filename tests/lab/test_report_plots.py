"""Plots of a user's experiment can be pasted into a thesis: each file says by itself what it shows."""

import re
from dataclasses import replace

import pytest
from support.experiment_case import a_grid, rehearsed

from tertulia.lab.pages.page import Figure
from tertulia.lab.pages.plots import canvas_of, drawn, drawn_panels
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import Findings, find, report_of_experiment
from tertulia.lab.reports.report_plots import metric_plot, report_plots
from tertulia.metrics.statistics import CaseFigure
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.storage.store import SqlStore

SETTINGS = {"λ = 0": {"removal_factor": 0}, "λ = 1": {"removal_factor": 1}}
HOW_TO_READ = (
    "Rehearsed, so that the figures mean nothing. Means over cases along λ, with 95 % intervals; small points: cases"
)


@pytest.fixture
def findings(store: SqlStore) -> Findings:
    experiment = a_grid(
        settings=SETTINGS, cases=("tidewell:0", "tidewell:1", "tidewell:2"), trials=2, rounds=2, baseline=None
    )
    results = rehearsed(store, experiment)
    report = report_of_experiment(experiment, metrics=["dist3", "without_sense"])
    return find(store, report, results, Measuring(store, results.runs, RehearsalEmbedder()), Provenance(("x",)))


def with_figures(findings: Findings, full: list[float], pruned: list[float]) -> Findings:
    """Return findings in which dist-3 differs, and the rules' flags have these figures of the cases."""
    cases = findings.report.cases
    return replace(
        findings,
        figures={
            setting: {
                "dist3": {case: CaseFigure(0.5 + add * number, 2) for number, case in enumerate(cases)},
                "without_sense": {case: CaseFigure(value, 2) for case, value in zip(cases, values, strict=True)},
            }
            for setting, values, add in (("λ = 0", full, 0.1), ("λ = 1", pruned, 0.15))
        },
    )


def words_of(drawing: str) -> str:
    """Return the words of an SVG, lines joined."""
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawing)).replace("\N{NO-BREAK SPACE}", " ")


def titles(figures: list[Figure]) -> list[list[str]]:
    return [[panel.title for panel in figure.panels] for figure in figures]


def test_a_file_has_title_warning_and_whole_labels_and_the_page_has_the_title_once(findings: Findings) -> None:
    plot = report_plots(with_figures(findings, [0, 0, 0], [0, 0, 0.1]))[0]
    assert plot.title == HOW_TO_READ
    words = words_of(drawn(plot))
    assert HOW_TO_READ in words
    assert "flagged by rules (one fault in eight)" in words
    assert len(drawn_panels(plot)) == 2
    assert not any(HOW_TO_READ in words_of(panel) for panel in drawn_panels(plot))


def test_a_measure_that_is_the_same_in_every_setting_is_not_drawn(findings: Findings) -> None:
    figures = report_plots(with_figures(findings, [0, 0, 0], [0, 0, 0]))
    assert {title for panels in titles(figures) for title in panels} == {"dist-3"}


def test_an_axis_does_not_begin_below_what_a_measure_can_be(findings: Findings) -> None:
    (axis,) = canvas_of(metric_plot(with_figures(findings, [0, 0, 0], [0, 0, 0]), "without_sense")).axes
    assert axis.get_ylim()[0] == 0
    assert axis.get_ylabel().replace("\n", " ") == "flagged by rules (one fault in eight)"


def test_differences_to_the_baseline_are_drawn_with_their_paired_intervals_and_a_line_at_zero(
    findings: Findings,
) -> None:
    found = with_figures(findings, [0, 0, 0], [0, 0, 0])
    plot = report_plots(found)[-1]
    assert plot.title.endswith("Differences to λ = 0, paired by case, with 95 % intervals; small points: cases")
    baseline, pruned = plot.panels[0].series[0].points
    difference = found.difference("λ = 1", "dist3")
    assert difference is not None
    assert (baseline.x, baseline.y, baseline.low) == (0, 0, None)
    assert (pruned.x, pruned.y, pruned.low, pruned.high) == (1, difference.value, difference.ci_low, difference.ci_high)
    assert pruned.cases == [*difference.by_case.values()]
    (axis,) = canvas_of(plot).axes
    assert any(list(line.get_ydata()) == [0, 0] for line in axis.lines)


def test_of_settings_without_a_number_the_differences_are_bars_of_the_others(findings: Findings) -> None:
    found = with_figures(findings, [0, 0, 0], [0, 0, 0])
    report = found.report.model_copy(update={"curves": {}})
    names = [figure.name for figure in report_plots(replace(found, report=report))]
    assert names == ["bars", "differences"]
    (series,) = report_plots(replace(found, report=report))[-1].panels[0].series
    assert [point.x for point in series.points] == ["λ = 1"]
