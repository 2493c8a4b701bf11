"""`outcomes` on stored runs: a judge's scores, which is asked once, and what is refused."""

import pytest
from support.commands import Cli

from tertulia.cli.terminal import asking
from tertulia.lab.annotations.outcomes import RANGES

JUDGED = ("outcomes", "@last", "--judge", "rehearsal")


@pytest.fixture
def met(cli: Cli) -> None:
    cli("run", "team_building", "--rehearse", "--rounds", "8", "--seed", "3")


def test_a_judge_is_asked_once_for_each_person_and_dimension_that_applies(
    cli: Cli, met: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = cli(*JUDGED, "--json").json
    (run,) = document["runs"]
    assert document["ranges"]["secret"] == [-10, 0]
    for person in run["people"]:
        applies = {"relationship", "knowledge", "believability"} if person["lines"] else set()
        scored = {dimension for dimension in RANGES if person[dimension] is not None}
        assert applies <= scored <= {*applies, "goal"}  # the scenario has no secret
        for dimension in scored:
            low, high = RANGES[dimension]
            assert low <= person[dimension]["score"] <= high
            assert person[dimension]["comment"]
    assert 0 <= run["meeting"]["score"] <= 10
    assert "nothing was meant by any line" in document["notes"][0]
    monkeypatch.setattr(asking, "open_language_model", lambda *_: pytest.fail("a model was opened"))
    assert cli(*JUDGED, "--json").json == document


def test_what_can_not_be_is_told(cli: Cli, met: None) -> None:
    cli("outcomes", "@last", "--judge", "smolm2").complains(3, "unknown model 'smolm2'")
    cli("outcomes", "@last").complains(2, "--judge")
    cli("outcomes", "none", "--judge", "rehearsal").complains(3, "no run 'none'")
    cli("run", "villagers", "--rehearse", "--rounds", "1")
    cli(*JUDGED).complains(2, "is an album chat", "outcomes has nothing to say of it")
