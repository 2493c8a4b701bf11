"""The reports' data: settings that exist, figures that agree with what is said of them, and sizes."""

from itertools import chain

import pytest

from tertulia.lab.experiments.experiment import checked
from tertulia.lab.reports.papers import (
    CASES,
    REPORTS,
    Efficient,
    EverySum,
    Ordering,
    OverTime,
    Rising,
    WeightedSum,
    experiment_of_report,
    metric_named,
    report_of,
)
from tertulia.metrics.published import TEAM_BUILDING
from tertulia.state.parameters import Parameters

BOTH = [
    pytest.param(name, quick, marks=[] if quick else pytest.mark.full) for name in REPORTS for quick in (True, False)
]


def needs(ordering: Ordering) -> set[tuple[str, str]]:
    """Return the settings and metrics of an ordering."""
    claim = ordering.claim
    if isinstance(claim, Rising):
        return {(setting, claim.metric) for _, setting in claim.curve.points}
    if isinstance(claim, Efficient):
        return {(name, metric) for name in claim.better + claim.worse for metric in (claim.position, claim.metric)}
    parts = claim.sums if isinstance(claim, EverySum) else [claim]
    return {(term.setting, term.metric) for part in parts for term in part.terms}


@pytest.mark.parametrize(("name", "quick"), BOTH)
def test_every_setting_is_one_of_this_program_and_no_two_are_the_same(name: str, quick: bool) -> None:
    report = report_of(name, quick)
    seen: dict[str, str] = {}
    for setting, parameters in report.settings.items():
        changed = Parameters().with_settings(parameters)
        # Chat turns, which small models have by themselves, end with the dialogue.
        assert changed.block_order.endswith("c") or changed.layout == "single_message"
        dumped = changed.model_dump_json()
        assert dumped not in seen, f"{setting} is {seen[dumped]} again"
        seen[dumped] = setting


@pytest.mark.parametrize(("name", "quick"), BOTH)
def test_what_a_report_names_is_there(name: str, quick: bool) -> None:
    report = report_of(name, quick)
    named = {*report.settings, *report.rows}
    assert report.baseline in named
    assert {setting for row in report.rows.values() for setting in row} <= set(report.settings)
    assert {setting for curve in report.curves.values() for _, setting in curve.points} <= named
    assert set(report.published) <= named
    pairs = set(chain.from_iterable(needs(ordering) for ordering in report.orderings))
    assert {setting for setting, _ in pairs} <= named
    metrics = {*report.metrics, *(metric for _, metric in pairs), *chain.from_iterable(report.published.values())}
    assert all(metric_named(metric).meaning for metric in metrics)
    shown = {metric.partition("@")[0] for metric in metrics}
    assert shown <= set(report.metrics), "an ordering is about a metric that the report does not show"
    assert any("@" in metric for metric in metrics) == report.by_index
    assert any(isinstance(ordering.claim, OverTime) for ordering in report.orderings) == report.over_time


@pytest.mark.parametrize(("name", "quick"), BOTH)
def test_every_ordering_has_a_name_of_its_own_and_says_something(name: str, quick: bool) -> None:
    orderings = report_of(name, quick).orderings
    assert orderings
    assert len({ordering.id for ordering in orderings}) == len(orderings)
    assert all(ordering.text and ordering.source for ordering in orderings)
    for claim in (ordering.claim for ordering in orderings):
        assert not isinstance(claim, Rising) or len(claim.curve.points) > 1
        assert not isinstance(claim, WeightedSum) or any(term.weight for term in claim.terms)


@pytest.mark.parametrize("name", REPORTS)
def test_the_full_size_has_every_ordering_and_the_quick_one_says_which_it_has_not(name: str) -> None:
    full, quick = report_of(name), report_of(name, quick=True)
    assert full.full_only == ()
    ids = [ordering.id for ordering in full.orderings]
    assert sorted([*(ordering.id for ordering in quick.orderings), *quick.full_only]) == sorted(ids)


@pytest.mark.parametrize("name", REPORTS)
def test_published_differences_follow_from_the_published_figures(name: str) -> None:
    report = report_of(name)
    for ordering in report.orderings:
        if ordering.published is None:
            continue
        assert ordering.published > 0
        assert isinstance(ordering.claim, WeightedSum | EverySum)
        parts = ordering.claim.sums if isinstance(ordering.claim, EverySum) else [ordering.claim]
        sums = [
            part.constant + sum(term.weight * report.published[term.setting][term.metric] for term in part.terms)
            for part in parts
        ]
        assert min(sums) == pytest.approx(ordering.published, abs=6e-4), ordering.id


def test_the_people_of_chatagents_have_the_figures_of_its_table() -> None:
    published = report_of("chatagents").published["self-driven"]
    assert published["evenness"] == pytest.approx(TEAM_BUILDING.evenness or 0.0, abs=5e-4)
    for figures in TEAM_BUILDING.agents:
        name = figures.agent
        assert published[f"spoken:{name}"] == figures.spoken
        assert published[f"wanting_to_speak:{name}"] == figures.wanting_to_speak
        assert published[f"wanting_after_silence:{name}"] == figures.wanting_after_silence
        assert published[f"speaking_after_silence:{name}"] == figures.speaking_after_silence
        for mechanism, count in figures.mechanisms.items():
            assert published[f"{mechanism}:{name}"] == pytest.approx(count.on / figures.decisions, abs=6e-4)


def test_an_experiment_has_a_report_in_one_of_its_sizes() -> None:
    report = report_of("table2", quick=True)
    experiment = experiment_of_report(report, "mine", trials=2)
    assert experiment.cases == CASES
    assert (experiment.trials, experiment.rounds, experiment.baseline) == (2, report.profile.rounds, "Full")
    assert experiment.settings == report.settings
    utterances = len(report.cases) * len(report.settings) * report.profile.trials * (report.profile.rounds or 16)
    assert utterances < 600, "the quick size of Table 2 is for a quarter of an hour"
    own = experiment_of_report(report, "mine", cases=["ga:folder:3"], rounds=5, model="other")
    assert (own.cases, own.rounds, own.model) == (("ga:folder:3",), 5, "other")


@pytest.mark.parametrize("name", REPORTS)
def test_the_scenarios_of_a_report_take_all_of_its_settings(name: str) -> None:
    report = report_of(name, quick=True)
    experiment = checked(experiment_of_report(report, name))
    assert experiment.baseline in experiment.settings
