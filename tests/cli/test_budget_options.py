"""The options of a budget: where commands stop, how they say so, and what they refuse."""

import pytest
from support.commands import Cli

from tertulia.storage.store import SqlStore

DRIVING = {
    "run": ("run", "tidewell", "--rehearse"),
    "fork": ("fork", "@last", "--at", "2"),
    "resume": ("resume", "@last"),
    "simulate": ("simulate", "tidewell", "--rehearse"),
    "sweep": (
        "sweep",
        "tidewell:0",
        "--lambda",
        "0,1",
        "--trials",
        "2",
        "--rounds",
        "3",
        "--rehearse",
        "--workers",
        "1",
    ),
    "lab resume": ("lab", "resume", "small", "--workers", "1"),
}


@pytest.fixture
def stopped(cli: Cli) -> str:
    """A run, and an experiment, that budgets have stopped."""
    cli(*DRIVING["sweep"], "--name", "small", "--max-calls", "2")
    cli(*DRIVING["run"], "--rounds", "4", "--max-calls", "9")
    with SqlStore.open("tertulia.db") as store:
        return store.run("@last").run


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("command", DRIVING)
def test_every_command_that_drives_stops_at_a_budget_says_which_and_how_to_go_on(cli: Cli, command: str) -> None:
    result = cli(*DRIVING[command], "--max-tokens", "1500")
    assert result.code == 130
    *_, reason, way_on = result.err.splitlines()
    assert reason.startswith("stopped by its budget of 1,500 tokens (")
    assert "to go on: tertulia " in way_on
    for wrong, complaint in (
        (("--max-calls", "0"), "--max-calls 0: a whole number from 1 is expected"),
        (("--max-tokens", "-4"), "--max-tokens -4: a whole number from 1 is expected"),
        (("--max-cost", "nan"), "--max-cost nan: a number above 0 is expected, in the currency of the prices"),
        (("--max-cost", "2"), "--max-cost 2: rehearsal has no price; "),
        (("--max-minutes", "0"), "--max-minutes 0: a number of minutes above 0 is expected"),
        (("--max-minutes", "nan"), "--max-minutes nan: a number of minutes above 0 is expected"),
        (("--max-cost", "2", "--price", "rehearsal=x"), "write MODEL=READ,WRITTEN"),
        (("--price", "rehearsal=1,2"), "--price says what tokens cost; give --max-cost with it"),
    ):
        cli(*DRIVING[command], *wrong).complains(2, complaint)


def test_a_price_is_given_as_the_complaint_says(cli: Cli) -> None:
    refused = cli(*DRIVING["run"], "--max-cost", "0.01")
    refused.complains(2, "--price rehearsal=2.5,10")
    with SqlStore.open("tertulia.db") as store:
        assert store.runs() == []
    result = cli(*DRIVING["run"], "--max-cost", "0.01", "--price", "rehearsal=2.5,10")
    assert "stopped by its budget of 0.01 for calls (0.0" in result.err
