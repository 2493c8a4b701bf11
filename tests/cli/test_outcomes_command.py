"""`outcomes` on stored runs: the scores, a judge that is asked once, and how far the two agree."""

import pytest
from support.commands import Cli

from tertulia.cli.terminal import asking
from tertulia.lab.annotations.outcomes import JudgedOutcome
from tertulia.lab.annotations.outcomes_report import OutcomesReport, RunOutcomes
from tertulia.metrics.outcome_records import RANGES, Outcomes, PersonOutcome
from tertulia.state.records import RunRecord

WITH_RULES = ("outcomes", "@last", "--embedder", "rehearsal", "--json")


@pytest.fixture
def met(cli: Cli) -> None:
    cli("run", "team_building", "--rehearse", "--rounds", "8", "--seed", "3")


def test_everybody_has_a_score_of_what_can_be_scored(cli: Cli, met: None) -> None:
    document = cli(*WITH_RULES).json
    (run,) = document["runs"]
    assert document["ranges"]["secret"] == [-10, 0]
    assert run["meeting"]["text"]
    for person in run["people"]:
        assert person["secret"] is None  # the scenario has none
        assert (person["believability"] is None) == (person["lines"] == 0)
        for dimension, (low, high) in RANGES.items():
            assert person[dimension] is None or low <= person[dimension] <= high
        assert person["judge"] == {}
    assert document["agreement"] == []
    assert "nothing was meant by any line" in document["notes"][0]
    assert cli(*WITH_RULES).json == document


def test_a_judge_is_asked_once_for_each_person_and_dimension(
    cli: Cli, met: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = cli(*WITH_RULES, "--judge", "rehearsal").json
    (run,) = document["runs"]
    for person in run["people"]:
        applies = {"relationship", "knowledge", "believability", *(["goal"] if person["goals"] else [])}
        assert set(person["judge"]) == (applies if person["lines"] else set())
        for dimension, judged in person["judge"].items():
            low, high = RANGES[dimension]
            assert low <= judged["score"] <= high
            assert judged["comment"]
    assert 0 <= run["meeting"]["judge"]["score"] <= 10
    spoke = sum(person["lines"] > 0 for person in run["people"])
    (believable,) = (row for row in document["agreement"] if row["dimension"] == "believability")
    assert believable["pairs"] == spoke
    monkeypatch.setattr(asking, "open_language_model", lambda *_: pytest.fail("a model was opened"))
    assert cli(*WITH_RULES, "--judge", "rehearsal").json == document


def test_scores_are_shown_with_what_shows_them(cli: Cli, met: None) -> None:
    shown = cli("outcomes", "@last", "--embedder", "rehearsal", "--judge", "rehearsal").out
    assert "believability" in shown
    assert "rehearsed: the figures mean nothing" in shown
    assert "judge:" in shown
    assert "mean difference" in shown


def test_agreement_is_the_mean_difference_and_from_five_pairs_on_the_rank_correlation() -> None:
    people = tuple(
        PersonOutcome(
            agent=str(n), lines=1, goal=None, relationship=None, secret=None, knowledge=float(n), believability=10.0
        )
        for n in range(5)
    )
    judged = {(str(n), "knowledge"): JudgedOutcome(score=n + 2, comment="") for n in range(5)}
    judged |= {("0", "believability"): JudgedOutcome(score=4, comment=""), ("1", "goal"): JudgedOutcome(0, "")}
    run = RunRecord.model_construct(run="k3f9", rehearsed=False, status="finished", parameters={})
    report = OutcomesReport([RunOutcomes(run, Outcomes(people=people, pairs=(), meeting=None), judged)], "minilm", "m")
    knowledge, believability = report.agreement
    assert (knowledge.pairs, knowledge.mean_difference, knowledge.spearman) == (5, 2.0, pytest.approx(1.0))
    assert (believability.pairs, believability.mean_difference, believability.spearman) == (1, 6.0, None)


def test_what_can_not_be_is_told(cli: Cli, met: None) -> None:
    cli("outcomes", "@last", "--judge", "smolm2", "--embedder", "rehearsal").complains(3, "unknown model 'smolm2'")
    cli("outcomes", "none").complains(3, "no run 'none'")
    cli("run", "villagers", "--rehearse", "--rounds", "1")
    cli("outcomes", "@last").complains(2, "is an album chat", "outcomes has nothing to say of it")
